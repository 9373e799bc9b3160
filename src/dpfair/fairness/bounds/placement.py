r"""Thresholds placed at rates that were fixed beforehand, and bounds on their errors.

A target rate r is fixed without using the release. In each group the release then determines the
threshold: the first edge from which on the noisy counts above stay below r times the noisy size.
This module bounds U - r, where U is the true rate at the placed threshold.

It needs no confidence band over all thresholds, although the threshold is chosen by the counts.
Let :math:`G_j` be the true rate above edge j, falling in j.

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

The counted scores are dithered (:mod:`dpfair.fairness.dither`), so cells may be narrow even where
many records share a score. :mod:`dpfair.fairness.bounds.deviations` has the two tails.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import InputError
from dpfair.fairness.bounds.bands import RuleBound, interval_gap
from dpfair.fairness.bounds.deviations import TIE, Deviation, deviations, sum_quantiles
from dpfair.fairness.dither import GRAIN
from dpfair.fairness.estimate import estimated_masses, labelled_counts
from dpfair.fairness.lottery import Choice
from dpfair.fairness.notions import Notion, Statistic
from dpfair.fairness.rates import Interval, NoisyRate
from dpfair.fairness.release import Release

__all__ = [
    "PlacedRate",
    "cell_limit",
    "cover",
    "place",
    "placed_bound",
    "placed_rates",
    "placed_threshold",
    "placement_bound",
    "placement_levels",
]

Floats = NDArray[np.float64]

# How an error probability is divided: the size, the cell and the upper end matter little, the pairs
# get the rest.
_SIZE_SHARE = 0.01
_CELL_SHARE = 0.03
_TOP_SHARE = 0.01

_SMALLEST = 1e-8  # smaller levels are numerically zero


def place(release: Release, statistic: Statistic, targets: Sequence[float] | Floats) -> Choice:
    """Put the threshold of every group where the release reaches its target rate."""
    lottery = np.zeros((len(release.groups), release.counts.shape[2] + 1))
    for a, target in enumerate(targets):
        lottery[a, placed_threshold(release, a, statistic, float(target))] = 1
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
    the two is used: no gap is larger than the intervals allow.

    The mass of the cell is added to the sum of two deviations, and then a gap may exceed the larger
    rate. Which of the two is smaller depends on the cell, and therefore on the release: a bound by
    the larger rate alone has its own error probability.

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


@dataclass(frozen=True)
class PlacedRate:
    """Bounds from a release on the true rate U of one group at its placed threshold.

    U - target is at most ``above``, and target - U at most ``below`` plus the mass of the cut's
    ``cell``.
    """

    target: float
    above: Deviation
    below: Deviation
    cell: float


def placement_bound(
    release: Release, notion: Notion, targets: Sequence[float] | Floats, confidence: float
) -> RuleBound:
    """The largest gap of the placed thresholds; the targets must not depend on the release."""
    if not notion.monotone or len(targets) != len(release.groups):
        raise InputError("Expected one target per group, of a notion with a single rate.")
    if release.sizes is not None or release.grain != GRAIN:
        raise InputError("Thresholds are placed in a table of dithered scores, all cells noisy.")
    return placed_bound(placed_rates(release, notion, targets, confidence), notion, confidence)


def placed_rates(
    release: Release, notion: Notion, targets: Sequence[float] | Floats, confidence: float
) -> list[PlacedRate]:
    """The rate of every group, with limits at the levels of :func:`placement_levels`."""
    levels, statistic = placement_levels(1 - confidence, len(targets)), notion.statistics[0]
    placed = []
    for a, target in enumerate(map(float, targets)):
        everybody, rows = release.rate(a, 0, statistic.labels), release.rows(statistic.labels)
        sizes = everybody.size_range(levels.size) if levels.size >= _SMALLEST else (0, 0)
        high, low = deviations(sizes, target, release.noise[a], len(rows), release.counts.shape[2])
        placed.append(
            PlacedRate(
                target,
                above=high.at_most(1 - target),  # a rate is in [0, 1]
                below=low.at_most(target),
                cell=cell_limit(release, a, statistic, target, levels.cell),
            )
        )
    return placed


def placed_bound(placed: Sequence[PlacedRate], notion: Notion, confidence: float) -> RuleBound:
    """The largest gap between groups with these rates."""
    k, levels = len(placed), placement_levels(1 - confidence, len(placed))
    up = [min(p.above.quantile(levels.rate), 1 - p.target) for p in placed]
    down = [min(p.below.quantile(levels.rate), p.target) for p in placed]
    lows = [max(0.0, p.target - d - p.cell) for p, d in zip(placed, down, strict=True)]
    highs = [min(1.0, p.target + d) for p, d in zip(placed, up, strict=True)]
    gaps: dict[tuple[int, int], float] = {}
    if not notion.ratio and k > 1:
        sums = sum_quantiles([p.above for p in placed], [p.below for p in placed], levels.pair)
    for a, b in itertools.permutations(range(k), 2):
        if notion.ratio:
            gaps[(a, b)] = interval_gap(highs[a], lows[b], ratio=True)
            continue
        # The limit of the cell depends on the release. For any limit, the bound fails only if the
        # sum of the deviations, or one of them, exceeds a number that does not depend on it.
        both = min(float(sums[a, b]), up[a] + down[b])
        first, second = placed[a], placed[b]
        top = first.target + first.above.quantile(levels.top)
        apart = first.target - second.target + both + second.cell
        gaps[(a, b)] = min(1.0, top, max(0.0, apart))
    for (a, b), gap in gaps.items():
        if not notion.ratio and lows[b] == 0:  # otherwise no gap exceeds the intervals
            highs[a] = max(highs[a], gap)
    pairs = {
        (a, b): max(gaps[(a, b)], gaps[(b, a)]) for a, b in itertools.combinations(range(k), 2)
    }
    intervals: tuple[Interval, ...] = tuple(zip(lows, highs, strict=True))
    return RuleBound(max(pairs.values(), default=0.0), confidence, "placed", pairs, (intervals,))


def cell_limit(
    release: Release, group: int, statistic: Statistic, target: float, eta: float
) -> float:
    """An upper limit, for all cells of the group at once, on the mass of the cut's cell."""
    threshold = placed_threshold(release, group, statistic, target)
    starts, stops, parts = cover(release.edges[group], np.arange(release.counts.shape[2]))
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


def cover(edges: Floats, cell: Any) -> tuple[Any, Any, Any]:
    """Cells start..stop-1 that bound the mass of a cell, and the largest part of it in the cell.

    Dithering spreads the mass of a grain evenly, so a cell inside a grain has a fixed share of it.
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


def placed_threshold(release: Release, group: int, statistic: Statistic, target: float) -> int:
    """The first threshold from which on all noisy counts stay below the target."""
    counts = release.counts[group, release.rows(statistic.labels)].sum(axis=0)
    tail = np.concatenate([np.cumsum(counts[::-1])[::-1], [0]])
    reached = np.flatnonzero(tail >= target * tail[0] - TIE)
    return min(int(reached[-1]) + 1, len(counts)) if tail[0] > 0 else len(counts)
