"""Bare loops over a design's rows: what no gradient step can avoid, and nothing else.

Of the rows of batches, one number of every cache line is read: the time in which the memory sends
them. Three other loops do the arithmetic: one looks up the weights of a row's cells and multiplies
its dense numbers, one looks up the logistic function, and one adds to the sums of the cells and of
the dense numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numba import njit

from benchmarks.bench.contenders.descent_steps import (
    STEPS,
    adult_half,
    batches,
    dense_half,
    fresh_batches,
)
from benchmarks.bench.contenders.full_batch import binned_rows
from benchmarks.bench.inputs import SEED, Inputs
from benchmarks.bench.task import Call, repeated
from dpfair.learners.design import Design
from dpfair.learners.logistic_table import logistic_table
from dpfair.learners.loops import PER_UNIT, REACH

# The numbers in a cache line.
LINE = 16


def full_batch(inputs: Inputs) -> Call:
    """All rows, once."""
    rows, _, theta = binned_rows(inputs)
    return loops(rows, theta, [np.arange(len(rows))], inputs.rows)


def look_ups(inputs: Inputs) -> Call:
    """The rows of Poisson batches, which were sampled beforehand."""
    rows, _, _ = adult_half()
    theta = np.random.default_rng(SEED).normal(size=rows.width)
    return loops(rows, theta, batches(len(rows)), STEPS)


def compact_memory(inputs: Inputs) -> Call:
    """The cache lines of compact rows, each in one place."""
    rows, _, _ = adult_half()
    return gather(np.hstack([rows.dense, rows.codes]))


def dense_memory(inputs: Inputs) -> Call:
    """The cache lines of dense rows."""
    return gather(dense_half()[0].dense)


def dense_look_ups(inputs: Inputs) -> Call:
    """The arithmetic of dense rows."""
    rows, _, _ = dense_half()
    theta = 0.1 * np.random.default_rng(SEED).normal(size=rows.width)
    return loops(rows, theta, batches(len(rows)), STEPS)


def dense_batches_and_memory(inputs: Inputs) -> Call:
    """Batches that are sampled for every step, the cache lines of their rows, and the function."""
    rows, numbers = dense_half()[0], lines(dense_half()[0].dense)
    theta = 0.1 * np.random.default_rng(SEED).normal(size=rows.width)
    places, kept = places_of(rows, theta), np.empty(256)

    def run(batches: Iterable[Any]) -> None:
        for batch in batches:
            gathered(batch, numbers)
            function(batch, places, logistic_table(), kept)

    run(batches(len(rows))[:1])
    return repeated(lambda: run(fresh_batches(len(rows))), STEPS)


def gather(numbers: Any) -> Call:
    """A number of every cache line of the rows of Poisson batches."""
    rows, chosen = lines(numbers), batches(len(numbers))

    def run(batches: Sequence[Any]) -> None:
        for batch in batches:
            gathered(batch, rows)

    run(chosen[:1])
    return repeated(lambda: run(chosen), STEPS)


def lines(numbers: Any) -> Any:
    """A copy in which every row starts a cache line and fills the last one."""
    count, width = numbers.shape
    padded = -(-width // LINE) * LINE
    room = np.zeros(count * padded + LINE, dtype=np.float32)
    first = -room.ctypes.data // 4 % LINE
    rows = room[first : first + count * padded].reshape(count, padded)
    rows[:, :width] = numbers
    return rows


def loops(rows: Design, theta: Any, batches: Sequence[Any], units: int) -> Call:
    """The three loops over every batch."""
    table, width = rows.cell_table(theta), rows.dense.shape[1]
    starts, weights = rows.look_ups.starts.astype(np.uint64), theta[:width]
    sums, dense_sums, kept = np.zeros(len(table)), np.zeros(width), np.empty(256)
    points, places = logistic_table(), places_of(rows, theta)

    def run(batches: Sequence[Any]) -> None:
        for chosen in batches:
            looked_up(chosen, rows.codes, starts, table, rows.dense, weights, kept)
            function(chosen, places, points, kept)
            added(chosen, rows.codes, starts, sums, rows.dense, dense_sums)

    run([batches[0][:10]])
    return repeated(lambda: run(batches), units)


def places_of(rows: Design, theta: Any) -> Any:
    """Where the rows' scores are in the table of the logistic function."""
    scores = np.clip(rows.wide_scores(theta), -REACH, REACH)
    return ((scores + REACH) * PER_UNIT).astype(np.uint32)


@njit(nogil=True, error_model="numpy")
def gathered(chosen: Any, rows: Any) -> Any:
    """The sum of a number of every line."""
    total = np.float32(0)
    for i in range(len(chosen)):
        row = np.uint64(chosen[i])
        for j in range(0, rows.shape[1], LINE):
            total += rows[row, j]
    return total


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def looked_up(
    chosen: Any, codes: Any, starts: Any, table: Any, dense: Any, weights: Any, kept: Any
) -> None:
    """Scores, of which the last ones are kept."""
    for i in range(len(chosen)):
        row, total = chosen[i], 0.0
        for j in range(codes.shape[1]):
            total += table[starts[j] + codes[row, j]]
        for j in range(dense.shape[1]):
            total += weights[j] * dense[row, j]
        kept[i & 255] = total


@njit(nogil=True, error_model="numpy")
def function(chosen: Any, places: Any, points: Any, kept: Any) -> None:
    """Values between two points of the table."""
    for i in range(len(chosen)):
        place = places[chosen[i]]
        kept[i & 255] = points[place, 0] + points[place, 1]


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def added(chosen: Any, codes: Any, starts: Any, sums: Any, dense: Any, dense_sums: Any) -> None:
    """Sums of the cells and of the dense numbers."""
    for i in range(len(chosen)):
        row = chosen[i]
        for j in range(codes.shape[1]):
            sums[starts[j] + codes[row, j]] += i
        for j in range(dense.shape[1]):
            dense_sums[j] += i * dense[row, j]
