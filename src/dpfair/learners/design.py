"""The design matrix of a linear score, stored as a few numbers and codes per row.

A row is ``[dense numbers | one-hot cells]``. The one-hot cells are kept as integer codes, so that
a score is a short sum of looked-up weights and a gradient is one weighted count: no row is ever
expanded, and the work is done a few thousand rows at a time. Small columns share a code
(:mod:`dpfair.learners.look_ups`).

Scores and norms are functions of one row, to the last bit, whichever rows are beside it: dense
products are added in their order, and the weights of the cells exactly. Counts of scores depend on
this, because no record may move another one to the next bin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpfair.errors import InputError
from dpfair.learners.look_ups import Column, LookUps

__all__ = ["CHUNK", "LARGEST", "Design", "bounded", "chunks"]

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

CHUNK = 1 << 15
"""The rows at a time of a large table: arrays of so many numbers stay in the caches, and calls of
NumPy for each of them take little of the time."""

# One look-up for all columns is faster than one for each, up to so many codes.
_FEW = 1 << 13

# Larger numbers carry no information, and products and sums of these are finite in float32.
# Released parameters beyond this are a run that failed; scores must stay finite.
LARGEST = 1e15

# Sums of so many numbers of at most 2^30 fit in 64 bits.
_MOST_ROWS = 1 << 32


def _empty(name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    return np.empty(shape, dtype)


@dataclass(frozen=True)
class Design:
    """Rows of a linear model.

    Parameters
    ----------
    dense
        Numbers, one column per parameter.
    codes
        The joint codes of the cells, [row, joint column].
    look_ups
        Which cells a joint code means.
    cell_values
        The value that each cell has when it is active.
    norms
        The L2 norm of every row, never below the true one.

    Examples
    --------
    >>> rows = Design.build([[0.5], [2.0]], codes=[[0, 2], [1, 3]], cells=3)
    >>> rows.matrix().tolist()
    [[0.5, 1.0, 0.0, 1.0], [2.0, 0.0, 1.0, 0.0]]
    >>> rows.scores(np.array([2, 0.5, 0, 1], dtype=np.float32)).tolist()
    [2.5, 4.0]
    >>> rows.weighted_sum(np.array([1, 10], dtype=np.float32)).tolist()
    [20.5, 1.0, 10.0, 1.0]
    """

    dense: Float32
    codes: NDArray[np.unsignedinteger[Any]]
    look_ups: LookUps
    cell_values: Float64
    norms: Float32

    @classmethod
    def build(cls, dense: Any, codes: Any, cells: int, cell_values: Any = 1.0) -> Design:
        """Rows by the positions of their active cells; ``cells`` itself means no cell.

        Total: numbers that are missing or too large for float32 become 0 or very large.
        """
        dense32, codes = _finite(np.asarray(dense, np.float64)), np.asarray(codes)
        _check_rows(len(codes))
        values = np.broadcast_to(np.asarray(cell_values, np.float64), cells).copy()
        columns = [Column(0, cells, may_lack=True)] * codes.shape[1]
        look_ups = LookUps.apart(columns, cells)
        compact = look_ups.join([*codes.T], len(codes))
        squares, of_cell = _squares(dense32), np.append(np.square(values), 0.0)
        for column in compact.T:
            squares += of_cell[column]
        return cls(dense32, compact, look_ups, values, _norms(squares))

    @classmethod
    def of_parts(
        cls,
        rows: int,
        columns: Sequence[Column],
        part: Callable[[slice], tuple[Any, Sequence[NDArray[Any]]]],
        *,
        dense: int = 0,
        at_once: int | None = None,
        empty: Callable[[str, tuple[int, ...], DTypeLike], NDArray[Any]] = _empty,
    ) -> Design:
        """Rows by the codes of their columns, made some rows at a time.

        Parameters
        ----------
        columns
            The columns, whose cells are numbered without a gap.
        part
            Gives the dense numbers and the codes of all columns, for a slice of the rows.
        dense
            How many dense numbers a row has.
        at_once
            How many rows a step is going to read, all of them by default: it matters for speed
            alone.
        empty
            Makes an array of a name, a shape and a type.
        """
        _check_rows(rows)
        cells = sum(column.size for column in columns)
        look_ups = LookUps.joined(columns, cells, rows if at_once is None else at_once)
        numbers = empty("dense", (rows, dense), np.float32)
        codes = empty("codes", (rows, len(look_ups.joints)), look_ups.dtype)
        norms = empty("norms", (rows,), np.float32)
        always = sum(column.value**2 for column in columns if not column.may_lack)
        for chunk in chunks(rows):
            found, of_columns = part(chunk)
            numbers[chunk] = _finite(found)
            codes[chunk] = look_ups.join(of_columns, len(codes[chunk]))
            squares = _squares(numbers[chunk]) + always
            for column, code in zip(columns, of_columns, strict=True):
                if column.may_lack:
                    squares += (code != column.size) * column.value**2
            norms[chunk] = _norms(squares)
        values = np.repeat([float(c.value) for c in columns], [c.size for c in columns])
        return cls(numbers, codes, look_ups, values, norms)

    def __len__(self) -> int:
        return len(self.norms)

    @property
    def cells(self) -> int:
        """The number of one-hot parameters."""
        return self.look_ups.cells

    @property
    def width(self) -> int:
        """The number of parameters."""
        return int(self.dense.shape[1]) + self.cells

    def take(self, rows: NDArray[np.int64] | slice) -> Design:
        """The chosen rows."""
        if isinstance(rows, slice):
            dense, codes, norms = self.dense[rows], self.codes[rows], self.norms[rows]
        else:
            dense, norms = self.dense.take(rows, axis=0), self.norms.take(rows)
            codes = self.codes.take(rows, axis=0)
        return Design(dense, codes, self.look_ups, self.cell_values, norms)

    def scores(self, parameters: Float32) -> Float32:
        """One score per row."""
        return self.wide_scores(parameters.astype(np.float64)).astype(np.float32)

    def wide_scores(self, parameters: Float64) -> Float64:
        """One score per row: the dense products in order, plus the exact sum of the cells."""
        return self.table_scores(parameters[: self.dense.shape[1]], self.cell_table(parameters))

    def table_scores(self, weights: Float64, table: Float64) -> Float64:
        """The same by the weights of the dense numbers and a :meth:`cell_table`."""
        result = np.zeros(len(self))
        for chunk in chunks(len(self)):
            part = result[chunk]
            for weight, column in zip(weights, self.dense[chunk].T, strict=True):
                part += weight * column
            part += self._cell_scores(chunk, table)
        return result

    def _cell_scores(self, chunk: slice, table: Float64) -> Float64:
        if self._few(chunk):
            some: Float64 = table.take(self._places(chunk)).sum(axis=0)
            return some
        result = np.zeros(len(self.norms[chunk]))
        for places, codes in self._look_ups(chunk):
            result += table[places].take(codes)
        return result

    def cell_table(self, parameters: Float64) -> Float64:
        """What every place of the look-ups adds to a score."""
        return self.look_ups.table(parameters[self.dense.shape[1] :] * self.cell_values)

    def weighted_sum(self, weights: Float32) -> Float64:
        """The sum of the rows, each times its weight.

        Products are exact and summed in float64, so that rounding is far below the noise.
        """
        dense = np.zeros(self.dense.shape[1])
        for chunk in chunks(len(self)):
            dense += weights[chunk].astype(np.float64) @ self.dense[chunk]
        return np.concatenate([dense, self.cell_values * self.cell_sums(weights)])

    def cell_sums(self, weights: Float32 | Float64) -> Float64:
        """For every cell, the sum of the weights of the rows that have it."""
        return np.asarray(self.look_ups.cell_sums(self.place_sums(weights)), dtype=np.float64)

    def place_sums(self, weights: Float32 | Float64) -> Float64:
        """For every place of the look-ups, the sum of the weights of the rows there."""
        size = self.look_ups.places
        if self._few(slice(None)):
            places, joints = self._places(slice(None)), self.codes.shape[1]
            return np.asarray(
                np.bincount(places.ravel(), np.tile(weights, joints), size), dtype=np.float64
            )
        sums = np.zeros(size)
        for chunk in chunks(len(self)):
            for of_column, codes in self._look_ups(chunk):
                part = sums[of_column]
                part += np.bincount(codes, weights[chunk], len(part))
        return sums

    def matrix(self) -> Float32:
        """The rows written out, for looking at them."""
        onehot = np.zeros((len(self), self.cells + 1), dtype=np.float32)
        values = np.append(self.cell_values, 0.0).astype(np.float32)
        for places, codes in self._look_ups(slice(None)):
            cells = self.look_ups.members[places][codes]
            np.put_along_axis(onehot, cells, values[cells], axis=1)
        return np.hstack([self.dense, onehot[:, : self.cells]])

    def _few(self, chunk: slice) -> bool:
        """Whether one look-up for all columns is faster than one for each: that of few rows."""
        return self.codes[chunk].size <= _FEW

    def _places(self, chunk: slice) -> NDArray[np.intp]:
        """The places of some rows in the tables, [joint column, row]."""
        places = self.codes[chunk].T.astype(np.intp, order="C")
        places += self.look_ups.starts[:-1, None]
        return places

    def _look_ups(self, chunk: slice) -> Iterator[tuple[slice, NDArray[np.intp]]]:
        """The places of every joint column, and which of these some rows have."""
        ends = self.look_ups.starts.tolist()
        for places, codes in zip(pairwise(ends), self.codes[chunk].T, strict=True):
            yield slice(*places), codes.astype(np.intp)


def bounded(parameters: Float64) -> Float64:
    """Parameters of finite scores: NaN becomes a number, too."""
    return np.fmin(np.fmax(parameters, -LARGEST), LARGEST)


def chunks(rows: int) -> Iterator[slice]:
    """Slices of at most :data:`CHUNK` rows, together all rows."""
    return (slice(i, min(i + CHUNK, rows)) for i in range(0, rows, CHUNK))


def _check_rows(rows: int) -> None:
    if rows > _MOST_ROWS:
        raise InputError(f"Expected at most {_MOST_ROWS} rows, got {rows}.")


def _finite(numbers: Float64) -> Float32:
    finite = np.clip(np.nan_to_num(numbers), -LARGEST, LARGEST)
    return np.ascontiguousarray(finite, np.float32)


def _squares(dense: Float32) -> Float64:
    """The sum of the squares of every row, in the order of its numbers."""
    squares = np.zeros(len(dense))
    for column in dense.T:
        squares += np.square(column, dtype=np.float64)
    return squares


def _norms(squares: Float64) -> Float32:
    """Square roots, rounded up."""
    return np.nextafter(np.sqrt(squares).astype(np.float32), np.float32(np.inf))
