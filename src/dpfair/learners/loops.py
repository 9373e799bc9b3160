"""Plain loops for the compiler: the operations of the plain paths, in their order.

Rows are ``rows[first:last]``, or ``first, ..., last - 1`` if ``rows`` is empty. Their scores, their
coefficients and their sums are made in separate loops over a few hundred rows at a time, so that
the processor does arithmetic for several rows at once and nothing leaves its fastest cache.
Unsigned positions spare a test for negative ones; nothing else is tested, so codes must be valid
and scores finite.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["add_clipped", "add_leaves", "add_members", "add_rounded", "fill_table"]

_BLOCK, _LONG = 256, 32


def fill_table(members: Any, weights: Any, values: Any, terms: int, table: Any) -> None:
    """The weight of every place: what :meth:`dpfair.learners.look_ups.LookUps.table` computes."""
    cells = weights.shape[0]
    placed = np.empty(cells + 1)
    largest = 0.0
    for i in range(cells):
        placed[i] = weights[i] * values[i]
        size = abs(placed[i])
        if math.isfinite(size) and size > largest:
            largest = size
    _, exponent = math.frexp(largest)
    bits = 0
    while terms >> bits:
        bits += 1
    unit = math.ldexp(1.0, max(exponent + bits - 53, -900))
    for i in range(cells):
        placed[i] = np.rint(placed[i] / unit) * unit
    placed[cells] = 0.0
    for i in range(members.shape[0]):
        total = 0.0
        for k in range(members.shape[1]):
            total += placed[members[i, k]]
        table[i] = total


def add_members(members: Any, place_sum: Any, cell_sum: Any) -> None:
    """The sum of every cell, from those of the places."""
    for i in range(members.shape[0]):
        for k in range(members.shape[1]):
            cell_sum[members[i, k]] += place_sum[i]


def add_rounded(
    rows: Any,
    first: int,
    last: int,
    dense: Any,
    codes: Any,
    starts: Any,
    norms: Any,
    targets: Any,
    weights: Any,
    table: Any,
    limit: float,
    logistic: Any,
    steps: Any,
    dense_sum: Any,
    place_sum: Any,
) -> None:
    """Add clipped gradients in steps of a grid; see :mod:`dpfair.learners.exact`.

    ``logistic`` holds the table of that function, its reach and its points per unit; ``steps`` are
    how many make up one, for the coefficients of cells and for dense numbers.
    """
    points, reach, per_unit = logistic
    cell_steps, dense_steps = steps
    places, wholes = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.int64)
    values, labels, lengths = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    width, joints = dense.shape[1], codes.shape[1]
    for start in range(first, last, _BLOCK):
        size = min(_BLOCK, last - start)
        for i in range(size):
            row = np.uint64(rows[start + i] if rows.shape[0] else start + i)
            score, cells = 0.0, 0.0
            for j in range(width):
                score += weights[j] * dense[row, j]
            for j in range(joints):
                cells += table[starts[j] + codes[row, j]]
            places[i], values[i] = row, score + cells
            labels[i], lengths[i] = targets[row], norms[row]
        for i in range(size):
            place = (min(max(values[i], -reach), reach) + reach) * per_unit
            wholes[i] = np.int64(place)
            values[i] = place - wholes[i]
        for i in range(size):
            point = np.uint64(wholes[i])
            values[i] = points[point, 0] + values[i] * points[point, 1]
        for i in range(size):
            coefficient = values[i] - labels[i]
            coefficient *= limit / max(abs(coefficient) * lengths[i], limit)
            values[i], wholes[i] = coefficient, np.int64(coefficient * cell_steps)
        for i in range(size):
            row = places[i]
            for j in range(width):
                dense_sum[j] += np.int64(values[i] * dense[row, j] * dense_steps)
            for j in range(joints):
                place_sum[starts[j] + codes[row, j]] += wholes[i]


def add_clipped(
    rows: Any,
    first: int,
    last: int,
    dense: Any,
    codes: Any,
    starts: Any,
    norms: Any,
    targets: Any,
    weights: Any,
    table: Any,
    limit: float,
    logistic: Any,
    dense_sum: Any,
    place_sum: Any,
) -> None:
    """Add clipped gradients in float64."""
    points, reach, per_unit = logistic
    places, values = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK)
    labels, lengths = np.empty(_BLOCK), np.empty(_BLOCK)
    width, joints = dense.shape[1], codes.shape[1]
    for start in range(first, last, _BLOCK):
        size = min(_BLOCK, last - start)
        for i in range(size):
            row = np.uint64(rows[start + i] if rows.shape[0] else start + i)
            score = 0.0
            for j in range(width):
                score += weights[j] * dense[row, j]
            for j in range(joints):
                score += table[starts[j] + codes[row, j]]
            places[i], values[i] = row, score
            labels[i], lengths[i] = targets[row], norms[row]
        for i in range(size):
            place = (min(max(values[i], -reach), reach) + reach) * per_unit
            below = np.int64(place)
            point = np.uint64(below)
            values[i] = points[point, 0] + (place - below) * points[point, 1]
        for i in range(size):
            coefficient = values[i] - labels[i]
            values[i] = coefficient * (limit / max(abs(coefficient) * lengths[i], limit))
        # Of long rows four at a time: the sums are read and written once for all of them.
        together = size // 4 * 4 if width >= _LONG else 0
        for i in range(0, together, 4):
            a, b, c, d = places[i], places[i + 1], places[i + 2], places[i + 3]
            for j in range(width):
                first_two = values[i] * dense[a, j] + values[i + 1] * dense[b, j]
                last_two = values[i + 2] * dense[c, j] + values[i + 3] * dense[d, j]
                dense_sum[j] += first_two + last_two
        for i in range(size):
            row = places[i]
            if i >= together:
                for j in range(width):
                    dense_sum[j] += values[i] * dense[row, j]
            for j in range(joints):
                place_sum[starts[j] + codes[row, j]] += values[i]


def add_leaves(
    first: int,
    last: int,
    leaf: Any,
    labels: Any,
    odds: Any,
    clip: float,
    scale: float,
    unit: float,
    logistic: Any,
    sums: Any,
) -> None:
    """Add residuals and Hessians by leaf; see :mod:`dpfair.learners.leaf_sums`."""
    points, reach, per_unit = logistic
    chances = np.empty(_BLOCK)
    residuals, hessians = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for start in range(first, last, _BLOCK):
        size = min(_BLOCK, last - start)
        for i in range(size):
            place = (min(max(odds[start + i], -reach), reach) + reach) * per_unit
            below = np.int64(place)
            point = np.uint64(below)
            chances[i] = points[point, 0] + (place - below) * points[point, 1]
        for i in range(size):
            residual = min(max(labels[start + i] - chances[i], -clip), clip)
            residuals[i] = np.int64(residual / unit)
            hessians[i] = np.int64(scale * chances[i] * (1 - chances[i]) / unit)
        for i in range(size):
            where = np.uint64(leaf[start + i])
            sums[0, where] += residuals[i]
            sums[1, where] += hessians[i]
