"""FitPlan: everything that a fit will charge, stated once and before any record is read.

The dry run, the check of a ledger file, the charges of a fit, the replay audit, the model file and
its verification all read the same plan. A plan becomes a :class:`Run` when it is opened: only the
run has the receipts, so a step that is not in the plan cannot draw noise, and a step that did not
draw what was paid is an error at the end of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import BudgetError, InputError, ReceiptError
from dpfair.privacy.account_text import account_text
from dpfair.privacy.assumptions import Assumption, Facts
from dpfair.privacy.event_json import alike, event_from_json, event_to_json
from dpfair.privacy.events import DpEvent, OneOfDpEvent, exact_epsilon, path_events
from dpfair.privacy.ledger import Ledger, Receipt
from dpfair.privacy.noise import Noise
from dpfair.privacy.split import KeyedSplit

__all__ = [
    "EVERYBODY",
    "EVERY_FEATURE",
    "UNUSED_DELTA",
    "Budget",
    "FitPlan",
    "Run",
    "Step",
    "Watcher",
    "whole_event",
]

EVERYBODY: Mapping[str, float] = MappingProxyType({"": 1.0})
"""The shares of a fit that does not divide its records."""

UNUSED_DELTA = 1e-12
"""The delta of a job that only counts: discrete Laplace noise is pure, so it is never used."""

EVERY_FEATURE = "every feature"
"""What a plan protects of a record, unless it says otherwise."""


@dataclass(frozen=True)
class Budget:
    """What a fit may cost a person with at most ``rows_per_unit`` records.

    >>> Budget(Fraction(3), 1e-5, rows_per_unit=2).row_epsilon
    Fraction(3, 2)
    """

    epsilon: Fraction
    delta: float
    relation: str = "add_remove"
    composition: str = "tight"
    rows_per_unit: int = 1

    def ledger(self, noise: Noise | None = None) -> Ledger:
        """An empty ledger with this budget."""
        return Ledger(
            self.epsilon,
            self.delta,
            relation=self.relation,
            composition=self.composition,
            rows_per_unit=self.rows_per_unit,
            noise=noise,
        )

    @property
    def row_epsilon(self) -> Fraction:
        """The epsilon that one record may cost."""
        return self.ledger().row_budget[0]

    @property
    def row_delta(self) -> float:
        """The delta that one record may cost."""
        return self.ledger().row_budget[1]


@dataclass(frozen=True)
class Step:
    """One mechanism of a fit: its name in the code, the records it reads, and what it costs.

    ``how`` is what the mechanism needs in addition to its receipt, such as the number of steps and
    the clipping norm of a gradient descent. It is public, and not part of the account.
    """

    name: str
    scope: str
    purpose: str
    event: DpEvent
    how: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class FitPlan:
    """The steps of a fit with their costs, and how the records are divided.

    Parameters
    ----------
    budget
        The budget of a person, and the relation between neighbouring tables.
    steps
        In the order in which they are charged; names are unique.
    shares
        The scopes, with the probability that a record belongs to each. ``""`` is all records.
    protects
        What is protected of a record: every feature, or only the sensitive attribute.

    Examples
    --------
    >>> from dpfair.privacy.events import noisy_table
    >>> step = Step("count", "", "count the accepted", noisy_table(1, "add_remove"))
    >>> plan = FitPlan(Budget(Fraction(1), 1e-5), (step,))
    >>> plan.total().spent
    1.0
    >>> print(plan)
    Plan of a fit (epsilon 1, delta 1e-05, add_remove)
      step   scope  purpose             epsilon  delta
      count  all    count the accepted   1.0000  0
             total  together             1.0000  of 1
    """

    budget: Budget
    steps: tuple[Step, ...]
    shares: Mapping[str, float] = field(default_factory=lambda: dict(EVERYBODY))
    protects: str = EVERY_FEATURE

    def __post_init__(self) -> None:
        names = [step.name for step in self.steps]
        if len(set(names)) < len(names):
            raise InputError("Expected steps with different names.")
        unknown = [s.scope for s in self.steps if s.scope not in ("", *self.shares)]
        if unknown:
            raise InputError(f"No share of the records belongs to the scope {unknown[0]!r}.")

    def __getitem__(self, name: str) -> Step:
        for step in self.steps:
            if step.name == name:
                return step
        raise ReceiptError(f"The step {name!r} is not in the plan of this fit.")

    def __contains__(self, name: object) -> bool:
        return any(step.name == name for step in self.steps)

    def __str__(self) -> str:
        try:
            ledger = self.total()
        except BudgetError as error:
            return f"Plan of a fit that exceeds its budget: {error}"
        return account_text(ledger, "Plan of a fit", [step.name for step in self.steps])

    def share(self, name: str) -> float:
        """The share of the records that a step reads."""
        return self.shares.get(self[name].scope, 1.0)

    @property
    def charges(self) -> list[tuple[str, DpEvent]]:
        """(scope, event) of every step."""
        return [(step.scope, step.event) for step in self.steps]

    @property
    def event(self) -> DpEvent:
        """All that the fit costs one record."""
        return whole_event(self.charges)

    def total(self) -> Ledger:
        """A ledger with all charges; raises ``BudgetError`` if they exceed the budget."""
        return self.open(None).ledger

    def open(self, noise: Noise | None) -> Run:
        """Charge every step to a ledger of the fit's own; nothing is drawn yet."""
        return Run(self, noise)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "epsilon": str(self.budget.epsilon),
            "delta": self.budget.delta,
            "relation": self.budget.relation,
            "composition": self.budget.composition,
            "rows_per_unit": self.budget.rows_per_unit,
            "protects": self.protects,
            "shares": dict(self.shares),
            "steps": [
                {
                    "name": step.name,
                    "scope": step.scope,
                    "purpose": step.purpose,
                    "event": event_to_json(step.event),
                }
                for step in self.steps
            ],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FitPlan:
        """Read a plan back, without what its steps need to run."""
        return cls(
            budget=Budget(
                exact_epsilon(str(data["epsilon"])),
                float(data["delta"]),
                str(data["relation"]),
                str(data["composition"]),
                int(data["rows_per_unit"]),
            ),
            steps=tuple(
                Step(
                    str(step["name"]),
                    str(step["scope"]),
                    str(step["purpose"]),
                    event_from_json(step["event"]),
                )
                for step in data["steps"]
            ),
            shares={str(scope): float(share) for scope, share in data["shares"].items()},
            protects=str(data["protects"]),
        )

    def agrees(self, other: FitPlan) -> bool:
        """Whether two plans state the same, up to the last digits of another machine's numbers."""
        return alike(self.to_json(), other.to_json())


class Watcher(Protocol):
    """Is told how far a fit is: public steps only, and nothing about the records."""

    def __call__(self, step: int) -> None:
        """So many gradient steps are done."""

    def stage(self, what: str) -> None:
        """Another part of the fit begins."""


class Run:
    """A plan whose charges are in a ledger: it has the receipts and the coins of one fit.

    Every step is taken once, by its name. :meth:`close` refuses a fit that did not draw
    everything that it was charged for.

    Attributes
    ----------
    plan, ledger
        What will be drawn, and where it is charged.
    progress
        Who watches the fit, if anybody; see :meth:`stage`.
    """

    def __init__(self, plan: FitPlan, noise: Noise | None) -> None:
        self.plan = plan
        self.ledger = plan.budget.ledger(noise)
        self.progress: Watcher | None = None
        self._receipts = {
            step.name: self.ledger.charge(step.event, scope=step.scope, purpose=step.purpose)
            for step in plan.steps
        }
        self.ledger.seal()
        self._taken: set[str] = set()
        self._coin_key: bytes | None = None
        self._split: KeyedSplit | None = None

    def stage(self, what: str) -> None:
        """Tell whoever watches that another part of the fit begins."""
        if self.progress is not None:
            self.progress.stage(what)

    @property
    def noise(self) -> Noise:
        """The source of all randomness that is not an answer about a record."""
        return self.ledger.noise

    @property
    def coin_key(self) -> bytes:
        """The key of the decision coins; drawn when it is first needed."""
        if self._coin_key is None:
            self._coin_key = self.noise.take(32)
        return self._coin_key

    def __getitem__(self, name: str) -> Receipt:
        """The receipt of a step, once."""
        if name not in self.plan or name in self._taken:
            again = "was taken before" if name in self._taken else "is not in the plan of this fit"
            raise ReceiptError(f"The step {name!r} {again}.")
        self._taken.add(name)
        return self._receipts[name]

    def assume(self, fact: Assumption, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Use an exact fact about the records as if it were public; the certificate lists it."""
        return self.ledger.assume(fact, value)

    def assume_all(self, facts: Facts) -> None:
        """Assume the facts that the plan was made with."""
        for fact, value in facts.items():
            self.assume(fact, value)

    @property
    def split(self) -> KeyedSplit:
        """Which scope a record belongs to, by one coin per person: a record stays in its scope."""
        if self._split is None:
            self._split = KeyedSplit(self.plan.shares, self.noise.take(32))
        return self._split

    def parts(self, records: Any) -> dict[str, Any]:
        """The records of every scope.

        ``records`` have ``places``, and ``units``: the person that each belongs to, or None.
        """
        if self.plan.shares == EVERYBODY:
            return {"": records}
        return {scope: records.map(self.split.only(scope)) for scope in self.plan.shares}

    def close(self) -> None:
        """Check that every step drew what it was charged for."""
        for name, receipt in self._receipts.items():
            if not receipt.used_up:
                raise ReceiptError(f"The step {name!r} did not draw all that it was charged for.")
        self.noise.end()


def whole_event(charges: Sequence[tuple[str, DpEvent]]) -> DpEvent:
    """All that a fit costs one record: one of its scopes' costs, chosen by a coin.

    Scopes of different fits overlap, since every fit tosses its own coins. As alternatives of one
    event, the costs of a record in two fits are composed for all combinations of scopes.

    >>> from dpfair.privacy.events import noisy_table
    >>> one, two = noisy_table(1, "add_remove"), noisy_table(2, "add_remove")
    >>> event = whole_event([("a", one), ("b", two)])
    >>> [alternative.noise_parameter for alternative in event.events]
    [1.0, 2.0]
    """
    alternatives: list[DpEvent] = []
    for event in path_events(charges):
        if event not in alternatives:
            alternatives.append(event)
    return alternatives[0] if len(alternatives) == 1 else OneOfDpEvent(tuple(alternatives))
