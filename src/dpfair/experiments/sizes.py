"""How the certified gap shrinks with the number of records."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from dpfair.errors import FairnessWarning
from dpfair.experiments.benchmark import load_dataset
from dpfair.methods.fair_classifier import PrivateFairClassifier
from dpfair.privacy.noise import Noise

__all__ = ["run_size"]

# Coins of the table, far from those of any model's seed.
_TABLE_SEED = 2 * 10**9


def run_size(dataset: str, rows: int, epsilon: float, seed: int) -> dict[str, Any]:
    """The certificate of a fit on so many records, drawn with replacement from a data set.

    Delta is a tenth of 1/n, if that is less than 1e-5.
    """
    data = load_dataset(dataset)
    coins = Noise(_TABLE_SEED + seed).uniforms(rows)
    drawn = np.minimum((coins * len(data.y)).astype(np.int64), len(data.y) - 1)
    model = PrivateFairClassifier(
        epsilon, min(1e-5, 0.1 / rows), schema=replace(data.schema, rows=rows), random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        model.fit(data.X[drawn], data.y[drawn])
    claim = model.certificate_.fairness
    return {"gap_bound": claim.gap_bound, "accuracy_bound": claim.accuracy_bound}
