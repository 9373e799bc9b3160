"""Confidence limits of a rate, by inverting its tails. Every limit is rounded outward."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

__all__ = ["Interval", "Tested", "envelope", "limit", "limits", "nested_limits"]

Floats = NDArray[np.float64]
Interval = tuple[float, float]

_GRID = 300


class Tested(Protocol):
    """A rate with a test, such as :class:`dpfair.fairness.rates.NoisyRate`."""

    @property
    def resolution(self) -> int:
        """The number m of parts 1 / m of [0, 1], each with its own test; 0 for a single test."""

    @property
    def mirrored(self) -> Tested:
        """The test of one minus the rate."""

    def __hash__(self) -> int:
        """Equal rates have equal limits, which are computed once."""

    def upper_tail(self, p: ArrayLike, sizes: tuple[int, int]) -> Floats:
        """P-values of the rates p, each by the test of its part."""

    def tail_at(self, i: int, rates: Floats, sizes: tuple[int, int]) -> Floats:
        """P-values by the test of part i; they grow with the rate."""

    def surely_excluded(self, i: int, p: float, level: float, sizes: tuple[int, int]) -> bool:
        """Whether a quick bound shows that the p-value of p is below the level."""


# Choosing, certifying and verifying a rule need the same limits of the same release.
@lru_cache(maxsize=1024)
def limit(rate: Tested, level: float, sizes: tuple[int, int], upper: bool) -> float:
    """One end of an interval: every rate beyond it is excluded at the level."""
    if sizes[1] == 0 or level <= 0:
        return float(upper)
    return (
        1 - _lower_limit(rate.mirrored, level, sizes) if upper else _lower_limit(rate, level, sizes)
    )


def limits(rate: Tested, eta: float, sizes: tuple[int, int]) -> Interval:
    """Both ends of an interval, each at half of eta."""
    return limit(rate, eta / 2, sizes, False), limit(rate, eta / 2, sizes, True)


@lru_cache(maxsize=256)
def nested_limits(rate: Tested, etas: tuple[float, ...], sizes: tuple[int, int]) -> Floats:
    """Limits [level, (low, high)] for many etas, each the next point outside on one grid."""
    levels = np.array(etas)
    outer, inner = limits(rate, min(etas), sizes), limits(rate, max(etas), sizes)
    if sizes[1] == 0:
        return np.tile(outer, (len(levels), 1))

    lows = np.linspace(outer[0], inner[0], _GRID)
    highs = np.linspace(outer[1], inner[1], _GRID)
    excluded = (
        np.searchsorted(envelope(rate, lows, sizes), levels / 2, side="right"),
        np.searchsorted(envelope(rate.mirrored, 1 - highs, sizes), levels / 2, side="right"),
    )
    last = np.maximum(0, np.stack(excluded) - 1)  # none excluded: the end is 0 or 1
    nested = np.stack([lows[last[0]], highs[last[1]]], axis=-1)
    nested.flags.writeable = False
    return nested


def _lower_limit(rate: Tested, level: float, sizes: tuple[int, int]) -> float:
    """A rate below which every rate is excluded at the level, near the largest of these.

    Where r is the same, the tail grows with the rate; from one r to the next it may jump. So the
    limit is in the first part whose last rate is not excluded.
    """
    m = rate.resolution
    for i in range(m + 1):
        start, stop = max(0.0, (i - 0.5) / m) if m else 0.0, min(1.0, (i + 0.5) / m) if m else 1.0
        if m and rate.surely_excluded(i, stop, level, sizes):
            continue

        def tails(p: ArrayLike, i: int = i, sizes: tuple[int, int] = sizes) -> Floats:
            return rate.tail_at(i, np.atleast_1d(p), sizes)

        if tails(stop)[0] <= level:
            continue
        if tails(start)[0] > level:
            return start
        # A single size takes less time; all of them exclude a little less.
        middle = (sum(sizes) // 2,) * 2
        one = partial(tails, sizes=middle)
        if one(start)[0] <= level < one(stop)[0]:
            stop = _last_excluded(one, start, stop, level)
        if sizes[0] == sizes[1] or tails(stop)[0] <= level:
            return stop
        step = 1 / (1 + sizes[0])
        while stop - step > start and tails(stop - step)[0] > level:
            stop, step = stop - step, 2 * step
        return _narrowed(tails, max(start, stop - step), stop, level)
    return 1.0


def _narrowed(tails: Callable[[Floats], Floats], start: float, stop: float, level: float) -> float:
    """The last excluded of many points between an excluded one and one that is not."""
    for _ in range(3):
        points = np.linspace(start, stop, 13)
        j = int(np.argmax(tails(points[1:]) > level))
        start, stop = float(points[j]), float(points[j + 1])
    return start


def _last_excluded(
    tails: Callable[[float], Floats], start: float, stop: float, level: float
) -> float:
    """A point just below the root of increasing ``tails`` - ``level`` between two points."""
    goal = math.log(level)
    point = float(
        optimize.brentq(lambda p: math.log(tails(p)[0]) - goal, start, stop, xtol=1e-9, rtol=1e-9)
    )
    step = 1e-9
    while tails(point)[0] > level:  # the root finder may stop on either side
        point, step = max(start, point - step), 2 * step
    return point


def envelope(rate: Tested, points: Floats, sizes: tuple[int, int]) -> Floats:
    """The largest upper tail of any rate up to each of the increasing points, from the first on.

    Where r is the same the tail grows, so only the last rate before each change of r is missing
    among the points.
    """
    tails = rate.upper_tail(points, sizes)
    m = rate.resolution
    parts = np.rint(points * m).astype(np.intp)
    for j in np.flatnonzero(np.diff(parts)).tolist():
        for i in range(int(parts[j]), int(parts[j + 1])):
            before = rate.tail_at(i, np.array([(i + 0.5) / m]), sizes)[0]
            tails[j + 1] = max(tails[j + 1], before)
    return np.maximum.accumulate(tails)
