r"""Gradient sums in integers: what a record contributes depends on nothing but that record.

Floating-point sums over records are rounded, so one record changes what the others contribute.
Here every record's clipped gradient is first rounded to a grid, toward zero, and then summed in
integers, in any order:

* a score, the derivative of the loss and the clipping scale are made of additions, products and
  quotients in a fixed order for each record; IEEE 754 fixes their results wherever the record is.
  The logistic function is a public table (:mod:`dpfair.learners.logistic_table`);
* the coefficient a of the gradient a x is rounded to :math:`A = \lfloor |a| / \gamma \rfloor` with
  the sign of a. A one-hot cell of value w counts A, in steps of :math:`\gamma w`. A dense number x
  counts :math:`\lfloor |a x| / \gamma' \rfloor`, in steps of :math:`\gamma'`.

Rounding toward zero makes no coordinate larger, so in these steps a contribution still has at most
the norm that it was clipped to (a hair below the stated one, which covers the rounding of the
clipping itself). The steps are powers of two, chosen by the clipping norm and the noise: about
2^30 of them make up the larger of the noise and the largest coefficient. What is lost by rounding
is thus far below the noise.

No sum overflows. A rounded number is at most 2^30: the coefficient of a logistic loss is at most 1,
and a clipped a x at most the clipping norm. So a float64 sum of 2^13 of them (a chunk of rows) is
below 2^53, hence exact, and a 64-bit sum of the 2^32 rows that a design has at most is below
2^63.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.jit import can_compile
from dpfair.learners.compiled import exact_logistic_sum
from dpfair.learners.design import Design, bounded, chunks
from dpfair.learners.logistic_table import logistic

__all__ = ["MULTIPLIERS", "NORMS", "Grid", "integer_sums", "logistic_sum"]

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

# The clipping norms and noise multipliers for which all arithmetic keeps its promises: below, the
# squares of float32 numbers vanish, and far below, the steps of the grid have no finite inverse.
NORMS = (1e-12, 1e12)
MULTIPLIERS = (1e-30, 1e30)

_FINEST = 2.0**-30


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


def logistic_sum(
    design: Design,
    chosen: NDArray[np.int64] | slice,
    targets: NDArray[Any],
    parameters: Float64,
    limit: float,
    grid: Grid,
    *,
    compiled: bool = True,
) -> Int64:
    """The sum of the chosen rows' gradients, each scaled down to the norm ``limit``, in grid steps.

    ``compiled`` allows the compiled loop if numba is installed; it gives the very same integers.
    """
    parameters = bounded(parameters)
    if compiled and can_compile():
        steps = (1 / grid.cell, 1 / grid.dense)
        return exact_logistic_sum(design, chosen, targets, parameters, limit, steps)
    rows, labels, p = design.take(chosen), targets[chosen], design.dense.shape[1]
    table = design.cell_table(parameters)
    dense = np.zeros(p, dtype=np.int64)
    places = np.zeros(len(table), dtype=np.int64)
    for chunk in chunks(len(rows)):
        part = rows.take(chunk)
        coefficients = logistic(part.table_scores(parameters[:p], table)) - labels[chunk]
        norms = np.abs(coefficients) * part.norms
        coefficients *= limit / np.maximum(norms, limit)
        numbers = np.trunc(coefficients[:, None] * part.dense * (1 / grid.dense))
        dense += numbers.sum(axis=0).astype(np.int64)
        whole = np.trunc(coefficients * (1 / grid.cell))
        places += part.place_sums(whole).astype(np.int64)
    return np.concatenate([dense, design.look_ups.cell_sums(places)])


def integer_sums(places: NDArray[np.integer[Any]], values: Float64, size: int) -> Int64:
    """For every place, the sum of the whole numbers there, exactly."""
    total = np.zeros(size, dtype=np.int64)
    for chunk in chunks(len(places)):
        total += np.bincount(places[chunk], values[chunk], size).astype(np.int64)
    return total
