"""Estimators whose fits take milliseconds: few steps, and budgets whose calibration is cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from trust.fuzzed.case import Case

from dpfair import (
    Algorithm1,
    Algorithm2,
    BlockLearner,
    DPFermi,
    FairPostProcessor,
    LogisticLearner,
    PrivateBoosting,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
)
from dpfair.data.containers import column_names, get_column
from dpfair.data.numbers import numbers
from dpfair.methods import METHODS

__all__ = ["CHOICES", "ESTIMATORS", "EXACT", "WITH_UNIT", "above_zero"]

_BLOCKS = BlockLearner(**BlockLearner.quick)

EXACT = ("exact rates",)
"""Estimators that are not private, whatever is declared; the labels tell them the classes."""

WITH_UNIT = ("reuse", "odds", "flips")
"""Estimators that may be told which column identifies a person."""


def above_zero(table: Any) -> np.ndarray:
    """Somebody's classifier: whether the first column is above zero."""
    values = numbers(get_column(table, column_names(table)[0]))
    return np.nan_to_num(values) > 0


def _divided(method: Callable[..., Any], **settings: Any) -> Callable[[Case], Any]:
    """A method with a learner, for persons if the case says who they are."""

    def make(case: Case) -> Any:
        unit = {} if case.unit is None else {"unit": case.unit, "rows_per_unit": 2}
        learned = {"learner": LogisticLearner(steps=2)} | settings
        return _alone(method, 0.3, **learned, **unit)(case)

    return make


def _alone(
    method: Callable[..., Any], epsilon: float = 1, **settings: Any
) -> Callable[[Case], Any]:
    return lambda case: method(epsilon, schema=case.schema, sensitive=case.sensitive, **settings)


def _rates(method: Callable[..., Any], **settings: Any) -> Callable[[Case], Any]:
    """A method on top of a classifier, which needs no schema but the names of the groups."""
    return lambda case: method(
        above_zero,
        sensitive=case.sensitive,
        groups=None if case.schema is None else case.schema.groups,
        **settings,
    )


def _search(case: Case) -> Any:
    return PrivateSearchCV(
        PrivateLogisticRegression(steps=2),
        {"clip": [0.3, 1.0]},
        epsilon=1,
        mean_runs=1.5,
        schema=case.schema,
        sensitive=case.sensitive,
    )


ESTIMATORS: dict[str, Callable[[Case], Any]] = {
    "logistic": _alone(PrivateLogisticRegression, steps=2),
    "standardised": _alone(PrivateLogisticRegression, steps=2, features="standardised"),
    "sgd": _alone(PrivateLogisticRegression, steps=2, solver="sgd", batch_size=5),
    "boosting": _alone(PrivateBoosting, steps=2, trees=2, depth=2),
    "reuse": _divided(PrivateFairClassifier, mode="reuse"),
    "blocks": _divided(PrivateFairClassifier, mode="reuse", learner=_BLOCKS),
    "odds": _divided(PrivateFairClassifier, rule={"notion": "equalized_odds"}),
    "placed": _divided(PrivateFairClassifier),
    "checked": _divided(PrivateFairClassifier, mode="reuse", division={"check_share": 0.4}),
    "flips": _divided(Algorithm2),
    "public sizes": _divided(Algorithm2, public_sizes=True, composition="basic"),
    "fermi": _alone(DPFermi, epochs=1, batch_size=8),
    "search": _search,
    "post-processing": _rates(FairPostProcessor, epsilon=1),
    "exact rates": _rates(Algorithm1),
}
LISTED = {PrivateLogisticRegression, PrivateBoosting, PrivateFairClassifier, DPFermi} | {
    *(Algorithm1, Algorithm2, FairPostProcessor),
}
ESTIMATORS |= {
    name: _alone(kind, **kind.quick) for name, kind in METHODS.items() if kind not in LISTED
}

# Those that take tens of milliseconds come less often.
_OFTEN = ["logistic", "standardised", "sgd", "boosting", "fermi", "reuse"]
CHOICES = [*ESTIMATORS, *(_OFTEN * 9), "odds", "post-processing", "flips", "exact rates"]
