r"""Residuals and Hessians summed by leaf: what trees and blocks ask about the records.

A record with label y and estimated probability p adds its residual :math:`y - p`, clipped to 1/2,
to one number of its leaf, and half of its Hessian :math:`p (1 - p)` to another one.

Privacy
-------
A record lies in one leaf, so to add or remove it moves all sums together by at most
:math:`\sqrt{1/4 + 1/64}` in L2 norm. In exact arithmetic both parts are rounded toward zero to a
grid first, and then summed in integers: no record changes what another one adds. The parts are at
most 1/2, below 2^30 steps of the grid: sums overflow as little as those of
:mod:`dpfair.learners.exact`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.jit import can_compile
from dpfair.learners.compiled import in_threads, loop
from dpfair.learners.design import chunks
from dpfair.learners.exact import integer_sums
from dpfair.learners.logistic_table import logistic, logistic_table

__all__ = ["HESSIAN_SCALE", "SENSITIVITY", "residuals_and_hessians", "whole_leaf_sums"]

_CLIP = 0.5
HESSIAN_SCALE = 0.5
SENSITIVITY = math.nextafter(math.hypot(_CLIP, HESSIAN_SCALE / 4), math.inf)

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]


def residuals_and_hessians(labels: Codes, chance: Float64) -> tuple[Float64, Float64]:
    """What every record adds to the two numbers of its leaf."""
    return np.clip(labels - chance, -_CLIP, _CLIP), HESSIAN_SCALE * chance * (1 - chance)


def whole_leaf_sums(
    leaf: Codes,
    labels: Codes,
    odds: Float64,
    leaves: int,
    unit: float,
    *,
    compiled: bool = True,
) -> Int64:
    """The sums [number, leaf] in steps of a unit, from the log-odds of the records.

    ``compiled`` allows the compiled loop if numba is installed; it gives the very same integers.

    >>> whole_leaf_sums(np.array([0, 1, 1]), np.array([1, 0, 0]), np.zeros(3), 2, 0.125).tolist()
    [[4, -8], [1, 2]]
    """
    if compiled and can_compile():
        given = (leaf, labels, odds, _CLIP, HESSIAN_SCALE, unit, logistic_table())

        def part(first: int, last: int) -> Int64:
            sums = np.zeros((2, leaves), dtype=np.int64)
            loop("add_leaves")(first, last, *given, sums)
            return sums

        together: Int64 = np.sum(in_threads(part, len(leaf)), axis=0)
        return together
    total = np.zeros((2, leaves), dtype=np.int64)
    for chunk in chunks(len(leaf)):
        parts = residuals_and_hessians(labels[chunk], logistic(odds[chunk]))
        for sums, values in zip(total, parts, strict=True):
            sums += integer_sums(leaf[chunk], np.trunc(values / unit), leaves)
    return total
