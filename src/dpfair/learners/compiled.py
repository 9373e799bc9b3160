"""The most common step in compiled loops: logistic loss, flat clipping, no queries.

They are used with numba (the ``fast`` extra) and compute what
:func:`dpfair.learners.descent.clipped_sum` computes, in float64 and without intermediate arrays;
or, in integers, what :mod:`dpfair.learners.exact` computes, to the last bit. Integer sums over many
rows are divided among threads: they do not depend on the division.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.threads import may_start_threads
from dpfair.jit import Compiled
from dpfair.learners import loops
from dpfair.learners.design import LARGEST, Design
from dpfair.learners.logistic_table import logistic_table
from dpfair.learners.prefetch import teach_prefetch

__all__ = ["ClippedSums", "exact_logistic_sum", "in_threads", "loop"]

# With fewer rows per thread, starting it takes longer than what it saves.
_ROWS_PER_THREAD = 1 << 16

# Numbers that a processor multiplies at once: rows are padded, so that no number is left over.
_TOGETHER = 8

_ALL_ROWS = np.empty(0, dtype=np.int64)


class ClippedSums:
    """Sums of clipped gradients of batches, for the steps of one descent.

    What a step reads of a row is first copied to one place: the rows of a batch are scattered in
    memory, and each place where they are costs time.

    Attributes
    ----------
    rows
        The numbers, the norm, the label and the places of every row.
    """

    def __init__(self, design: Design, targets: NDArray[Any], limit: float) -> None:
        (rows, p), joints = design.dense.shape, design.codes.shape[1]
        padded = -(-p // _TOGETHER) * _TOGETHER
        self.rows, self._width = _rows_of(padded + 2 + joints, rows), design.width
        self.rows[:, :p] = design.dense
        self.rows[:, padded], self.rows[:, padded + 1] = design.norms, targets
        places = self.rows.view(np.uint32)[:, padded + 2 : padded + 2 + joints]
        np.add(design.codes, design.look_ups.starts[:-1], out=places, casting="unsafe")
        of_cells = (design.look_ups.members, design.cell_values)
        self._same = (self.rows, joints, padded, LARGEST, *of_cells, limit, logistic_table())
        self._sum = loop("sum_clipped")

    def __call__(
        self, chosen: NDArray[np.int64] | slice, parameters: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The sum of the chosen rows' gradients, each scaled down to the norm ``limit``."""
        total = np.empty(self._width)
        batch = self._all if isinstance(chosen, slice) else chosen
        self._sum(batch, parameters, *self._same, total)
        return total

    @cached_property
    def _all(self) -> NDArray[np.int64]:
        return np.arange(len(self.rows))


def _rows_of(words: int, rows: int) -> NDArray[np.float32]:
    """Rows of so many words, of which the fewest possible cross the end of a cache line."""
    line = loops.LINE // 4
    length = next((size for size in (2, 4, 8) if words <= size), -(-words // line) * line)
    room = np.zeros(rows * length + line, np.float32)
    first = -room.ctypes.data % loops.LINE // 4
    return room[first : first + rows * length].reshape(rows, length)


def exact_logistic_sum(
    design: Design,
    chosen: NDArray[np.int64] | slice,
    targets: NDArray[Any],
    parameters: NDArray[np.float64],
    limit: float,
    steps: tuple[float, float],
) -> NDArray[np.int64]:
    """The same in steps of a grid; see :func:`dpfair.learners.exact.logistic_sum`.

    ``steps`` are how many make up one, for the coefficients of cells and for dense numbers.
    """
    rows, count = _rows(design, chosen)
    arrays = _arrays(design, targets, parameters)

    def part(first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        sums = _zeros(design, np.int64)
        loop("add_rounded")(rows, first, last, *arrays, limit, logistic_table(), steps, *sums)
        return sums

    dense, places = zip(*in_threads(part, count), strict=True)
    return _total(design, np.sum(dense, axis=0), np.sum(places, axis=0))


def in_threads(part: Callable[[int, int], Any], rows: int) -> list[Any]:
    """What ``part(first, last)`` gives for consecutive ranges of rows, one per thread."""
    threads = max(1, min(_threads(), rows // _ROWS_PER_THREAD))
    if threads == 1:
        return [part(0, rows)]
    ends = [rows * i // threads for i in range(threads + 1)]
    # New threads each time: those of a pool would be missing after a fork.
    with ThreadPoolExecutor(threads) as pool:
        return [*pool.map(part, ends[:-1], ends[1:])]


def _threads() -> int:
    """What NUMBA_NUM_THREADS says: the number of processors, by default."""
    if not may_start_threads():
        return 1
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


@cache
def loop(name: str) -> Compiled:
    """One of :mod:`dpfair.learners.loops`, compiled."""
    teach_prefetch()
    # Integers are made of operations that are neither fused nor reordered. Sums in float64 are
    # rounded anyway, and may be made in an order that suits the processor.
    reordered = {"reassoc", "contract"} if name == "sum_clipped" else False
    return Compiled(getattr(loops, name), reordered)


def _rows(design: Design, chosen: NDArray[np.int64] | slice) -> tuple[NDArray[np.int64], int]:
    return (_ALL_ROWS, len(design)) if isinstance(chosen, slice) else (chosen, len(chosen))


def _arrays(
    design: Design, targets: NDArray[Any], parameters: NDArray[np.float64]
) -> tuple[NDArray[Any], ...]:
    """The rows, and what is added up to their scores."""
    p, look_ups = design.dense.shape[1], design.look_ups
    table, terms = np.empty(look_ups.places), len(look_ups.columns)
    loop("fill_table")(look_ups.members, parameters[p:], design.cell_values, terms, table)
    starts = look_ups.starts.view(np.uint64)
    rows = (design.dense, design.codes, starts, design.norms, targets)
    return (*rows, parameters[:p], table)


def _zeros(design: Design, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sums of the dense numbers and of the places."""
    return np.zeros(design.dense.shape[1], dtype), np.zeros(design.look_ups.places, dtype)


def _total(design: Design, dense: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    total, p = np.zeros(design.width + 1, places.dtype), len(dense)
    total[:p] = dense
    loop("add_members")(design.look_ups.members, places, total[p:])
    return total[:-1]
