"""What a learner and a scorer are. Any object that fits can be used; no class is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.data.schema import Schema

if TYPE_CHECKING:
    from dpfair.privacy.events import DpEvent
    from dpfair.privacy.ledger import Receipt

__all__ = ["Learner", "Progress", "Scorer", "Tensors", "Training", "TrainingBudget"]

Progress = Callable[[int], None]
"""Is told the number of finished steps."""

Tensors = Mapping[str, NDArray[np.float64]]
"""The released numbers of a scorer, by name."""


@dataclass(frozen=True)
class TrainingBudget:
    """What training may cost a record.

    Parameters
    ----------
    epsilon, delta, relation
        The budget, and the relation between neighbouring tables.
    share
        The share of the data set that training will see.
    other_events
        What else the same budget pays for, on the same records.
    stated
        The event of a training that a model file states: its noise is checked against the budget
        instead of being searched for, which takes longer.
    """

    epsilon: float
    delta: float
    relation: str
    share: float = 1.0
    other_events: tuple[DpEvent, ...] = ()
    stated: DpEvent | None = None


class Training(Protocol):
    """A run of a learner, planned before any record is read."""

    @property
    def event(self) -> DpEvent:
        """What it costs a record."""


class Scorer(Protocol):
    """A trained model: released numbers that turn a record into a score."""

    def scores(self, records: Any) -> NDArray[np.float64]:
        """The estimated probability of the positive label, between 0 and 1, per record."""

    def tensors(self) -> Tensors:
        """What a file has to store."""


@runtime_checkable
class Learner(Protocol):
    """How a scorer is trained within a budget.

    :class:`~dpfair.learners.logistic.LogisticLearner` is one. docs/extending.md has a complete
    example of another one.
    """

    def plan(self, schema: Schema, budget: TrainingBudget) -> Any:
        """The :class:`Training` that a budget buys; its event must be within the budget."""

    def train(
        self,
        plan: Any,
        records: Records,
        schema: Schema,
        receipt: Receipt,
        progress: Progress | None = None,
    ) -> Scorer:
        """Train on records of declared groups and labels, with noise from the receipt alone."""

    def restore(self, schema: Schema, tensors: Tensors) -> Scorer:
        """The scorer of a file; ``InputError`` if its numbers do not fit the schema."""
