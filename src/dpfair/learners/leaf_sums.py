r"""Residuals and Hessians summed by leaf: what trees and blocks ask about the records.

A record with label y and estimated probability p adds its residual :math:`y - p`, clipped to 1/2,
to one number of its leaf, and half of its Hessian :math:`p (1 - p)` to another one.

Privacy
-------
A record lies in one leaf, so to add or remove it moves all sums together by at most
:math:`\sqrt{1/4 + 1/64}` in L2 norm. In exact arithmetic both parts are rounded toward zero to a
grid first, and then summed in integers: no record changes what another one adds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpfair.learners.exact import integer_sums, logistic

__all__ = ["HESSIAN_SCALE", "SENSITIVITY", "residuals_and_hessians", "whole_leaf_sums"]

_CLIP = 0.5
HESSIAN_SCALE = 0.5
SENSITIVITY = math.nextafter(math.hypot(_CLIP, HESSIAN_SCALE / 4), math.inf)

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]


def residuals_and_hessians(labels: Int64, chance: Float64) -> tuple[Float64, Float64]:
    """What every record adds to the two numbers of its leaf."""
    return np.clip(labels - chance, -_CLIP, _CLIP), HESSIAN_SCALE * chance * (1 - chance)


def whole_leaf_sums(leaf: Int64, labels: Int64, odds: Float64, leaves: int, unit: float) -> Int64:
    """The sums [number, leaf] in steps of a unit, from the log-odds of the records.

    >>> whole_leaf_sums(np.array([0, 1, 1]), np.array([1, 0, 0]), np.zeros(3), 2, 0.125).tolist()
    [[4, -8], [1, 2]]
    """
    parts = residuals_and_hessians(labels, logistic(odds))
    return np.stack([integer_sums(leaf, np.trunc(part / unit), leaves) for part in parts])
