r"""How far the true rate at a placed threshold can be from its target.

The target is r times the *noisy* size, so the noise of a cell enters with weight 1 - r above the
threshold and -r below it, and the size itself need not be known well.
See :mod:`dpfair.fairness.bounds.placement` for the two cases of the distributions below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpfair.fairness.bounds.tails import NoiseLaw, reaches
from dpfair.fairness.laplace_sums import noise_masses

__all__ = ["TIE", "Deviation", "deviations", "lift", "shortfalls", "sum_quantiles"]

Floats = NDArray[np.float64]

TIE = 1e-6
"""A count that misses its target by less counts as equal to it, since the target is rounded."""

_POINTS = 441
_MAX_BLOCKS = 16
_ATOMS = 250
_CHUNK = 64  # places of a lift at a time


@dataclass(frozen=True)
class Deviation:
    """A variable that is at least the deviation to one side: P(it > points[i]) <= above[i]."""

    points: Floats
    above: Floats

    def quantile(self, level: float) -> float:
        """A number that the deviation exceeds with at most this probability."""
        fits = np.flatnonzero(self.above <= level)
        return float(self.points[fits[0]]) if len(fits) else 1.0

    def at_most(self, most: float) -> Deviation:
        """The deviation, if it cannot exceed ``most``."""
        return Deviation(self.points, np.where(self.points >= most, 0.0, self.above))


def deviations(
    sizes: tuple[int, int], target: float, noise: float, rows: int, bins: int
) -> tuple[Deviation, Deviation]:
    """Bounds for U - r and r - U (without the last cell) for every size in the range.

    Every bin has ``rows`` noisy cells.
    """
    smallest, largest = sizes
    if smallest < 1:
        nothing = Deviation(np.linspace(0, 1, _POINTS), np.ones(_POINTS))
        return nothing, nothing
    short, lifted = shortfalls(noise, rows, bins, target), lift(noise, rows * bins, target)
    count_variance = target * (1 - target) * smallest + short.variance + 4
    points = np.linspace(-4.5, 6.5, _POINTS) * math.sqrt(count_variance) / smallest
    wanted = math.ceil(target * (largest - smallest) / (0.02 * math.sqrt(count_variance)))
    blocks = min(max(wanted, 1), _MAX_BLOCKS)
    starts = np.unique(np.linspace(smallest, largest + 1, blocks + 1).astype(int))
    high, low = np.zeros(_POINTS), np.zeros(_POINTS)
    for first, after in itertools.pairwise(starts.tolist()):
        # Sizes first..last: the count grows with the size, and so does its target. A count falls
        # short by more than a tie if the complement, first minus the count, exceeds the rest.
        last = after - 1
        tail = reaches(first, 1 - target - points, short, first - target * last + TIE / 2)
        high = np.maximum(high, tail)
        low = np.maximum(low, reaches(last, target - points, lifted, target * first - 2 * TIE))
    return (
        Deviation(points, np.minimum.accumulate(high)),
        Deviation(points, np.minimum.accumulate(low)),
    )


def sum_quantiles(above: Sequence[Deviation], below: Sequence[Deviation], level: float) -> Floats:
    """[i, j]: the smallest bound on above[i] + below[j] that fails with P <= level.

    The two are independent.
    """
    one, other = (np.stack([d.points for d in side]) for side in (above, below))
    chances, others = (np.stack([d.above for d in side]) for side in (above, below))
    # Between two points the first variable is moved up to the next one.
    masses = -np.diff(chances, prepend=1.0)
    steps = (other[:, -1:] - other[:, :1]) / (other.shape[1] - 1)
    rows = np.arange(len(other))[:, None]
    ends = np.pad(other, ((0, 0), (0, 1)), constant_values=math.inf)

    def exceeds(i: int, bounds: Floats) -> Floats:
        """P(above[i] + below[j] > bounds[j]) for every j, rounded up."""
        rest = bounds[:, None] - one[i]
        # The last point that does not exceed the rest: points are evenly spaced, up to rounding.
        index = np.clip((rest - other[:, :1]) / steps, 0, other.shape[1] - 1).astype(np.intp)
        index -= ends[rows, index] > rest
        index += ends[rows, index + 1] <= rest
        tails = np.where(index >= 0, others[rows, np.maximum(index, 0)], 1.0)
        result: Floats = tails @ masses[i] + chances[i, -1]
        return result

    found = np.empty((len(above), len(below)))
    for i in range(len(above)):
        low, high = np.full(len(below), -1.0), one[i, -1] + other[:, -1]
        never = exceeds(i, high) > level
        for _ in range(40):
            middle = (low + high) / 2
            fails = exceeds(i, middle) > level
            low, high = np.where(fails, middle, low), np.where(fails, high, middle)
        found[i] = np.where(never, 2.0, high)  # larger than the sum of any two deviations
    return found


@lru_cache(maxsize=8)  # each of up to five megabytes
def shortfalls(noise: float, rows: int, bins: int, target: float) -> NoiseLaw:
    """The noise (1 - r) Z - r Z' of a threshold, for each number of bins that may lie above it."""
    laws = _laws(noise, rows, bins)
    pairs = list(zip(laws, laws[::-1], strict=True))  # of Z above, and of -Z' below
    low, high = (
        least_or_most((1 - target) * up[end] + target * down[end] for (up, _), (down, _) in pairs)
        for least_or_most, end in ((min, 0), (max, -1))
    )
    step = max((high - low) / (2 * _ATOMS), 1e-3)
    count = math.ceil((high - low) / step - 1e-9) + 1
    masses = np.empty((count, len(pairs)))
    for i, ((up, up_mass), (down, down_mass)) in enumerate(pairs):
        places = (((1 - target) * up - low) / step - 1e-9)[:, None] + target * down / step
        mass = up_mass[:, None] * down_mass
        cells = np.ceil(places, out=places).astype(np.intp)
        masses[:, i] = np.bincount(cells.ravel(), mass.ravel(), minlength=count)
    # The places are slightly larger, to compensate for rounding.
    kept = masses.max(axis=1) > 1e-13
    return NoiseLaw((low + step * (np.arange(count) + 1e-9))[kept], masses[kept])


@lru_cache(maxsize=16)
def lift(noise: float, cells: int, target: float) -> NoiseLaw:
    """An upper bound on max - r S, for a walk of symmetric cells with maximum max and end S.

    For whole a >= s, a > 0 reflecting the walk where it first reaches a gives
    P(max >= a, S = s) <= P(S = 2a - s): cells are symmetric and unimodal, so a jump beyond a only
    makes the right side larger.
    """
    ends = noise_masses(noise, cells)
    reach = len(ends) // 2
    if not reach:
        return NoiseLaw(np.zeros(1), np.ones((1, 1)))
    likely = np.flatnonzero(ends > 1e-14) - reach
    s = np.arange(likely[0], likely[-1] + 1)
    mass = np.pad(ends, 1)  # zero beyond the table
    step = max(1.0, 2 * float(s[-1]) / (2 * _ATOMS)) / 4
    places = np.arange(0.0, 2 * float(s[-1]) + step, step)
    above = np.zeros(len(places))
    for i in range(0, len(places), _CHUNK):
        a = np.ceil(places[i : i + _CHUNK, None] + (target * s - 1e-9)).astype(np.intp)
        mirrored = np.minimum(2 * a - s, reach + 1)
        above[i : i + _CHUNK] = mass[
            np.where(a <= np.maximum(s, 0), s, mirrored) + (reach + 1)
        ].sum(axis=1)
        if above[i] < 1e-15:  # and so are all that follow
            break
    above = np.minimum.accumulate(np.minimum(above, 1.0))
    # Mass between two places is moved up to the next place.
    masses = -np.diff(above, prepend=1.0, append=0.0)
    kept = masses > 1e-13
    return NoiseLaw(np.append(places, places[-1] + step)[kept], masses[kept, None])


@lru_cache(maxsize=4)
def _laws(noise: float, rows: int, bins: int) -> list[tuple[Floats, Floats]]:
    """The noise in 0, 1, 2, ... bins; the same for every target."""
    return [_atoms(noise, rows * i) for i in range(bins + 1)]


def _atoms(noise: float, cells: int) -> tuple[Floats, Floats]:
    """A sum of cells as a few atoms; mass is only moved up, and negligible mass is left out."""
    masses = noise_masses(noise, cells) if cells else np.ones(1)
    places = np.arange(len(masses)) - len(masses) // 2
    kept = masses > 1e-14
    masses, places = masses[kept], places[kept]
    width = -(-len(masses) // _ATOMS)
    groups = (np.arange(len(masses)) + (-len(masses)) % width) // width
    last = np.append(np.flatnonzero(np.diff(groups)), len(masses) - 1)
    grouped: Floats = np.bincount(groups, masses).astype(np.float64)
    return places[last].astype(np.float64), grouped
