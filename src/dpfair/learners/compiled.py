"""The most common step in one compiled loop: logistic loss, flat clipping, no queries.

It is used when numba is installed (the ``fast`` extra) and computes what
:func:`dpfair.learners.descent.clipped_sum` computes, in float64 and without intermediate arrays;
or, in integers, what :mod:`dpfair.learners.exact` computes, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.learners.design import Design

__all__ = ["available", "exact_logistic_sum", "logistic_sum"]


def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def logistic_sum(
    design: Design,
    chosen: NDArray[np.int64] | slice,
    targets: NDArray[np.float32],
    parameters: NDArray[np.float64],
    limit: float,
) -> NDArray[np.float64]:
    """The sum of the chosen rows' gradients, each scaled down to the norm ``limit``."""
    p = design.dense.shape[1]
    rows = np.arange(len(design)) if isinstance(chosen, slice) else chosen
    table, total = np.zeros(design.cells + 1), np.zeros(design.width + 1)
    np.multiply(parameters[p:], design.cell_values, out=table[:-1])
    _kernel()(
        rows,
        design.dense,
        design.codes,
        design.norms,
        targets,
        parameters[:p],
        table,
        limit,
        total[:p],
        total[p:],
    )
    total[p:-1] *= design.cell_values
    return total[:-1]


def exact_logistic_sum(
    design: Design,
    chosen: NDArray[np.int64] | slice,
    targets: NDArray[np.float32],
    parameters: NDArray[np.float64],
    limit: float,
    table: tuple[NDArray[np.float64], NDArray[np.float64], float, float],
    steps: tuple[float, float],
) -> NDArray[np.int64]:
    """The same in steps of a grid; see :func:`dpfair.learners.exact.logistic_sum`.

    ``table`` holds values and rises of the logistic function, its reach and its points per unit;
    ``steps`` are how many make up one, for the coefficients of cells and for dense numbers.
    """
    p = design.dense.shape[1]
    rows = np.arange(len(design)) if isinstance(chosen, slice) else chosen
    weights = np.append(parameters[p:] * design.cell_values, 0.0)
    total = np.zeros(design.width + 1, dtype=np.int64)
    _exact_kernel()(
        rows,
        design.dense,
        design.codes,
        design.norms,
        targets,
        parameters[:p],
        weights,
        limit,
        table,
        steps,
        total[:p],
        total[p:],
    )
    return total[:-1]


@cache
def _kernel() -> Callable[..., None]:
    return _compile(_add_clipped_gradients)


@cache
def _exact_kernel() -> Callable[..., None]:
    return _compile(_add_rounded_gradients)


def _compile(loops: Callable[..., None]) -> Callable[..., None]:
    from numba import njit

    # Without fastmath: operations are neither fused nor reordered.
    compiled: Callable[..., None] = njit(cache=True, nogil=True, error_model="numpy")(loops)
    return compiled


def _add_clipped_gradients(
    rows: Any,
    dense: Any,
    codes: Any,
    norms: Any,
    targets: Any,
    weights: Any,
    table: Any,
    limit: float,
    dense_sum: Any,
    cell_sum: Any,
) -> None:
    """Plain loops, for the compiler; ``table`` and ``cell_sum`` end with the place of no cell.

    Three loops instead of one, so that the compiler can vectorise the middle one.
    """
    values = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        score = 0.0
        for j in range(dense.shape[1]):
            score += dense[rows[i], j] * weights[j]
        for j in range(codes.shape[1]):
            score += table[codes[rows[i], j]]
        values[i] = score
    for i in range(rows.shape[0]):
        values[i] = 1 / (1 + math.exp(-values[i]))
    for i in range(rows.shape[0]):
        row = rows[i]
        coefficient = values[i] - targets[row]
        norm = abs(coefficient) * norms[row]
        if not math.isfinite(norm):
            continue
        if norm > limit:
            coefficient *= limit / norm
        for j in range(dense.shape[1]):
            dense_sum[j] += coefficient * dense[row, j]
        for j in range(codes.shape[1]):
            cell_sum[codes[row, j]] += coefficient


def _add_rounded_gradients(
    rows: Any,
    dense: Any,
    codes: Any,
    norms: Any,
    targets: Any,
    weights: Any,
    cell_weights: Any,
    limit: float,
    table: Any,
    steps: Any,
    dense_sum: Any,
    cell_sum: Any,
) -> None:
    """Plain loops with the operations of the plain path, in their order."""
    values, rises, reach, per_unit = table
    cell_steps, dense_steps = steps
    for i in range(rows.shape[0]):
        row = rows[i]
        score, cells = 0.0, 0.0
        for j in range(dense.shape[1]):
            score += weights[j] * dense[row, j]
        for j in range(codes.shape[1]):
            cells += cell_weights[codes[row, j]]
        score += cells
        place = (min(max(score, -reach), reach) + reach) * per_unit
        below = int(place)
        coefficient = (values[below] + (place - below) * rises[below]) - targets[row]
        norm = abs(coefficient) * norms[row]
        if norm > limit:
            coefficient *= limit / norm
        for j in range(dense.shape[1]):
            dense_sum[j] += int(coefficient * dense[row, j] * dense_steps)
        whole = int(coefficient * cell_steps)
        for j in range(codes.shape[1]):
            cell_sum[codes[row, j]] += whole
