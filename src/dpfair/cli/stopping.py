"""What is left of a job that pays and does not come to its end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpfair.privacy.payment import ChargeTo

__all__ = ["saying_what_is_left", "what_is_left"]


def what_is_left(payer: ChargeTo | None, *, goes_on: bool = False) -> str:
    """What to do then, whether it was charged before or not.

    ``goes_on`` says whether such a job continues under its key.
    """
    if payer is None:
        return ""
    if goes_on and payer.key is not None:
        return "Start the same command again: it goes on after its last answer, charged once."
    spent = f"If the job was charged, that is spent; dpfair ledger history {payer.path} tells."
    return f"{spent} With --key, a job like this goes on instead." if goes_on else spent


@contextmanager
def saying_what_is_left(left: str) -> Iterator[None]:
    """Add it to whatever ends the job: ``dpfair.cli.run`` says it of a signal or a defect."""
    try:
        try:
            yield
        except KeyboardInterrupt:  # of which Typer would keep nothing but an exit code
            raise SystemExit(128 + signal.SIGINT) from None
    except BaseException as error:
        if left:
            error.add_note(left)
        raise
