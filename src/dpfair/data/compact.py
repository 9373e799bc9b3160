"""A column of numbers in memory: small codes of the values that occur, where there are few.

Ages, hours and counts have at most some hundred values, so a byte for each record is enough. Every
function of a number is then computed once per value. Which of the two forms a column has makes no
difference but in memory and time; it depends on the records and is never shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Numbers"]

Float64 = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger[Any]]

# Codes have at most two bytes. A column whose first cells mostly differ is not searched for more.
_BYTE, _MOST_VALUES, _FIRST, _MOSTLY = 1 << 8, 1 << 16, 1 << 14, 0.9

# Whole numbers of a range that is not much larger than their number are looked up in a table of it.
_WIDEST, _PLACES_PER_ROW = 1 << 22, 4

_EXACT = 2.0**53

# Arrays of so many numbers stay in the caches.
_ROWS = 1 << 15


@dataclass(frozen=True)
class Numbers:
    """Numbers, NaN if missing.

    Parameters
    ----------
    values
        The number of every record; or, with codes, the values that they mean.
    codes
        The place in ``values`` of every record's number.
    """

    values: Float64
    codes: Codes | None = None

    @classmethod
    def compact(cls, numbers: Float64) -> Numbers:
        """The numbers in the smaller form.

        >>> Numbers.compact(np.array([3.0, 4.0, 3.0, np.nan])).codes.dtype.itemsize
        1
        """
        whole = _whole(numbers)
        if whole is None:
            found = _coded(numbers)
        else:
            found = whole if len(whole.values) <= _BYTE else _fewer(whole)
        return found or cls(np.ascontiguousarray(numbers))

    def __len__(self) -> int:
        return len(self.values if self.codes is None else self.codes)

    @property
    def floats(self) -> Float64:
        """The number of every record."""
        return self.values if self.codes is None else self.values.take(self.codes)

    def take(self, rows: NDArray[Any] | slice) -> Numbers:
        """The chosen rows."""
        return (
            Numbers(self.values[rows])
            if self.codes is None
            else Numbers(self.values, self.codes[rows])
        )

    def map(self, function: Callable[[Float64], NDArray[Any]]) -> NDArray[Any]:
        """A function of every number, which works on each of them alone."""
        if self.codes is None or len(self.codes) <= len(self.values):
            return function(self.floats)
        return function(self.values).take(self.codes)


def _whole(numbers: Float64) -> Numbers | None:
    """Whole numbers of a small range: a code is the distance from the smallest one.

    Differences and sums of whole numbers below 2^53 are exact. Others are not kept this way: the
    smallest number is that of one record, which would move others by the rounding. So all numbers
    are compared with what their codes mean.
    """
    low, high = np.fmin.reduce(numbers, initial=np.inf), np.fmax.reduce(numbers, initial=-np.inf)
    # Written so that infinite numbers, and no numbers at all, fail it.
    if not (-_EXACT < low <= high < _EXACT and low.is_integer()):
        return None
    span, gaps = int(high - low), bool(np.isnan(numbers).any())
    if span >= max(_MOST_VALUES, min(_WIDEST, _PLACES_PER_ROW * len(numbers))):
        return None
    distances = np.empty(len(numbers), np.min_scalar_type(span + gaps))
    for start in range(0, len(numbers), _ROWS):
        some, found = numbers[start : start + _ROWS], distances[start : start + _ROWS]
        missing = np.isnan(some)
        found[:] = np.where(missing, span + 1, some - low) if gaps else some - low
        if not ((found + low == some) | missing).all():
            return None
    values = low + np.arange(span + 1)
    return Numbers(np.append(values, np.nan) if gaps else values, distances)


def _fewer(numbers: Numbers) -> Numbers | None:
    """Only the values that occur; all of them if these are no fewer bytes; None if too many."""
    assert numbers.codes is not None
    occurs = np.zeros(len(numbers.values), dtype=bool)
    occurs[numbers.codes] = True
    places = np.flatnonzero(occurs)
    if len(places) <= min(_MOST_VALUES, len(numbers) // 8):
        codes = np.empty(len(occurs), np.min_scalar_type(len(places) - 1))
        codes[places] = np.arange(len(places))
        return Numbers(numbers.values[places], codes.take(numbers.codes))
    return numbers if len(occurs) <= _MOST_VALUES else None


def _coded(numbers: Float64) -> Numbers | None:
    """Numbers of which few are distinct."""
    import polars as pl

    cells, most = pl.Series(np.ascontiguousarray(numbers)), min(_MOST_VALUES, len(numbers) // 8)
    first = cells.head(_FIRST)
    if first.n_unique() > min(max(_MOSTLY * len(first), 1), most):
        return None
    values = cells.unique()
    if len(values) > most:
        return None
    kind = pl.UInt8 if len(values) <= 1 << 8 else pl.UInt16
    places = cells.replace_strict(
        values, pl.int_range(len(values), dtype=kind, eager=True), return_dtype=kind
    )
    return Numbers(values.to_numpy(), places.to_numpy())
