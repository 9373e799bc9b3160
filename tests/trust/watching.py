"""See all that a call says, charges and draws, and judge what it says."""

from __future__ import annotations

import contextlib
import io
import re
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from sklearn.exceptions import DataConversionWarning

from dpfair import FairnessWarning, PrivacyLeakWarning
from dpfair.errors import DpfairError
from dpfair.privacy.noise import Noise, noise_from
from dpfair.privacy.payment import Payment
from dpfair.privacy.plan import Run

__all__ = ["Seen", "decent", "watch"]

# The secrets of trust.fuzzed.values, in every form that a text may give them.
_SHOWN = re.compile(r"xyzzy|9\.?1827|2093-11|11/27/2093", re.IGNORECASE)


@dataclass
class Seen:
    """What a call did: its error, its warnings, how much it charged and drew.

    ``charges`` are the steps of plans that were paid, ``draws`` counts requests for randomness.
    """

    error: BaseException | None = None
    warned: list[warnings.WarningMessage] = field(default_factory=list)
    charges: int = 0
    draws: int = 0
    printed: str = ""

    @property
    def text(self) -> str:
        """All that a user reads."""
        said = [self.printed, *(str(w.message) for w in self.warned)]
        if self.error is not None:
            # With all causes, as a traceback would show them; without the lines of code.
            for line in traceback.TracebackException.from_exception(self.error).format():
                said += [part for part in line.splitlines() if not part.startswith("  ")]
        return "\n".join(said)

    @property
    def cost_nothing(self) -> bool:
        """Whether nothing was charged and nothing drawn."""
        return self.charges == self.draws == 0


def watch(action: Callable[[], Any]) -> tuple[Any, Seen]:
    """Run an action and see everything that it says, charges and draws.

    The cost of a plan is added up before a record is read; it is charged when the plan is paid.
    """
    seen, result, out = Seen(), None, io.StringIO()
    pay = Payment.pay

    class Watched(Noise):
        def take(self, count: int) -> bytes:
            seen.draws += 1
            return super().take(count)

    def counted(self: Payment) -> Run:
        run = pay(self)
        seen.charges += len(run.plan.steps)
        return run

    with (
        noise_from(Watched),
        patch.object(Payment, "pay", counted),
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        warnings.simplefilter("always")
        try:
            result = action()
        except Exception as error:
            seen.error = error
    seen.warned, seen.printed = list(caught), out.getvalue()
    return result, seen


def decent(seen: Seen) -> None:
    """Errors and warnings are dpfair's own and show no value."""
    if seen.error is not None and not isinstance(seen.error, DpfairError):
        raise AssertionError("an error that is not dpfair's") from seen.error
    for warned in seen.warned:
        allowed = (PrivacyLeakWarning, FairnessWarning, DataConversionWarning)
        assert issubclass(warned.category, allowed), (warned.category, str(warned.message))
    assert not _SHOWN.search(seen.text), "a value of a record is shown"
