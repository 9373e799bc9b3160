"""The design matrix of a linear score, stored as a few numbers and codes per row.

A row is ``[dense numbers | one-hot cells]``. The one-hot cells are kept as integer codes, so that
a score is a short sum of looked-up weights and a gradient is one weighted count: no row is ever
expanded, and the work is done a few thousand rows at a time.

Scores and norms are made by the same operations in the same order for every row, whichever rows
are beside it: they are functions of that row, to the last bit. Counts of scores depend on this,
because no record may move another one to the next bin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpfair.errors import InputError

__all__ = ["Design"]

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

# Up to this many rows, look-ups are faster than sparse matrices.
_SMALL = 1 << 12

# The rows at a time of a large table: memory stays flat.
_CHUNK = 1 << 14

# Larger numbers carry no information, and products and sums of these are finite in float32.
_LARGEST = 1e15


@dataclass(frozen=True)
class Design:
    """Rows of a linear model.

    Parameters
    ----------
    dense
        Numbers, one column per parameter.
    codes
        Positions of the active cells; ``cells`` itself means no cell.
    cells
        The number of one-hot parameters.
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
    codes: NDArray[np.integer[Any]]
    cells: int
    cell_values: NDArray[np.float64]
    norms: Float32

    @classmethod
    def build(cls, dense: Any, codes: Any, cells: int, cell_values: Any = 1.0) -> Design:
        """Compute the norms and store everything compactly.

        Total: numbers that are missing or too large for float32 become 0 or very large.
        """
        finite = np.clip(np.nan_to_num(np.asarray(dense, np.float64)), -_LARGEST, _LARGEST)
        dense32 = np.ascontiguousarray(finite, np.float32)
        codes = np.asarray(codes)
        if codes.size and not (codes.min() >= 0 and codes.max() <= cells):
            raise InputError(f"Expected codes from 0 to {cells}.")  # sparse products do not check
        compact = np.ascontiguousarray(codes, np.min_scalar_type(cells))
        values = np.broadcast_to(np.asarray(cell_values, np.float64), cells).copy()
        squares, of_cell = np.zeros(len(compact)), np.append(np.square(values), 0.0)
        for column in dense32.T:
            squares += np.square(column, dtype=np.float64)
        for column in compact.T:
            squares += of_cell[column]
        norms = np.nextafter(np.sqrt(squares).astype(np.float32), np.float32(np.inf))
        return cls(dense32, compact, cells, values, norms)

    def __len__(self) -> int:
        return len(self.norms)

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
            # Wide codes, once, because the two look-ups of a step need them.
            codes = self.codes.take(rows, axis=0).astype(np.intp)
        return Design(dense, codes, self.cells, self.cell_values, norms)

    def scores(self, parameters: Float32) -> Float32:
        """One score per row."""
        return self.wide_scores(parameters.astype(np.float64)).astype(np.float32)

    def wide_scores(self, parameters: Float64) -> Float64:
        """One score per row: the dense products in order, plus the sum of the cells in order."""
        p = self.dense.shape[1]
        table = np.append(parameters[p:] * self.cell_values, 0.0)
        result = np.zeros(len(self))
        for weight, column in zip(parameters[:p], self.dense.T, strict=True):
            result += weight * column
        if len(self) <= _SMALL:
            cells = np.zeros(len(self))
            for column in table.take(self.codes.T):
                cells += column
            result += cells
        else:
            # Sparse products add up a row from its first cell to its last, too.
            for chunk in _chunks(len(self)):
                result[chunk] += self._onehot(chunk) @ table
        return result

    def weighted_sum(self, weights: Float32) -> Float64:
        """The sum of the rows, each times its weight.

        Products are exact and summed in float64, so that rounding is far below the noise.
        """
        dense = np.zeros(self.dense.shape[1])
        for chunk in _chunks(len(self)):
            dense += weights[chunk].astype(np.float64) @ self.dense[chunk]
        return np.concatenate([dense, self.cell_values * self.cell_sums(weights)])

    def cell_sums(self, weights: Float32 | Float64) -> Float64:
        """For every cell, the sum of the weights of the rows that have it."""
        sums = np.zeros(self.cells + 1)
        if len(self) <= _SMALL:
            repeated = weights.repeat(self.codes.shape[1])
            sums += np.bincount(self.codes.ravel(), repeated, minlength=self.cells + 1)
        else:
            for chunk in _chunks(len(self)):
                sums += weights[chunk].astype(np.float64) @ self._onehot(chunk)
        return sums[:-1]

    def matrix(self) -> Float32:
        """The rows written out, for looking at them."""
        onehot = np.zeros((len(self), self.cells + 1), dtype=np.float32)
        codes = self.codes.astype(np.int64)
        values = np.append(self.cell_values, 0.0).astype(np.float32)
        np.put_along_axis(onehot, codes, values[codes], axis=1)
        return np.hstack([self.dense, onehot[:, : self.cells]])

    def _onehot(self, chunk: slice) -> sparse.csr_array:
        """The cells of some rows, as a sparse matrix: dearer to set up, cheaper per row."""
        codes = self.codes[chunk].astype(np.int32)
        ones, starts = _ones_and_starts(*codes.shape)
        return sparse.csr_array((ones, codes.ravel(), starts), shape=(len(codes), self.cells + 1))


def _chunks(rows: int) -> Iterator[slice]:
    return (slice(i, i + _CHUNK) for i in range(0, rows, _CHUNK))


@lru_cache(maxsize=2)
def _ones_and_starts(rows: int, columns: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    return np.ones(rows * columns), np.arange(rows + 1, dtype=np.int32) * np.int32(columns)
