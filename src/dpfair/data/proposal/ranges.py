"""Ranges of numbers: round bounds, and values that mean missing."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
from numpy.typing import NDArray

from dpfair.data.dates import day_number

__all__ = ["mark_of_missing", "round_outwards", "whole_years"]

_REPEATED = 0.001


def round_outwards(low: float, high: float) -> tuple[float, float]:
    """Round numbers around a range, at steps of about a tenth of its width.

    >>> round_outwards(18, 97), round_outwards(1234, 187345), round_outwards(0.13, 0.97)
    ((10.0, 100.0), (0.0, 200000.0), (0.1, 1.0))
    """
    width = high - low
    if not 1e-300 < width < math.inf:  # a tenth of a smaller one may be 0
        return low - 1, high + 1
    power = math.floor(math.log10(width / 10))
    step = next(s for s in (1, 2, 5, 10) if s * 10.0**power >= width / 10 * 0.999)
    bounds = _steps(math.floor, low, step, power), _steps(math.ceil, high, step, power)
    return bounds if bounds[0] <= low and high <= bounds[1] else (low, high)


def _steps(to_whole: type[int] | object, value: float, step: int, power: int) -> float:
    whole = to_whole(round(value / 10.0**power / step, 9)) * step  # type: ignore[operator]
    return float(f"{whole}e{power}")  # 3e-1 is 0.3, while 3 * 0.1 is not


def whole_years(low: float, high: float) -> tuple[float, float]:
    """The first days of the years around two days."""
    first = dt.date(1970, 1, 1) + dt.timedelta(low)
    last = dt.date(1970, 1, 1) + dt.timedelta(high)
    return day_number(dt.date(first.year, 1, 1)), day_number(dt.date(last.year + 1, 1, 1))


def mark_of_missing(numbers: NDArray[np.float64]) -> tuple[float, ...]:
    """Numbers such as -999 or 9999 that are repeated and far away from all others.

    >>> mark_of_missing(np.array([21, 35, 999, 60, 999, 18.0]))
    (999.0,)
    """
    found: list[float] = []
    values, times = np.unique(numbers, return_counts=True)
    for value, count in zip(values.tolist(), times.tolist(), strict=True):
        if _looks_like_a_mark(value) and count >= max(2, _REPEATED * len(numbers)):
            others = values[[not _looks_like_a_mark(v) for v in values.tolist()]]
            if len(others) >= 2 and _is_apart(value, float(others.min()), float(others.max())):
                found.append(value)
    return tuple(found)


def _looks_like_a_mark(value: float) -> bool:
    """Nines, eights or sevens (one digit only if negative), or -1."""
    digits = f"{abs(value):g}"
    same = len(set(digits)) == 1 and digits[0] in "987"
    return value == -1 or (same and (value < 0 or len(digits) >= 2))


def _is_apart(value: float, low: float, high: float) -> bool:
    if value < 0:
        return low >= 0
    return value >= 2 * max(abs(low), abs(high)) and value - high > 10
