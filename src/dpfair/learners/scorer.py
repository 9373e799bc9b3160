"""A trained linear scorer: released weights and the public feature map they belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.features import design, feature_count
from dpfair.learners.protocols import Tensors

__all__ = ["LinearScorer", "check_width", "in_parts", "probabilities"]

MAX_WEIGHTS = 300_000
"""Of a model file: more than any fit leads to."""

_ROWS = 1 << 16


@dataclass(frozen=True)
class LinearScorer:
    """s(x, a) = sigmoid(features(x, a) . weights)."""

    schema: Schema
    features: str
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        expected = feature_count(self.features, self.schema)
        if self.weights.shape != (expected,) or not np.isfinite(self.weights).all():
            raise InputError(f"Expected {expected} finite weights for this schema.")

    @classmethod
    def from_tensors(cls, schema: Schema, features: str, tensors: Tensors) -> LinearScorer:
        """The scorer of a file."""
        if set(tensors) != {"weights"} or tensors["weights"].ndim != 1:
            raise InputError("It does not hold the weights of a model.")
        check_width(schema, features)
        return cls(schema, features, tensors["weights"])

    @property
    def form(self) -> tuple[str, Schema]:
        """The map of features, and the schema of the columns that it reads."""
        return self.features, self.schema

    def tensors(self) -> Tensors:
        """The weights."""
        return {"weights": self.weights}

    def log_odds(self, records: Records) -> NDArray[np.float64]:
        """The estimated log-odds of the positive label, per record."""
        weights = self.weights.astype(np.float32)

        def of_some(some: Records) -> NDArray[np.float64]:
            return design(self.features, self.schema, some).scores(weights).astype(np.float64)

        return in_parts(of_some, records)

    def scores(self, records: Records) -> NDArray[np.float64]:
        """The estimated probability of the positive label, per record."""
        return probabilities(self.log_odds(records))


def probabilities(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logistic function of log-odds, in place.

    NumPy alone: SciPy takes longer to import than a small table takes to be decided.

    >>> probabilities(np.array([-800.0, 0.0, 800.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    np.negative(log_odds, out=log_odds)
    with np.errstate(over="ignore"):  # one over infinity is zero
        np.exp(log_odds, out=log_odds)
    log_odds += 1
    return np.reciprocal(log_odds, out=log_odds)


def in_parts(
    numbers: Callable[[Records], NDArray[np.float64]], records: Records
) -> NDArray[np.float64]:
    """One number per record, made for some records at a time: memory stays flat."""
    result = np.empty(len(records))
    for start in range(0, len(records), _ROWS):
        some = slice(start, start + _ROWS)
        result[some] = numbers(records.take(some))
    return result


def check_width(schema: Schema, features: str) -> None:
    """Refuse a schema with more parameters than a model file may have."""
    weights = feature_count(features, schema)
    if weights > MAX_WEIGHTS:
        raise InputError(
            f"Expected at most {MAX_WEIGHTS} weights, got {weights}: declare fewer categories."
        )
