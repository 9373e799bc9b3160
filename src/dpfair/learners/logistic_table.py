"""The logistic function by a public table, with straight lines between its points.

Library functions may round differently at the end of an array. A place in the table and a point on
a line are made of operations that IEEE 754 fixes, so equal scores have equal values everywhere.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpfair.learners.loops import PER_UNIT, REACH

__all__ = ["logistic", "logistic_table"]

Float64 = NDArray[np.float64]


def logistic(scores: Float64) -> Float64:
    """An approximation of 1 / (1 + exp(-score)) within 2e-7, equal for equal scores everywhere."""
    values, rises = logistic_table().T
    place = (np.clip(scores, -REACH, REACH) + REACH) * PER_UNIT
    below = place.astype(np.int64)
    result: Float64 = values[below] + (place - below) * rises[below]
    return result


@cache
def logistic_table() -> Float64:
    """Values and rises [point, 2] of the logistic function, ``PER_UNIT`` points per unit."""
    from scipy.special import expit

    points = np.arange(2 * REACH * PER_UNIT + 2)
    values = expit(points / PER_UNIT - REACH)
    return np.stack([values[:-1], np.diff(values)], axis=1)
