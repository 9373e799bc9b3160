r"""Small columns joined to few look-ups, without any change of a sum.

A row has one code per column. Two columns of 10 and 12 codes are one of 120: the weight of a joint
code is the sum of two weights, and a sum over the rows of a joint code is part of the sums of its
two cells. So a row with 17 columns has some six joint codes of at most two bytes each.

Which columns are joined is a matter of speed alone, because all of these sums are exact. Those of
integers are. The weights of cells are first rounded to multiples of a power of two

.. math:: u \ge 2^{-53}\, k M, \qquad M \ge \max_j |w_j|,

for k columns: every sum of some of a row's weights is a multiple of u and at most :math:`2^{53} u`
in absolute value, hence a float64 number, in any order. The rounding is by u / 2 at most, as much
as that of a plain sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Column", "LookUps", "on_grid"]

Codes = NDArray[np.unsignedinteger[Any]]
Float64 = NDArray[np.float64]

# Tables of this many numbers stay in the fast caches of a processor.
_LARGEST_TABLE = 1 << 12

# A step that reads few rows must not spend its time on tables.
_ROWS_PER_PLACE = 8

_MOST_COLUMNS = 4


@dataclass(frozen=True)
class Column:
    """Cells of which a row has at most one.

    Code k below ``size`` means the cell ``start + k``, whose value is ``value``. The code ``size``
    means no cell; there are such rows only if the column ``may_lack``.
    """

    start: int
    size: int
    value: float = 1.0
    may_lack: bool = False

    @property
    def codes(self) -> int:
        """The number of codes."""
        return self.size + self.may_lack


@dataclass(frozen=True)
class LookUps:
    """The joint columns of a design.

    Parameters
    ----------
    columns
        The columns, in their order.
    cells
        The number of cells of all columns.
    joints
        The positions of the columns that each joint column is made of. The code of the last one
        counts most slowly.
    """

    columns: tuple[Column, ...]
    cells: int
    joints: tuple[tuple[int, ...], ...]

    @classmethod
    def apart(cls, columns: Sequence[Column], cells: int) -> LookUps:
        """Every column by itself."""
        return cls(tuple(columns), cells, tuple((i,) for i in range(len(columns))))

    @classmethod
    def joined(cls, columns: Sequence[Column], cells: int, rows: int) -> LookUps:
        """Columns joined as far as it pays when a step reads this many rows.

        >>> columns = [Column(0, 12), Column(12, 300), Column(312, 10)]
        >>> LookUps.joined(columns, 322, rows=10**6).joints
        ((1, 0), (2,))
        """
        largest = min(_LARGEST_TABLE, rows // _ROWS_PER_PLACE)
        return _joined(tuple(columns), cells, largest)

    @cached_property
    def sizes(self) -> list[int]:
        """The number of codes of every joint column."""
        return [math.prod(self.columns[i].codes for i in joint) for joint in self.joints]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the places of every joint column start; a place is a start plus a code."""
        return np.cumsum([0, *self.sizes], dtype=np.int64)

    @cached_property
    def places(self) -> int:
        """The number of places."""
        return int(self.starts[-1])

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that holds every joint code."""
        return np.min_scalar_type(max(self.sizes, default=1) - 1)

    @cached_property
    def members(self) -> NDArray[np.int32]:
        """The cells of every place; ``cells`` itself means none."""
        most = max(map(len, self.joints), default=1)
        result = np.full((self.places, most), self.cells, dtype=np.int32)
        for joint, start, size in zip(self.joints, self.starts, self.sizes, strict=False):
            rest = np.arange(size)
            for k, i in enumerate(joint):
                rest, code = np.divmod(rest, self.columns[i].codes)
                lacking = code == self.columns[i].size
                cell = np.where(lacking, self.cells, self.columns[i].start + code)
                result[start : start + size, k] = cell
        return result

    @cached_property
    def _of_cells(self) -> csr_array:
        """Which places belong to a cell: ones, [cell, place]."""
        from scipy.sparse import csr_array  # scores need no sums, and no SciPy

        count, most = self.members.shape
        places, ones = np.repeat(np.arange(count), most), np.ones(count * most, dtype=np.int64)
        shape = (self.cells + 1, count)
        return csr_array((ones, (self.members.ravel(), places)), shape=shape)

    def join(self, codes: Sequence[NDArray[Any]], rows: int) -> Codes:
        """The joint codes [row, joint column] of rows, from the codes of all columns."""
        for column, found in zip(self.columns, codes, strict=True):
            # Compiled loops do not check what they look up.
            if len(found) and not (found.min() >= 0 and found.max() < column.codes):
                raise InputError(f"Expected codes from 0 to {column.codes - 1}.")
        result = np.empty((rows, len(self.joints)), dtype=self.dtype)
        for place, joint in enumerate(self.joints):
            total, size = np.zeros(rows, dtype=self.dtype), 1
            for i in joint[::-1]:
                if size > 1:  # zeros need not be multiplied, and 256 is no number of one byte
                    total *= self.dtype.type(self.columns[i].codes)
                total += codes[i].astype(self.dtype, copy=False)
                size *= self.columns[i].codes
            result[:, place] = total
        return result

    def table(self, weights: Float64) -> Float64:
        """The weight of every place, by the weights of the cells; sums over a row are exact."""
        padded = np.append(on_grid(weights, len(self.columns)), 0.0)
        result: Float64 = padded.take(self.members).sum(axis=1)
        return result

    def cell_sums(self, sums: NDArray[Any]) -> NDArray[Any]:
        """The sum of every cell, by the sums of the places."""
        return np.asarray((self._of_cells @ sums)[:-1])


@lru_cache(maxsize=8)
def _joined(columns: tuple[Column, ...], cells: int, largest: int) -> LookUps:
    """Large columns first, each with the first of the earlier ones that it fits to."""
    joints: list[list[int]] = []
    sizes: list[int] = []
    for i in sorted(range(len(columns)), key=lambda i: -columns[i].codes):
        codes = columns[i].codes
        for place, joint in enumerate(joints):
            if len(joint) < _MOST_COLUMNS and sizes[place] * codes <= largest:
                joint.append(i)
                sizes[place] *= codes
                break
        else:
            joints.append([i])
            sizes.append(codes)
    return LookUps(columns, cells, tuple(map(tuple, joints)))


def on_grid(weights: Float64, terms: int) -> Float64:
    """Weights rounded so that all sums of this many of them are exact, in any order.

    >>> a, b, c = on_grid(np.array([0.1, 0.2, 0.3]), 3)
    >>> bool((a + b) + c == a + (b + c))
    True
    """
    finite = np.abs(weights[np.isfinite(weights)])
    _, exponent = math.frexp(float(finite.max(initial=0.0)))  # below 2^exponent
    # Far below, no product with a value is lost; so tiny weights may become zero.
    unit = math.ldexp(1.0, max(exponent + terms.bit_length() - 53, -900))
    result: Float64 = np.rint(weights / unit) * unit
    return result
