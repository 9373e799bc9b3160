"""The ledger: costs are charged first, and only its receipts can draw noise.

A *scope* is a set of records fixed independently of the data, written as a path: ``""`` is
all records, ``"train"`` and ``"release"`` are disjoint parts of them, ``"train/a"`` is a part of
``"train"``. Costs add up along a path, and the worst path counts (parallel composition).
"""

from __future__ import annotations

import math
import threading
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

import numpy as np
from dp_accounting.dp_event import ComposedDpEvent, RepeatAndSelectDpEvent
from numpy.typing import NDArray

from dpfair import validate
from dpfair.errors import BudgetError, InputError, ReceiptError
from dpfair.privacy.account_text import account_text
from dpfair.privacy.accountants import cost
from dpfair.privacy.assumptions import Assumption, Facts
from dpfair.privacy.draw import Draw, Paid, assumed
from dpfair.privacy.event_json import event_to_json
from dpfair.privacy.events import (
    RELATIONS,
    DpEvent,
    OneOfDpEvent,
    drawable,
    exact_epsilon,
    parts,
    pure_epsilon,
)
from dpfair.privacy.noise import Noise
from dpfair.privacy.tally import Amount, Tally

__all__ = ["COMPOSITIONS", "SEEDED", "Entry", "Ledger", "Receipt"]

SEEDED = "the noise came from a seed, and whoever knows the seed can remove it"

COMPOSITIONS = ("tight", "adaptive", "basic")
# Deeper than any division of a data set; a deeper scope is a mistake or an attack.
MAX_SCOPE_DEPTH = 100

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Entry:
    """One charge: what was paid, on which records, and what for."""

    scope: str
    purpose: str
    event: DpEvent
    epsilon: float
    delta: float

    def to_json(self) -> dict[str, Any]:
        """The entry as plain data."""
        return {
            "scope": self.scope,
            "purpose": self.purpose,
            "event": event_to_json(self.event),
            "epsilon": self.epsilon,
            "delta": self.delta,
        }


class Ledger:
    """A privacy budget in memory.

    Parameters
    ----------
    epsilon, delta
        The budget. A charge that would exceed it is refused and changes nothing.
    relation
        ``"add_remove"`` or ``"replace_one"``: what a neighbouring data set is.
    composition
        ``"tight"``: privacy loss distributions inside a scope (an exact sum if all of its noise
        is Laplace, Renyi DP if a search is among its events), the worst of disjoint scopes.
        ``"adaptive"``: the same for charges whose choice may depend on earlier results, which
        costs a little more (:mod:`dpfair.privacy.adaptive`).
        ``"basic"``: every entry's own epsilon added up, as in the paper's eps + eps0 + eps1.
    rows_per_unit
        A person owns at most this many records. The budget is per person: by group privacy,
        k records cost k epsilon and k exp((k-1) epsilon) delta of one record.
    noise
        The source of all noise that the receipts draw.

    Attributes
    ----------
    row
        The hash of the row of a ledger file that paid for all that is charged here, if one did.

    Examples
    --------
    >>> from dpfair.privacy.events import noisy_table
    >>> ledger = Ledger(epsilon=1, delta=1e-5)
    >>> event = noisy_table("0.5", "add_remove")
    >>> receipt = ledger.charge(event, scope="release", purpose="count the accepted")
    >>> type(receipt.draw(event).discrete_laplace([120, 80]))
    <class 'list'>
    >>> receipt.draw(event)
    Traceback (most recent call last):
    dpfair.errors.ReceiptError: Nothing is left on this receipt for DiscreteLaplace noise.
    """

    def __init__(
        self,
        epsilon: float | Fraction | str,
        delta: float,
        *,
        relation: str = "add_remove",
        composition: str = "tight",
        rows_per_unit: int = 1,
        noise: Noise | None = None,
    ) -> None:
        self.budget_epsilon = exact_epsilon(epsilon)
        validate.in_open_interval(0, 1, delta=delta)
        validate.one_of(RELATIONS, relation=relation)
        validate.one_of(COMPOSITIONS, composition=composition)
        validate.positive(rows_per_unit=rows_per_unit)
        validate.at_least(1, rows_per_unit=rows_per_unit)
        self.epsilon = float(self.budget_epsilon)
        self.delta = float(delta)
        self.relation = relation
        self.composition = composition
        self.rows_per_unit = int(rows_per_unit)
        self.noise = noise if noise is not None else Noise()
        self._seeded_before = False
        self.row: str | None = None
        self._entries: list[Entry] = []
        self._facts: dict[Assumption, NDArray[Any]] = {}
        self._sealed = False
        self._lock = threading.Lock()
        k = self.rows_per_unit
        row_epsilon = self.budget_epsilon / k
        row_delta = self.delta / k * math.exp(-(k - 1) * float(row_epsilon))
        validate.in_open_interval(1e-300, 1, delta_per_record=row_delta)
        self._row_budget = row_epsilon, row_delta
        self._tally = Tally(row_epsilon, row_delta, relation, composition)

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in self.__dict__.items() if k != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __str__(self) -> str:
        return account_text(self, "Ledger")

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges so far, oldest first."""
        return tuple(self._entries)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """The facts that were taken as public so far, each once; the certificate lists them."""
        return tuple(self._facts)

    @property
    def facts(self) -> Facts:
        """The same facts with their values."""
        return dict(self._facts)

    @property
    def row_budget(self) -> tuple[Fraction, float]:
        """What one record may cost, so that a person with ``rows_per_unit`` of them is covered."""
        return self._row_budget

    @property
    def pure(self) -> bool:
        """Whether no charge uses the delta, as with discrete Laplace noise alone."""
        return all(entry.delta == 0 for entry in self.entries)

    @property
    def spent(self) -> float:
        """The epsilon per person spent so far, at the budget's delta.

        It never falls, although the accountant may find that a longer list of charges costs less.
        """
        return float(self._tally.spent * self.rows_per_unit)

    @property
    def private(self) -> bool:
        """Whether all noise comes, and came, from the secure source."""
        return self.noise.secure and not self._seeded_before

    def to_json(self) -> dict[str, Any]:
        """The budget and every charge as plain data."""
        return {
            "epsilon": str(self.budget_epsilon),
            "delta": self.delta,
            "relation": self.relation,
            "composition": self.composition,
            "rows_per_unit": self.rows_per_unit,
            "private": self.private,
            "spent": self.spent,
            "row": self.row,
            "entries": [entry.to_json() for entry in self._entries],
        }

    def charge(self, event: DpEvent, *, scope: str, purpose: str) -> Receipt:
        """Record the cost of an event on a scope, before any noise is drawn."""
        check_scope(scope)
        amount = Amount.of(event)
        entry = self._entry(event, amount, scope, purpose)
        with self._lock:  # otherwise two threads could both spend the same rest of the budget
            self._tally.add(scope, amount, self._affordable(amount, scope, purpose))
            self._entries.append(entry)
        return Receipt(event, self.noise, scope)

    def check(self, event: DpEvent, *, scope: str, purpose: str) -> float:
        """Raise what :meth:`charge` would raise, and charge nothing.

        The result is what would then be ``spent``.
        """
        check_scope(scope)
        with self._lock:
            total = self._affordable(Amount.of(event), scope, purpose)
        return float(total * self.rows_per_unit)

    def seal(self) -> None:
        """Accept no more charges: what a fit may draw is fixed by its plan."""
        with self._lock:
            self._sealed = True

    def mark(self, *, seeded: bool, row: str | None) -> None:
        """Restore the state of a ledger from a file: its source of noise, and the row that paid."""
        self._seeded_before, self.row = seeded, row

    def assume(self, fact: Assumption, value: NDArray[T]) -> NDArray[T]:
        """Use an exact fact about the records as if it were public, and record this."""
        self._facts[fact] = answer = assumed(self.noise, fact, value)
        return answer

    def _entry(self, event: DpEvent, amount: Amount, scope: str, purpose: str) -> Entry:
        if amount.pure is not None:
            return Entry(scope, purpose, event, float(amount.pure), 0.0)
        row_delta = self.row_budget[1]
        own = float(cost(event, row_delta, self.relation))
        return Entry(scope, purpose, event, own, row_delta)

    def _affordable(self, amount: Amount, scope: str, purpose: str) -> Fraction:
        """What a record has paid after this charge; an error if that is too much."""
        if self._sealed:
            raise ReceiptError(f"The charge for '{purpose}' is not in the plan of this fit.")
        total = self._tally.total(scope, amount)
        # Exact amounts are compared exactly; the accountant's answers are already rounded up.
        if total > self.row_budget[0]:
            raise BudgetError(
                f"The charge for '{purpose}' would bring epsilon to "
                f"{float(total * self.rows_per_unit):.6g}, over the budget of "
                f"{self.epsilon:g}; nothing was charged."
            )
        return total


class Receipt:
    """Proof of payment: each paid event can be drawn once, and a receipt cannot be copied.

    Attributes
    ----------
    event, scope
        What was paid, and on which records.
    noise
        Where the draws of this receipt get their randomness.
    row
        The hash of the row that a ledger file wrote for it; None if there is no file.
    """

    def __init__(
        self, event: DpEvent, noise: Noise, scope: str = "", row: str | None = None
    ) -> None:
        parts(event)  # refuses an event that no accountant supports
        self.event, self.noise, self.scope, self.row = event, noise, scope, row
        self._left = {paid: [count] for paid, count in drawable(event).items()}
        # One value, so that an interrupt leaves no event beside what another one paid for.
        self._asked: tuple[DpEvent | None, list[int], Paid] = (None, [0], Paid())
        self._lock = threading.Lock()

    @property
    def used_up(self) -> bool:
        """Whether everything that was paid has been drawn."""
        return not any(count for [count] in self._left.values())

    def draw(self, event: DpEvent) -> Draw:
        """Use up one paid event, never a composition of several, and open its noise."""
        if isinstance(event, ComposedDpEvent):
            raise ReceiptError("A composed event is drawn part by part.")
        with self._lock:  # otherwise two threads could both take the last one
            asked, left, paid = self._asked
            if event is not asked:  # a search by value, which most steps do not need
                left, paid = self._left.get(event, [0]), Paid.by(event)
                self._asked = event, left, paid
            if left[0] < 1:
                raise ReceiptError(f"Nothing is left on this receipt for {_noise_of(event)}.")
            left[0] -= 1
        return Draw(event, self.noise, self.scope, paid)

    def __reduce__(self) -> NoReturn:
        raise ReceiptError("A receipt cannot be copied: it would pay twice.")


def _noise_of(event: DpEvent) -> str:
    if isinstance(event, RepeatAndSelectDpEvent):
        return "a search"
    if isinstance(event, OneOfDpEvent):
        return "a choice"
    return "Gaussian noise" if pure_epsilon(event) is None else "DiscreteLaplace noise"


def check_scope(scope: str) -> None:
    """Refuse names that may be other spellings of the same scope.

    These are empty or padded parts, letters that look the same, and invisible characters.
    """
    if scope and not all(part and part == part.strip() for part in scope.split("/")):
        raise InputError(f"Expected a scope like 'train' or 'train/a', got {scope!r}.")
    if not (scope.isprintable() and unicodedata.is_normalized("NFKC", scope)):
        raise InputError(
            f"Expected a scope of visible characters in their usual (NFKC) form, got {scope!r}."
        )
    if scope.count("/") >= MAX_SCOPE_DEPTH:
        raise InputError(f"Expected a scope with at most {MAX_SCOPE_DEPTH} parts.")
