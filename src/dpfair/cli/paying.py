"""Jobs with a key: what was paid and finished is handed out again, not drawn again.

A key is bound to the settings of the job and to its scope, which are public. It is not bound to
the records: an exact digest of them in the ledger is not private, because whoever reads the ledger
could test a guess of the whole table, or of one record if the others are known. Nor is it bound to
the name of the file, which may change while the records stay the same. So a job that is repeated
with other DATA returns the earlier result, and the output says that DATA was not read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dpfair.cli.output import amount, charges, say
from dpfair.errors import PaidBeforeError
from dpfair.models.file import model_bytes, model_from_bytes
from dpfair.privacy.ledger_file import LedgerFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpfair.methods.base import PrivateClassifier
    from dpfair.privacy.payment import ChargeTo, Payment

__all__ = [
    "keep_model",
    "keep_numbers",
    "kept_model",
    "kept_numbers",
    "ledger_line",
    "planned_charge",
    "planned_line",
]


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


def ledger_line(payer: ChargeTo) -> str:
    """What the ledger file has paid so far."""
    file = LedgerFile(payer.path)
    spent = f"{amount(file.spent)} of {file.epsilon:g} spent"
    return f"Ledger: {payer.path} ({spent} by {charges(len(file.entries))})"


def planned_charge(payment: Payment, payer: ChargeTo | None) -> dict[str, Any] | None:
    """What the ledger file has spent, and would have spent after a job that is only planned."""
    if payer is None:
        return None
    file = LedgerFile(payer.path)
    return {
        "file": str(payer.path),
        "epsilon": file.epsilon,
        "delta": file.delta,
        "spent": file.spent,
        "spent_after": payment.total,
    }


def planned_line(charge: dict[str, Any]) -> str:
    """The same as a sentence."""
    spent, after = charge["spent"], charge["spent_after"]
    return (
        f"The ledger {charge['file']} would pay {amount(after - spent)}: {amount(after)} of its "
        f"{charge['epsilon']:g} (at delta {charge['delta']:g}) would then be spent. After "
        "it, dpfair ledger show tells what a next job may cost."
    )


def _kept(payer: ChargeTo | None, check: Callable[[], object]) -> bytes | None:
    try:
        check()
    except PaidBeforeError:
        assert payer is not None
        assert payer.key is not None
        content = LedgerFile(payer.path).kept(payer.key)
        if content is None:
            raise
        say(
            f"dpfair: the job {payer.key!r} was done before; nothing was charged or drawn again. "
            "This is its earlier result: DATA was not read, and other data need another key."
        )
        return content
    return None
