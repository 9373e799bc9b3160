r"""Gradient sums in integers: what a record contributes depends on nothing but that record.

Floating-point sums over records are rounded, so one record changes what the others contribute.
Here every record's clipped gradient is first rounded to a grid, toward zero, and then summed in
integers, in any order:

* a score, the derivative of the loss and the clipping scale are made of additions, products and
  quotients in a fixed order for each record; IEEE 754 fixes their results wherever the record is.
  The logistic function is a public table with straight lines between its points, because library
  functions may round differently at the end of an array;
* the coefficient a of the gradient a x is rounded to :math:`A = \lfloor |a| / \gamma \rfloor` with
  the sign of a. A one-hot cell of value w counts A, in steps of :math:`\gamma w`. A dense number x
  counts :math:`\lfloor |a x| / \gamma' \rfloor`, in steps of :math:`\gamma'`.

Rounding toward zero makes no coordinate larger, so in these steps a contribution still has at most
the norm that it was clipped to (a hair below the stated one, which covers the rounding of the
clipping itself). The steps are powers of two, chosen by the clipping norm and the noise: about
2^30 of them make up the larger of the noise and the largest coefficient. What is lost by rounding
is thus far below the noise, and a float64 sum of 2^14 rounded numbers is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.learners.compiled import available, exact_logistic_sum
from dpfair.learners.design import Design

__all__ = ["CHUNK", "MULTIPLIERS", "NORMS", "Grid", "integer_sums", "logistic", "logistic_sum"]

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

# The clipping norms and noise multipliers for which all arithmetic keeps its promises: below, the
# squares of float32 numbers vanish, and far below, the steps of the grid have no finite inverse.
NORMS = (1e-12, 1e12)
MULTIPLIERS = (1e-30, 1e30)

_FINEST = 2.0**-30
CHUNK = 1 << 14

# The table of the logistic function: beyond its reach the function is constant up to 1e-7.
_REACH, _PER_UNIT = 16.0, 256.0

# Released parameters beyond this are a run that failed; scores must stay finite.
_LARGEST = 1e15


@dataclass(frozen=True)
class Grid:
    """The steps of a gradient's coordinates, by public numbers alone.

    >>> Grid.of(norm=0.4, noise_multiplier=10)
    Grid(cell=7.450580596923828e-09, dense=7.450580596923828e-09)
    """

    cell: float
    dense: float

    @classmethod
    def of(cls, norm: float, noise_multiplier: float) -> Grid:
        """For gradients of at most this norm; a coefficient of a logistic loss is at most one."""
        validate.within(*NORMS, norm=norm)
        validate.within(*MULTIPLIERS, noise_multiplier=noise_multiplier)
        noise = norm * noise_multiplier
        grid = cls(_power_above(max(1.0, noise)), _power_above(max(norm, noise)))
        assert math.isfinite(1 / grid.cell), "a coefficient has no place on the grid"
        assert math.isfinite(1 / grid.dense), "a dense number has no place on the grid"
        return grid

    def units(self, design: Design) -> Float64:
        """The step of every coordinate of the gradient."""
        dense = np.full(design.dense.shape[1], self.dense)
        return np.concatenate([dense, self.cell * design.cell_values])


def _power_above(size: float) -> float:
    return math.ldexp(_FINEST, math.frexp(size)[1])


def logistic(scores: Float64) -> Float64:
    """An approximation of 1 / (1 + exp(-score)) within 2e-7, equal for equal scores everywhere."""
    values, rises = _logistic_table()
    place = (np.clip(scores, -_REACH, _REACH) + _REACH) * _PER_UNIT
    below = place.astype(np.int64)
    result: Float64 = values[below] + (place - below) * rises[below]
    return result


@cache
def _logistic_table() -> tuple[Float64, Float64]:
    from scipy.special import expit

    points = np.arange(2 * _REACH * _PER_UNIT + 2)
    values = expit(points / _PER_UNIT - _REACH)
    return values[:-1], np.diff(values)


def logistic_sum(
    design: Design,
    chosen: NDArray[np.int64] | slice,
    targets: NDArray[np.float32],
    parameters: Float64,
    limit: float,
    grid: Grid,
    *,
    compiled: bool = True,
) -> Int64:
    """The sum of the chosen rows' gradients, each scaled down to the norm ``limit``, in grid steps.

    ``compiled`` allows the compiled loop if numba is installed; it gives the very same integers.
    """
    parameters = np.fmin(np.fmax(parameters, -_LARGEST), _LARGEST)  # NaN becomes a number, too
    if compiled and available():
        table = (*_logistic_table(), _REACH, _PER_UNIT)
        steps = (1 / grid.cell, 1 / grid.dense)
        return exact_logistic_sum(design, chosen, targets, parameters, limit, table, steps)
    rows, labels = design.take(chosen), targets[chosen]
    total = np.zeros(design.width, dtype=np.int64)
    for start in range(0, len(rows), CHUNK):
        chunk = slice(start, start + CHUNK)
        total += _chunk_sum(rows.take(chunk), labels[chunk], parameters, limit, grid)
    return total


def _chunk_sum(
    rows: Design, labels: NDArray[np.float32], parameters: Float64, limit: float, grid: Grid
) -> Int64:
    coefficients = logistic(rows.wide_scores(parameters)) - labels
    norms = np.abs(coefficients) * rows.norms
    coefficients *= limit / np.maximum(norms, limit)
    dense = np.trunc(coefficients[:, None] * rows.dense * (1 / grid.dense)).sum(axis=0)
    cells = rows.cell_sums(np.trunc(coefficients * (1 / grid.cell)))
    return np.concatenate([dense, cells]).astype(np.int64)


def integer_sums(places: Int64, values: Float64, size: int) -> Int64:
    """For every place, the sum of the whole numbers there, exactly."""
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, len(places), CHUNK):
        chunk = slice(start, start + CHUNK)
        total += np.bincount(places[chunk], values[chunk], size).astype(np.int64)
    return total
