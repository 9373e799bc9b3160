"""Bounds for rules that are chosen by the release: intervals that hold for all thresholds at once.

A rule that maximises accuracy on the released counts appears better on them than on new records.
Its rates are mixtures of the rates of a few thresholds, so intervals that hold for *every*
threshold of the grid together hold for any chosen rule, for any notion and tolerance. They certify
a whole frontier of rules. This needs a union bound over the thresholds; a rule that was fixed
beforehand does not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpfair.fairness.bounds.paper import combined_gap_bound
from dpfair.fairness.notions import Notion, Statistic
from dpfair.fairness.rates import Interval, NoisyRate
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule

__all__ = [
    "RuleBound",
    "accuracy_bound",
    "band_bound",
    "coin_combinations",
    "combination_level",
    "combined_accuracy",
    "fixed_accuracy",
    "fixed_bound",
    "interval_gap",
    "summed_accuracy",
    "threshold_level",
    "union_bound",
]

Floats = NDArray[np.float64]
Method = Literal["placed", "band", "corrected", "fixed"]

_SMALLEST = 1e-8


@dataclass(frozen=True)
class RuleBound:
    """An upper bound on the gap of a rule.

    With probability ``confidence`` over the counted records and the noise, the gap of every pair of
    groups is at most ``pairs[(a, b)]`` (``bound`` is the largest of them). With the same
    probability every statistic of every group lies in ``intervals[statistic][group]``; for placed
    thresholds this is a separate statement, otherwise both hold together. No pair has a larger
    bound than the intervals allow.
    """

    bound: float
    confidence: float
    method: Method
    pairs: dict[tuple[int, int], float]
    intervals: tuple[tuple[Interval, ...], ...]


def band_bound(release: Release, lottery: Floats, notion: Notion, confidence: float) -> RuleBound:
    """The gap of any lottery over thresholds, also a chosen one, at the worst point of the band.

    Bonferroni: K groups, the notion's statistics and B - 1 thresholds share the error probability.
    Accepting everybody or nobody has a known rate, but not a known accuracy: B + 1 thresholds.
    """
    thresholds = sum(release.edges.shape[1] + 2 * s.correct for s in notion.statistics)
    return union_bound(release, lottery, notion, confidence, thresholds, "band")


def fixed_bound(
    release: Release, notion: Notion, confidence: float, lottery: Floats | None = None
) -> RuleBound:
    """The gap of the decisions counted in a release with two bins (rejected, accepted).

    The decisions must follow a rule that does not depend on the counted records. A ``lottery``
    over *everybody*, *as decided* and *nobody* may be chosen by them: it moves a rate p to
    w0 + w1 p, and the region for p holds for any weights. Differences get the combined
    bound C3, ratios and accuracies the worst case over intervals.
    """
    k, share = len(release.groups), (1 - confidence) / len(notion.statistics)
    method: Method = "fixed" if lottery is None else "corrected"
    chosen = np.tile([0.0, 1.0, 0.0], (k, 1)) if lottery is None else lottery
    if notion.ratio or k < 2 or any(s.correct for s in notion.statistics):
        # A chosen lottery may mix in the accuracies of accepting everybody and nobody.
        each = [3 if lottery is not None and s.correct else 1 for s in notion.statistics]
        return union_bound(release, chosen, notion, confidence, sum(each), method)
    flips = Rule(np.clip(np.stack([chosen[:, 0], chosen[:, :2].sum(axis=1)], axis=1), 0, 1))
    sharp = [
        combined_gap_bound([release.rate(a, 1, s.labels) for a in range(k)], flips, 1 - share)
        for s in notion.statistics
    ]
    largest = max(bound.bound for bound in sharp)
    simple = _worst(tuple(bound.after for bound in sharp), notion, confidence, method)
    pairs = {pair: min(value, largest) for pair, value in simple.pairs.items()}
    return replace(simple, bound=largest, pairs=pairs)


def accuracy_bound(release: Release, lottery: Floats, confidence: float) -> float | None:
    """A lower bound on the accuracy of a lottery that the release may have chosen.

    A lottery is as accurate as its combinations of one threshold per group are on average. The
    union bound runs over all combinations or, if these are too many, over each group's thresholds,
    and then the groups' limits are added.
    """
    if not release.labelled or len(set(release.noise)) > 1:
        return None
    k, thresholds = len(release.groups), release.edges.shape[1] + 2
    level = combination_level(1 - confidence, thresholds, k)
    if level >= _SMALLEST:
        return combined_accuracy(release, lottery, level)
    level = threshold_level(1 - confidence, thresholds, k)
    return summed_accuracy(release, lottery, level) if level >= _SMALLEST else 0.0


def combined_accuracy(release: Release, lottery: Floats, level: float) -> float:
    """A lower bound on the accuracy, if each combination of thresholds has its limit at a level."""
    groups = range(len(release.groups))
    return sum(
        weight * release.right_rate(groups, combination).lower_limit(level)
        for weight, combination in coin_combinations(lottery)
    )


def summed_accuracy(release: Release, lottery: Floats, level: float) -> float:
    """A lower bound on the accuracy, if each threshold of each group has its limit at a level."""
    return sum(
        float(lottery[a, j]) * release.right_rate([a], [j]).lower_limit(level)
        for a, j in np.argwhere(lottery > 0).tolist()
    )


def fixed_accuracy(release: Release, confidence: float) -> float:
    """A lower bound on the accuracy of the decisions that a release with two bins counts."""
    k = len(release.groups)
    return release.right_rate(range(k), [1] * k).lower_limit(1 - confidence)


def combination_level(eta: float, thresholds: int, groups: int) -> float:
    """The error probability of each combination of one threshold per group.

    >>> combination_level(0.05, 3, groups=2) * 3 * 3
    0.05
    """
    return eta / float(thresholds) ** groups


def threshold_level(eta: float, thresholds: int, groups: int) -> float:
    """The error probability of each threshold of each group, when all hold at once."""
    return eta / (groups * thresholds)


def coin_combinations(lottery: Floats) -> Iterator[tuple[float, list[int]]]:
    """Combinations of thresholds with their probabilities, if all groups use the same coin.

    The accuracy of a lottery does not depend on how the groups' coins depend on each other, and
    with one coin there are few combinations.

    >>> list(coin_combinations(np.array([[0.5, 0.5], [0.25, 0.75]])))
    [(0.25, [0, 0]), (0.25, [0, 1]), (0.5, [1, 1])]
    """
    ends = np.cumsum(lottery, axis=1)
    ends[:, -1] = 1.0
    coins = np.unique(np.concatenate([[0.0], ends.ravel().clip(0, 1)]))
    for low, high in itertools.pairwise(coins.tolist()):
        places = [int(np.searchsorted(row, (low + high) / 2)) for row in ends]
        yield high - low, places


def union_bound(
    release: Release,
    lottery: Floats,
    notion: Notion,
    confidence: float,
    thresholds: int,
    method: Method,
) -> RuleBound:
    """Worst case over intervals, all at once, of so many thresholds (over all statistics)."""
    level = threshold_level(1 - confidence, thresholds, len(release.groups))
    intervals = tuple(
        tuple(_mixture(release, a, s, lottery[a], level) for a in range(len(release.groups)))
        for s in notion.statistics
    )
    return _worst(intervals, notion, confidence, method)


def _mixture(
    release: Release, group: int, statistic: Statistic, weights: Floats, level: float
) -> Interval:
    low = high = 0.0
    for j in np.flatnonzero(weights > 0).tolist():
        if j in (0, len(weights) - 1) and not statistic.correct:
            ends = (1.0, 1.0) if j == 0 else (0.0, 0.0)
        else:
            rate = release.rate(group, j, statistic.labels, correct=statistic.correct)
            ends = _interval(rate, level)
        low, high = low + float(weights[j]) * ends[0], high + float(weights[j]) * ends[1]
    return max(0.0, low), min(1.0, high)


def _interval(rate: NoisyRate, level: float) -> Interval:
    """The interval of a rate; (0, 1) at levels that are numerically zero."""
    return rate.interval(level) if level >= _SMALLEST else (0.0, 1.0)


def _worst(
    intervals: tuple[tuple[Interval, ...], ...],
    notion: Notion,
    confidence: float,
    method: Method,
) -> RuleBound:
    pairs: dict[tuple[int, int], float] = {}
    for a, b in itertools.combinations(range(len(intervals[0])), 2):
        pairs[(a, b)] = max(
            max(
                interval_gap(row[a][1], row[b][0], ratio=notion.ratio),
                interval_gap(row[b][1], row[a][0], ratio=notion.ratio),
            )
            for row in intervals
        )
    return RuleBound(max(pairs.values(), default=0.0), confidence, method, pairs, intervals)


def interval_gap(high: float, low: float, *, ratio: bool) -> float:
    """The gap between the upper end of one group's rate and the lower end of another's."""
    if ratio:
        return max(0.0, 1 - low / high) if high > 0 else 0.0
    return max(0.0, high - low)
