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

from dpfair.learners.prefetch import prefetch

__all__ = ["add_leaves", "add_members", "add_rounded", "fill_table", "sum_clipped"]

_BLOCK, _SMALL = 256, 64

# Rows are asked for so many rows ahead, one line of memory at a time.
_AHEAD, _LINE = 16, 64

# Several sums of so many places stay in the fastest cache.
_FEW_PLACES = 1 << 10


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


def sum_clipped(
    rows: Any,
    count: int,
    numbers: Any,
    facts: Any,
    shape: Any,
    parameters: Any,
    largest: float,
    members: Any,
    values: Any,
    limit: float,
    logistic: Any,
    total: Any,
) -> None:
    """Add up clipped gradients in float64; see :class:`dpfair.learners.compiled.ClippedSums`.

    ``numbers`` are rows that start with the dense numbers. Rows of ``facts`` have their norm, their
    label and the bits of their places from a column on. ``shape`` is how many numbers and places a
    row has, and that column. ``parameters`` are bounded by ``largest`` first. Blocks are small, so
    that the second look at their rows finds them in the fastest cache.
    """
    points, reach, per_unit = logistic
    width, joints, column = shape
    cells, joined = values.shape[0], members.shape[0]
    short, codes = np.uint64(facts.shape[1]), np.uint64(column + 2)
    place = facts.view(np.uint32).reshape(facts.size)
    weights = np.empty(width)
    of_cell = np.zeros(cells + 1)
    for j in range(width + cells):
        weight = parameters[j]
        weight = weight if weight > -largest else -largest  # NaN, too
        weight = weight if weight < largest else largest
        if j < width:
            weights[j], total[j] = weight, 0.0
        else:
            of_cell[j - width] = weight * values[j - width]
    table = np.empty(joined)
    for i in range(joined):
        weight = 0.0
        for k in range(members.shape[1]):
            weight += of_cell[np.uint64(members[i, k])]
        table[i] = weight
    # Additions to one number wait for each other: neighbours add to different sums, if small.
    apart = np.uint64(joined if joined <= _FEW_PLACES else 0)
    place_sum = np.zeros(joined + 3 * apart)
    chosen, wholes = np.empty(_SMALL, np.uint64), np.empty(_SMALL, np.int64)
    scores, labels, lengths = np.empty(_SMALL), np.empty(_SMALL), np.empty(_SMALL)
    for start in range(0, count, _SMALL):
        size = min(_SMALL, count - start)
        for i in range(size):
            row = np.uint64(rows[start + i] if rows.shape[0] else start + i)
            if start + i + _AHEAD < rows.shape[0]:
                for byte in range(0, 4 * width, _LINE):
                    prefetch(numbers, rows[start + i + _AHEAD], byte)
            where = row * short + codes
            score = 0.0
            for j in range(width):
                score += weights[j] * numbers[row, j]
            for j in range(joints):
                score += table[place[where + np.uint64(j)]]
            chosen[i], scores[i] = row, score
            lengths[i], labels[i] = facts[row, column], facts[row, column + 1]
        for i in range(size):
            point = (min(max(scores[i], -reach), reach) + reach) * per_unit
            wholes[i] = np.int64(point)
            scores[i] = point - wholes[i]
        for i in range(size):
            whole = np.uint64(wholes[i])
            scores[i] = points[whole, 0] + scores[i] * points[whole, 1]
        for i in range(size):
            coefficient = scores[i] - labels[i]
            scores[i] = coefficient * (limit / max(abs(coefficient) * lengths[i], limit))
        together = size // 4 * 4
        for i in range(0, together, 4):
            a, b, c, d = chosen[i], chosen[i + 1], chosen[i + 2], chosen[i + 3]
            of_a, of_b, of_c, of_d = scores[i], scores[i + 1], scores[i + 2], scores[i + 3]
            for j in range(width):
                first_two = of_a * numbers[a, j] + of_b * numbers[b, j]
                total[j] += first_two + (of_c * numbers[c, j] + of_d * numbers[d, j])
            a, b, c, d = a * short, b * short, c * short, d * short
            for j in range(joints):
                code = codes + np.uint64(j)
                place_sum[place[a + code]] += of_a
                place_sum[apart + place[b + code]] += of_b
                place_sum[apart + apart + place[c + code]] += of_c
                place_sum[apart + apart + apart + place[d + code]] += of_d
        for i in range(together, size):
            for j in range(width):
                total[j] += scores[i] * numbers[chosen[i], j]
            for j in range(joints):
                place_sum[place[chosen[i] * short + codes + np.uint64(j)]] += scores[i]
    of_cell[:] = 0.0
    for i in range(joined):
        if apart:
            first_two = place_sum[i] + place_sum[i + joined]
            place_sum[i] = first_two + place_sum[i + 2 * joined] + place_sum[i + 3 * joined]
        for k in range(members.shape[1]):
            cell = np.uint64(members[i, k])
            if cell < cells:
                of_cell[cell] += place_sum[i]
    for j in range(cells):
        total[width + j] = of_cell[j] * values[j]


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
