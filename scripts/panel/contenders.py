"""Who is compared: a constant, boosting without privacy, and the library with each learner."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import FairnessWarning
from dpfair.learners import LEARNERS
from dpfair.methods.fair_classifier import PrivateFairClassifier
from scripts.panel.prepare import Prepared
from scripts.panel.quotas import boosting_with_quotas
from scripts.panel.schemas import panel_schema

__all__ = ["BUDGETS", "CONSTANT", "DELTA", "MODES", "QUOTAS", "Contender", "Decided", "contenders"]

CONSTANT = "constant"
QUOTAS = "quotas"
BUDGETS = (0.3, 1.0, 3.0)
MODES = ("reuse", "certified")
DELTA = 1e-6
"""Below one over the number of records of every table."""


@dataclass(frozen=True)
class Decided:
    """The decisions about the test part, and the bound on the gap if there is one."""

    accepted: NDArray[np.bool_]
    gap_bound: float | None = None


@dataclass(frozen=True)
class Contender:
    """One way to decide.

    ``name`` is ``constant`` (the more frequent label for all), ``quotas`` (boosting without
    privacy, with equal acceptance rates) or a learner of the library. Only the latter have
    ``facts``, ``mode`` and ``epsilon``.
    """

    name: str
    facts: str = ""
    mode: str = ""
    epsilon: float | None = None

    @property
    def private(self) -> bool:
        """Whether it is a model of the library."""
        return self.epsilon is not None

    def decide(
        self, data: Prepared, rest: NDArray[np.int64], test: NDArray[np.int64], seed: int
    ) -> Decided:
        """Fit on the records ``rest`` and decide about the records ``test``."""
        if self.name == CONSTANT:
            frequent = data.accepted[rest].mean() > 0.5
            return Decided(np.full(len(test), frequent))
        if self.name == QUOTAS:
            return Decided(boosting_with_quotas(data, rest, test, seed))
        model = self.classifier(data, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairnessWarning)
            model.fit(data.X[rest], data.y[rest])
        accepted = model.predict(data.X[test]) == model.classes_[1]
        return Decided(accepted, model.certificate_.fairness.gap_bound)

    def classifier(self, data: Prepared, seed: int) -> PrivateFairClassifier:
        """The model; all that is not said here is a default of the library."""
        assert self.epsilon is not None
        return PrivateFairClassifier(
            self.epsilon,
            DELTA,
            schema=panel_schema(data, self.facts),
            mode=self.mode,
            learner=LEARNERS[self.name](),
            random_state=seed,
        )


def contenders(
    names: Sequence[str],
    facts: Sequence[str],
    modes: Sequence[str] = MODES,
    budgets: Sequence[float] = BUDGETS,
) -> list[Contender]:
    """All contenders of these names; the learners with every schema, mode and budget."""
    learners = [name for name in names if name in LEARNERS]
    public = [Contender(name) for name in (CONSTANT, QUOTAS) if name in names]
    private = itertools.product(learners, facts, modes, budgets)
    return public + [Contender(*each) for each in private]
