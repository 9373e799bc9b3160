r"""Thresholds placed at rates that were fixed beforehand, and how far off they can be.

A target rate r is fixed without looking at the release. In each group the release then shows where
to put the threshold: at the first edge from which on the noisy counts above stay below r times the
noisy size. This module bounds U - r, where U is the true rate at the placed threshold.

It needs no confidence band over all thresholds, although the counts themselves chose the
threshold. Let :math:`G_j` be the true rate above edge j, falling in j.

* If :math:`U > r + \delta`, then at the last edge with :math:`G_j > r + \delta`, which is *fixed*,
  the noisy count is below its target: an ordinary tail of Binomial(n, :math:`r + \delta`) + noise.
  How many cells lie above that edge is unknown, so the worst number counts.
* If the rate at the edge before the placed one is below :math:`r - \delta`, then the noisy count
  reaches its target somewhere beyond the first edge with :math:`G_j < r - \delta`. The exact counts
  only fall from there on, so the noise must make up for it with the maximum of its random walk
  along the edges, which the principle of reflection bounds (Levy's inequality).
* U itself is one cell below that: at most the mass of one cell, for which the release has an upper
  limit (valid for all cells at once).

The target is r times the *noisy* size, so the noise of a cell enters with weight 1 - r above the
threshold and -r below it, and the size itself need not be known well.

So that cells may be as narrow as we like even where many records share a score, the counted scores
are *dithered*: only a multiple of 1 / grain is kept, and a coin per record takes the place of the
rest, as it will for new records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import InputError
from dpfair.fairness.bounds.bands import RuleBound, interval_gap
from dpfair.fairness.bounds.tails import NoiseLaw, reaches
from dpfair.fairness.estimate import estimated_masses, labelled_counts
from dpfair.fairness.notions import Notion, Statistic
from dpfair.fairness.optimal import Choice
from dpfair.fairness.rates import Interval, NoisyRate, noise_masses
from dpfair.fairness.release import Release, score_grid

__all__ = [
    "GRAIN",
    "Window",
    "dithered",
    "place",
    "placement_bound",
    "placement_grid",
    "placement_levels",
]

Floats = NDArray[np.float64]

GRAIN = 100
"""Dithered scores keep two digits of the score."""

MAX_NARROW_CELLS = 480
"""More cells would take too long to bound."""

MAX_PLACED_NOISE = 18_000
"""How long the tables of the noise may be, all groups together: (cells + 100) / noise each."""

MAX_PLACED_BINS = 64 + MAX_NARROW_CELLS + 2 * GRAIN
"""More cells than any grid has: the wide ones, and the narrow ones of a window."""

# How an error probability is divided: the size, the cell and the upper end matter little, the pairs
# get the rest.
_SIZE_SHARE = 0.01
_CELL_SHARE = 0.03
_TOP_SHARE = 0.01

_POINTS = 441
_MAX_BLOCKS = 16
_ATOMS = 250
_CHUNK = 64  # places of a lift at a time
_SMALLEST = 1e-8  # arithmetic cannot tell smaller levels from zero

# A count that misses its target by less has reached it: the product of rate and size is rounded.
_TIE = 1e-6


def dithered(scores: Floats, coins: Floats) -> Floats:
    """Scores whose digits beyond 1 / GRAIN are replaced by coins in [0, 1).

    >>> dithered(np.array([0.4567]), np.array([0.5])).round(6).tolist()
    [0.455]
    """
    # By comparison with the very numbers that a rule compares with, not by rounding a product.
    whole = np.searchsorted(np.arange(1, GRAIN) / GRAIN, scores, side="right")
    return (whole + coins) / GRAIN


@dataclass(frozen=True)
class Window:
    """Where the cut of a group is expected, by a plan from outside the release.

    ``ends`` are those of the plan's bins that hold the cut with a high probability, and
    ``masses`` the shares of the group's records in these bins. ``rate`` is the group's target and
    ``size`` the number of its records to be counted.
    """

    ends: tuple[float, ...]
    masses: tuple[float, ...]
    rate: float
    size: float

    @property
    def grains(self) -> tuple[int, Floats]:
        """The first grain, and of each grain the largest share of records that it may hold.

        Where the records of a bin are is not known: they may all have the same score.
        """
        places = np.array(self.ends) * GRAIN
        lows = np.floor(places[:-1]).clip(0, GRAIN - 1).astype(np.intp)
        highs = np.maximum(np.ceil(places[1:]).clip(0, GRAIN).astype(np.intp), lows + 1)
        shares = np.zeros(int(highs[-1] - lows[0]))
        for low, high, mass in zip(lows - lows[0], highs - lows[0], self.masses, strict=True):
            shares[low:high] = np.maximum(shares[low:high], mass)
        return int(lows[0]), shares


def placement_grid(windows: Sequence[Window], noise: float, rows: int = 2) -> Floats:
    """Edges for each group: wide cells, and narrow ones in the window where its cut is expected.

    The windows come from outside the release, so the grid says nothing about its records. A cell
    has ``rows`` counts, each with noise of the given parameter. Narrow cells place a cut precisely,
    but every cell above it adds its noise: their number is the one with the smallest expected
    bound, as long as it can be bounded in a short time.
    """
    wide = np.unique(np.round(np.array(score_grid(noise)) * GRAIN))
    bins = (MAX_PLACED_NOISE * noise / len(windows) - 100) / rows
    most = min(MAX_NARROW_CELLS, int(bins) - len(wide) - 1)
    # All groups get the same number of edges, so no group gets more than the one that needs fewest.
    wanted = [_splits(window, noise, len(wide), rows, most).sum() for window in windows]
    rows_of_edges = []
    for window in windows:
        first, splits = window.grains[0], _splits(window, noise, len(wide), rows, min(wanted))
        narrow = [first + g + np.arange(split) / split for g, split in enumerate(splits.tolist())]
        row = np.unique(np.concatenate([wide, *narrow, [first + len(splits)]]).round(9))
        rows_of_edges.append(row[(row > 0) & (row < GRAIN)])
    width = max(len(row) for row in rows_of_edges)
    return np.stack([_padded(row, width) for row in rows_of_edges]) / GRAIN


def place(release: Release, statistic: Statistic, targets: Sequence[float] | Floats) -> Choice:
    """Put the threshold of every group where the release reaches its target rate."""
    lottery = np.zeros((len(release.groups), release.counts.shape[2] + 1))
    for a, target in enumerate(targets):
        lottery[a, _placed(release, a, statistic, float(target))] = 1
    masses, counts = estimated_masses(release), labelled_counts(release)
    return Choice(lottery, masses, counts, release.edges, GRAIN)


@dataclass(frozen=True)
class Levels:
    """Error probabilities of what a bound rests on; together they are at most that of the bound.

    Of each group its ``size``, the mass of a ``cell`` and a ``top`` that its rate stays below, and
    of each ordered ``pair`` of groups the sum of two deviations; or instead of the tops and the
    pairs each end of a group's ``rate``.
    """

    size: float
    cell: float
    top: float
    rate: float
    pair: float


def placement_levels(eta: float, groups: int) -> Levels:
    """How the error probability is divided.

    The sum of two deviations exceeds the sum of their quantiles at ``rate`` with probability
    ``pair`` at most, twice as much. So these give a bound for each pair, too, and the smaller of
    the two counts: no gap is larger than the intervals allow.

    The mass of the cell is added to the sum of two deviations, and then a gap may exceed the larger
    rate. Which of the two is smaller depends on the cell, and so on the release: a bound by the
    larger rate alone has an error probability of its own.

    >>> levels = placement_levels(0.05, 3)
    >>> round(3 * (levels.size + levels.cell + levels.top + 2 * levels.pair), 12)
    0.05
    """
    left = (1 - _SIZE_SHARE - _CELL_SHARE - _TOP_SHARE) * eta
    pair = left / max(groups * (groups - 1), 1)
    return Levels(
        size=_SIZE_SHARE * eta / groups,
        cell=_CELL_SHARE * eta / groups,
        top=_TOP_SHARE * eta / groups,
        rate=pair / 2,
        pair=pair,
    )


def placement_bound(
    release: Release, notion: Notion, targets: Sequence[float] | Floats, confidence: float
) -> RuleBound:
    """The largest gap of the placed thresholds; the targets must not depend on the release."""
    if not notion.monotone or len(targets) != len(release.groups):
        raise InputError("Expected one target per group, of a notion with a single rate.")
    if release.sizes is not None or release.grain != GRAIN:
        raise InputError("Thresholds are placed in a table of dithered scores, all cells noisy.")
    k, eta, statistic = len(targets), 1 - confidence, notion.statistics[0]
    levels, rates = placement_levels(eta, k), [float(target) for target in targets]
    above, below, cells = [], [], []
    for a, target in enumerate(rates):
        everybody, rows = release.rate(a, 0, statistic.labels), release.rows(statistic.labels)
        sizes = everybody.size_range(levels.size) if levels.size >= _SMALLEST else (0, 0)
        high, low = _deviations(sizes, target, release.noise[a], len(rows), release.counts.shape[2])
        above.append(high.at_most(1 - target))  # a rate is in [0, 1]
        below.append(low.at_most(target))
        cells.append(_cell_mass(release, a, statistic, target, levels.cell))
    up = [min(d.quantile(levels.rate), 1 - r) for d, r in zip(above, rates, strict=True)]
    down = [min(d.quantile(levels.rate), r) for d, r in zip(below, rates, strict=True)]
    lows = [max(0.0, r - d - c) for r, d, c in zip(rates, down, cells, strict=True)]
    highs = [min(1.0, r + d) for r, d in zip(rates, up, strict=True)]
    gaps: dict[tuple[int, int], float] = {}
    if not notion.ratio and k > 1:
        sums = _sum_quantiles(above, below, levels.pair)
    for a, b in itertools.permutations(range(k), 2):
        if notion.ratio:
            gaps[(a, b)] = interval_gap(highs[a], lows[b], ratio=True)
            continue
        # Whatever the cell's limit is, which depends on the release, the bound fails only if the
        # two deviations together exceed a number, or one of them another, that do not.
        both = min(float(sums[a, b]), up[a] + down[b])
        top = rates[a] + above[a].quantile(levels.top)
        gaps[(a, b)] = min(1.0, top, max(0.0, rates[a] - rates[b] + both + cells[b]))
    for (a, b), gap in gaps.items():
        if not notion.ratio and lows[b] == 0:  # without the cut at zero, no gap exceeds intervals
            highs[a] = max(highs[a], gap)
    pairs = {
        (a, b): max(gaps[(a, b)], gaps[(b, a)]) for a, b in itertools.combinations(range(k), 2)
    }
    intervals: tuple[Interval, ...] = tuple(zip(lows, highs, strict=True))
    return RuleBound(max(pairs.values(), default=0.0), confidence, "placed", pairs, (intervals,))


@dataclass(frozen=True)
class _Deviation:
    """A variable that is at least the deviation to one side: P(it > points[i]) <= above[i]."""

    points: Floats
    above: Floats

    def quantile(self, level: float) -> float:
        fits = np.flatnonzero(self.above <= level)
        return float(self.points[fits[0]]) if len(fits) else 1.0

    def at_most(self, most: float) -> _Deviation:
        """The deviation, if it cannot exceed ``most``."""
        return _Deviation(self.points, np.where(self.points >= most, 0.0, self.above))


def _deviations(
    sizes: tuple[int, int], target: float, noise: float, rows: int, bins: int
) -> tuple[_Deviation, _Deviation]:
    """Bounds for U - r and r - U (without the last cell) for every size in the range.

    Every bin has ``rows`` noisy cells.
    """
    smallest, largest = sizes
    if smallest < 1:
        nothing = _Deviation(np.linspace(0, 1, _POINTS), np.ones(_POINTS))
        return nothing, nothing
    shortfalls, lift = _shortfalls(noise, rows, bins, target), _lift(noise, rows * bins, target)
    count_variance = target * (1 - target) * smallest + shortfalls.variance + 4
    points = np.linspace(-4.5, 6.5, _POINTS) * math.sqrt(count_variance) / smallest
    wanted = math.ceil(target * (largest - smallest) / (0.02 * math.sqrt(count_variance)))
    blocks = min(max(wanted, 1), _MAX_BLOCKS)
    starts = np.unique(np.linspace(smallest, largest + 1, blocks + 1).astype(int))
    high, low = np.zeros(_POINTS), np.zeros(_POINTS)
    for first, after in itertools.pairwise(starts.tolist()):
        # Sizes first..last: the count grows with the size, and so does its target. A count falls
        # short by more than a tie if the complement, first minus the count, exceeds the rest.
        last = after - 1
        tail = reaches(first, 1 - target - points, shortfalls, first - target * last + _TIE / 2)
        high = np.maximum(high, tail)
        low = np.maximum(low, reaches(last, target - points, lift, target * first - 2 * _TIE))
    return (
        _Deviation(points, np.minimum.accumulate(high)),
        _Deviation(points, np.minimum.accumulate(low)),
    )


@lru_cache(maxsize=16)
def _shortfalls(noise: float, rows: int, bins: int, target: float) -> NoiseLaw:
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
    # The places are a hair higher, to make up for the hair that was rounded off.
    kept = masses.max(axis=1) > 1e-13
    return NoiseLaw((low + step * (np.arange(count) + 1e-9))[kept], masses[kept])


@lru_cache(maxsize=16)
def _lift(noise: float, cells: int, target: float) -> NoiseLaw:
    """The law above max - r S of a walk of symmetric cells with the maximum max and the end S.

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
    # What lies between two places is moved up to the next.
    masses = -np.diff(above, prepend=1.0, append=0.0)
    kept = masses > 1e-13
    return NoiseLaw(np.append(places, places[-1] + step)[kept], masses[kept, None])


@lru_cache(maxsize=4)
def _laws(noise: float, rows: int, bins: int) -> list[tuple[Floats, Floats]]:
    """The noise in 0, 1, 2, ... bins; the same for every target."""
    return [_atoms(noise, rows * i) for i in range(bins + 1)]


def _atoms(noise: float, cells: int) -> tuple[Floats, Floats]:
    """A sum of cells as a few atoms, each mass moved up if at all, without what is negligible."""
    masses = noise_masses(noise, cells) if cells else np.ones(1)
    places = np.arange(len(masses)) - len(masses) // 2
    kept = masses > 1e-14
    masses, places = masses[kept], places[kept]
    width = -(-len(masses) // _ATOMS)
    groups = (np.arange(len(masses)) + (-len(masses)) % width) // width
    last = np.append(np.flatnonzero(np.diff(groups)), len(masses) - 1)
    grouped: Floats = np.bincount(groups, masses).astype(np.float64)
    return places[last].astype(np.float64), grouped


def _cell_mass(
    release: Release, group: int, statistic: Statistic, target: float, eta: float
) -> float:
    """An upper limit, for all cells of the group at once, on the mass of the cut's cell."""
    threshold = _placed(release, group, statistic, target)
    starts, stops, parts = _cover(release.edges[group], np.arange(release.counts.shape[2]))
    start, stop, part = starts[threshold - 1], stops[threshold - 1], float(parts[threshold - 1])
    level = eta / len(set(zip(starts.tolist(), stops.tolist(), strict=True)))
    if level < _SMALLEST:
        return 1.0
    counts = release.counts[group, release.rows(statistic.labels)]
    inside = counts[:, start:stop]
    rate = NoisyRate(
        accepted=int(inside.sum()),
        rejected=int(counts.sum() - inside.sum()),
        size=None,
        noise=release.noise[group],
        accepted_cells=inside.size,
        rejected_cells=max(1, counts.size - inside.size),
    )
    return part * rate.upper_limit(level)


def _cover(edges: Floats, cell: Any) -> tuple[Any, Any, Any]:
    """Cells start..stop-1 that a cell's mass is judged by, and its part of their mass at most.

    Dithering spreads the mass of a grain evenly, so a cell inside a grain has its share of it.
    """
    ends = np.array([0.0, *edges, 1.0]) * GRAIN
    low, high = ends[cell], ends[cell + 1]
    grain = np.floor(low + 1e-9)
    inside = high <= grain + 1 + 1e-9
    start = np.searchsorted(ends, grain + 1e-9, side="right") - 1
    stop = np.searchsorted(ends, grain + 1 - 1e-9)
    return (
        np.where(inside, start, cell),
        np.where(inside, stop, cell + 1),
        np.where(inside, np.minimum(1.0, high - low + 1e-9), 1.0),
    )


def _sum_quantiles(
    above: Sequence[_Deviation], below: Sequence[_Deviation], level: float
) -> Floats:
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
        found[i] = np.where(never, 2.0, high)  # 2 is more than any two deviations
    return found


def _placed(release: Release, group: int, statistic: Statistic, target: float) -> int:
    """The first threshold from which on all noisy counts stay below the target."""
    counts = release.counts[group, release.rows(statistic.labels)].sum(axis=0)
    tail = np.concatenate([np.cumsum(counts[::-1])[::-1], [0]])
    reached = np.flatnonzero(tail >= target * tail[0] - _TIE)
    return min(int(reached[-1]) + 1, len(counts)) if tail[0] > 0 else len(counts)


def _padded(row: Floats, width: int) -> Floats:
    """More edges, halving the widest cells, until there are ``width`` of them."""
    while len(row) < width:
        ends = np.concatenate([[0.0], row, [float(GRAIN)]])
        widest = int(np.argmax(np.diff(ends)))
        row = np.sort(np.append(row, (ends[widest] + ends[widest + 1]) / 2))
    return row


def _splits(window: Window, noise: float, wide: int, rows: int, most: int) -> NDArray[np.intp]:
    """How often to split each grain of a window, so that no cell can hold much.

    Of the numbers of cells that are allowed it is the one with the smallest expected bound.
    """
    shares = window.grains[1]
    best, least = np.ones(len(shares), dtype=np.intp), math.inf
    for cell in np.geomspace(max(float(shares.max()), 1e-9), 1e-6, 80).tolist():
        splits = np.maximum(np.ceil(shares / cell - 1e-9), 1).astype(np.intp)
        cells = int(splits.sum())
        if cells > max(most, len(shares)):
            break
        # About half of the cells are above the cut. Two groups deviate, each to one side.
        added = 2 * rows * (wide + cells) / 2 / noise**2
        spread = math.sqrt(window.rate * (1 - window.rate) * window.size + added)
        expected = 2 * math.sqrt(2) * spread + window.size * cell
        if expected < least:
            best, least = splits, expected
    return best
