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

# Codes have at most two bytes. A column whose first cells mostly differ is not searched for more.
_MOST_VALUES, _FIRST, _MOSTLY = 1 << 16, 1 << 14, 0.9

_EXACT = 2.0**53


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
    codes: NDArray[np.unsignedinteger[Any]] | None = None

    @classmethod
    def compact(cls, numbers: Float64) -> Numbers:
        """The numbers in the smaller form.

        >>> Numbers.compact(np.array([3.0, 4.0, 3.0, np.nan])).codes.dtype.itemsize
        1
        """
        found = _whole(numbers)
        if found is None or found.codes is None or found.codes.itemsize > 1:
            found = _coded(numbers) or found
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
    missing = np.isnan(numbers)
    low, high = np.fmin.reduce(numbers, initial=np.inf), np.fmax.reduce(numbers, initial=-np.inf)
    # Written so that infinite numbers, and no numbers at all, fail it.
    if not (-_EXACT < low <= high < _EXACT and low.is_integer()):
        return None
    span, some = int(high - low), bool(missing.any())
    if span >= _MOST_VALUES - 1:
        return None
    distances = np.where(missing, span + 1, numbers - low) if some else numbers - low
    codes = distances.astype(np.min_scalar_type(span + some))
    values = low + np.arange(span + 1)
    found = Numbers(np.append(values, np.nan) if some else values, codes)
    return found if np.array_equal(found.floats, numbers, equal_nan=True) else None


def _coded(numbers: Float64) -> Numbers | None:
    """Numbers of which few are distinct."""
    import polars as pl

    first = numbers[:_FIRST]
    if len(np.unique(first)) > max(_MOSTLY * len(first), 1):
        return None
    cells = pl.Series(np.ascontiguousarray(numbers))
    values = cells.unique()
    if len(values) > min(_MOST_VALUES, len(numbers) // 8):
        return None
    kind = pl.UInt8 if len(values) <= 1 << 8 else pl.UInt16
    places = cells.replace_strict(
        values, pl.int_range(len(values), dtype=kind, eager=True), return_dtype=kind
    )
    return Numbers(values.to_numpy(), places.to_numpy())
