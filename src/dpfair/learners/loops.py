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

__all__ = [
    "LINE",
    "PER_UNIT",
    "REACH",
    "add_leaves",
    "add_members",
    "add_rounded",
    "fill_table",
    "sum_clipped",
]

_BLOCK, _SMALL = 256, 32

LINE = 64
"""The bytes that a processor reads from memory at once."""

# The table of the logistic function: where it ends, and its points per unit. They are stated here
# because numba keeps compiled loops until this file changes.
REACH, PER_UNIT = 16.0, 256.0

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
    points: Any,
    steps: Any,
    dense_sum: Any,
    place_sum: Any,
) -> None:
    """Add clipped gradients in steps of a grid; see :mod:`dpfair.learners.exact`.

    ``points`` are :func:`dpfair.learners.logistic_table.logistic_table`; ``steps`` are how many
    make up one, for the coefficients of cells and for dense numbers.
    """
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
            place = (min(max(values[i], -REACH), REACH) + REACH) * PER_UNIT
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
    batch: Any,
    parameters: Any,
    rows: Any,
    joints: int,
    padded: int,
    largest: float,
    members: Any,
    values: Any,
    limit: float,
    points: Any,
    total: Any,
) -> None:
    """Add up clipped gradients in float64; see :class:`dpfair.learners.compiled.ClippedSums`.

    A row has its numbers, filled up by zeros to ``padded``, its norm, its label and the bits of its
    places, one for every joint column. ``parameters`` are bounded by ``largest`` first. Four rows
    at a time share what is read for all of them. While the processor works on a block, it asks for
    the rows of the next one.
    """
    count, cells, joined = batch.shape[0], values.shape[0], members.shape[0]
    width = total.shape[0] - cells
    words, norm = np.uint64(rows.shape[1]), np.uint64(padded)
    label, codes = norm + np.uint64(1), norm + np.uint64(2)
    number, place = rows.reshape(rows.size), rows.view(np.uint32).reshape(rows.size)
    # Scores in float32 are as precise as the rows, and need no conversion of these.
    weights, none = np.zeros(padded, np.float32), np.float32(0)
    sums, of_cell = np.zeros(padded), np.zeros(cells + 1)
    most = largest * largest  # scores must stay finite
    for j in range(width + cells):
        weight = parameters[j]
        weight = weight if weight > -largest else -largest  # NaN, too
        weight = weight if weight < largest else largest
        if j < width:
            weights[j] = weight
        else:
            of_cell[j - width] = min(max(weight * values[j - width], -most), most)
    table = np.zeros(joined, np.float32)
    for k in range(members.shape[1]):
        for i in range(joined):
            table[i] += of_cell[np.uint64(members[i, k])]
    # Additions to one number wait for each other: neighbours add to different sums, if small.
    apart = np.uint64(joined if joined <= _FEW_PLACES else 0)
    place_sum = np.zeros(joined + 3 * apart)
    room = np.empty((5, _SMALL))
    scores, labels, lengths = room[0], room[1], room[2]
    first, wholes = room[3].view(np.uint64), room[4].view(np.int64)
    length = 4 * (padded + 2 + joints)
    half = length // (2 * LINE) * LINE
    for start in range(0, count, _SMALL):
        size = min(_SMALL, count - start)
        fours = (size + 3) // 4 * 4
        for i in range(size):
            first[i] = words * np.uint64(batch[start + i])
        for i in range(size, fours):  # some row, with a coefficient of zero
            first[i] = first[0]
        for i in range(0, fours, 4):
            a, b, c, d = first[i], first[i + 1], first[i + 2], first[i + 3]
            if start + i + _SMALL + 3 < count:
                later = start + i + _SMALL
                for byte in range(0, half, LINE):
                    prefetch(rows, batch[later], byte)
                    prefetch(rows, batch[later + 1], byte)
                    prefetch(rows, batch[later + 2], byte)
                    prefetch(rows, batch[later + 3], byte)
            score_a, score_b, score_c, score_d = none, none, none, none
            for j in range(padded):
                at = np.uint64(j)
                score_a += weights[j] * number[a + at]
                score_b += weights[j] * number[b + at]
                score_c += weights[j] * number[c + at]
                score_d += weights[j] * number[d + at]
            for j in range(joints):
                at = codes + np.uint64(j)
                score_a += table[place[a + at]]
                score_b += table[place[b + at]]
                score_c += table[place[c + at]]
                score_d += table[place[d + at]]
            scores[i], scores[i + 1] = score_a, score_b
            scores[i + 2], scores[i + 3] = score_c, score_d
        for i in range(fours):
            lengths[i], labels[i] = number[first[i] + norm], number[first[i] + label]
        for i in range(fours):
            point = (min(max(scores[i], -REACH), REACH) + REACH) * PER_UNIT
            wholes[i] = np.int64(point)
            scores[i] = point - wholes[i]
        for i in range(fours):
            whole = np.uint64(wholes[i])
            scores[i] = points[whole, 0] + scores[i] * points[whole, 1]
        for i in range(fours):
            coefficient = scores[i] - labels[i]
            scores[i] = coefficient * (limit / max(abs(coefficient) * lengths[i], limit))
        for i in range(size, fours):
            scores[i] = 0.0
        for i in range(0, fours, 4):
            a, b, c, d = first[i], first[i + 1], first[i + 2], first[i + 3]
            of_a, of_b, of_c, of_d = scores[i], scores[i + 1], scores[i + 2], scores[i + 3]
            if start + i + _SMALL + 3 < count:
                later = start + i + _SMALL
                for byte in range(half, length, LINE):
                    prefetch(rows, batch[later], byte)
                    prefetch(rows, batch[later + 1], byte)
                    prefetch(rows, batch[later + 2], byte)
                    prefetch(rows, batch[later + 3], byte)
            for j in range(padded):
                at = np.uint64(j)
                first_two = of_a * number[a + at] + of_b * number[b + at]
                sums[j] += first_two + (of_c * number[c + at] + of_d * number[d + at])
            for j in range(joints):
                at = codes + np.uint64(j)
                place_sum[place[a + at]] += of_a
                place_sum[apart + place[b + at]] += of_b
                place_sum[apart + apart + place[c + at]] += of_c
                place_sum[apart + apart + apart + place[d + at]] += of_d
    of_cell[:] = 0.0
    for i in range(joined):
        sum_of_place = place_sum[i]
        if apart:
            sum_of_place += place_sum[i + joined] + place_sum[i + 2 * joined]
            sum_of_place += place_sum[i + 3 * joined]
        for k in range(members.shape[1]):
            of_cell[np.uint64(members[i, k])] += sum_of_place
    for j in range(width):
        total[j] = sums[j]
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
    points: Any,
    sums: Any,
) -> None:
    """Add residuals and Hessians by leaf; see :mod:`dpfair.learners.leaf_sums`."""
    chances = np.empty(_BLOCK)
    residuals, hessians = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for start in range(first, last, _BLOCK):
        size = min(_BLOCK, last - start)
        for i in range(size):
            place = (min(max(odds[start + i], -REACH), REACH) + REACH) * PER_UNIT
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
