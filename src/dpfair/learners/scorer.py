"""A trained linear scorer: released weights and the public feature map they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.data.schema import Schema
from dpfair.data.table import Records
from dpfair.errors import InputError
from dpfair.learners.features import design, feature_names

__all__ = ["LinearScorer"]


@dataclass(frozen=True)
class LinearScorer:
    """s(x, a) = sigmoid(features(x, a) . weights)."""

    schema: Schema
    features: str
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        expected = len(feature_names(self.features, self.schema))
        if self.weights.shape != (expected,) or not np.isfinite(self.weights).all():
            raise InputError(f"Expected {expected} finite weights for this schema.")

    def log_odds(self, records: Records) -> NDArray[np.float64]:
        """The estimated log-odds of the positive label, per record."""
        rows = design(self.features, self.schema, records)
        return rows.scores(self.weights.astype(np.float32)).astype(np.float64)

    def scores(self, records: Records) -> NDArray[np.float64]:
        """The estimated probability of the positive label, per record."""
        from scipy.special import expit

        probabilities: NDArray[np.float64] = expit(self.log_odds(records))
        return probabilities

    def positive(self, records: Records) -> NDArray[np.int64]:
        """The classifier h(x, a) of the paper: 1 where the score exceeds one half."""
        return (self.scores(records) > 0.5).astype(np.int64)
