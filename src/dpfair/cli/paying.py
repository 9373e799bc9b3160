"""Jobs with a key: what was paid and finished is handed out again, not drawn again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dpfair.cli.output import say
from dpfair.errors import PaidBeforeError
from dpfair.models.file import model_bytes, model_from_bytes
from dpfair.privacy.ledger_file import LedgerFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpfair.methods.base import PrivateClassifier
    from dpfair.privacy.payment import ChargeTo

__all__ = ["keep_model", "keep_numbers", "kept_model", "kept_numbers"]


def kept_model(payer: ChargeTo | None, check: Callable[[], object]) -> PrivateClassifier | None:
    """The model that an earlier try of this very job has made, if it came to its end.

    ``check`` raises whatever speaks against the job, before any record is read.
    """
    content = _kept(payer, check)
    return None if content is None else model_from_bytes(content)


def keep_model(payer: ChargeTo | None, model: PrivateClassifier) -> None:
    """Keep a finished model in the ledger, before it is written anywhere else."""
    if payer is not None and payer.key is not None:
        LedgerFile(payer.path).keep(payer.key, model_bytes(model))


def kept_numbers(payer: ChargeTo | None, check: Callable[[], object]) -> dict[str, Any] | None:
    """The numbers that an earlier try of this very job has released."""
    content = _kept(payer, check)
    if content is None:
        return None
    numbers: dict[str, Any] = json.loads(content)
    return numbers


def keep_numbers(payer: ChargeTo | None, numbers: dict[str, Any]) -> None:
    """Keep released numbers in the ledger, before they are shown."""
    if payer is not None and payer.key is not None:
        LedgerFile(payer.path).keep(payer.key, json.dumps(numbers, sort_keys=True).encode())


def _kept(payer: ChargeTo | None, check: Callable[[], object]) -> bytes | None:
    try:
        check()
    except PaidBeforeError:
        assert payer is not None
        assert payer.key is not None
        content = LedgerFile(payer.path).kept(payer.key)
        if content is None:
            raise
        say(f"dpfair: the job {payer.key!r} was done before; nothing was charged or drawn again.")
        return content
    return None
