"""The bound of placed thresholds holds for every population, and broken variants do not."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from fairness.bounds.placement.worlds import OPPORTUNITY, PARITY, least, lumps, releases, smooth

from dpfair.fairness.bounds.deviations import Deviation
from dpfair.fairness.bounds.placement import (
    placed_bound,
    placed_rates,
    placed_threshold,
    placement_bound,
)
from dpfair.fairness.dither import GRAIN, placement_grid
from dpfair.fairness.lottery import Choice
from dpfair.fairness.notions import NOTIONS


def coverage(
    trial,
    sizes,
    targets,
    epsilon,
    notion=PARITY,
    count=1000,
    wrong=0.0,
    seed=0,
    bound=placement_bound,
):
    """Share of releases whose true gap is below the bound, the bound, and the gap's quantile.

    Where the gap is far below all bounds seen, the bound is not computed again.
    """
    windows = trial.windows(targets, notion, sizes, wrong=wrong)
    edges = placement_grid(windows, min(epsilon, 100.0))
    tables = releases(trial, sizes, edges, epsilon, count, seed)
    statistic = notion.statistics[0]

    @cache
    def rate(group: int, threshold: int) -> float:
        lottery = np.zeros((len(sizes), edges.shape[1] + 2))
        lottery[:, threshold] = 1
        nothing = np.zeros((len(sizes), 2, 1))
        rule = Choice(lottery, nothing, nothing, edges, GRAIN).rule()
        return trial.rate(rule, group, notion)

    gaps = []
    for table in tables:
        placed = [placed_threshold(table, a, statistic, r) for a, r in enumerate(targets)]
        rates = [rate(a, threshold) for a, threshold in enumerate(placed)]
        gaps.append(notion.gap([rates]))
    few = [bound(table, notion, targets, 0.95).bound for table in tables[:4]]
    held = 0
    for table, gap in zip(tables, gaps, strict=True):
        if gap < 0.9 * min(few):
            held += 1
        else:
            held += gap <= bound(table, notion, targets, 0.95).bound + 1e-12
    return held / count, float(np.median(few)), float(np.quantile(gaps, 0.95))


FAST = {
    "smooth": (smooth(2), (2000, 4000), (0.2, 0.2), math.inf, PARITY, 0.0, 500),
    "lumps": (lumps(2), (2000, 4000), (0.3, 0.3), math.inf, PARITY, 0.0, 2000),
    "tiny": (lumps(2), (30, 60), (0.34, 0.34), math.inf, PARITY, 0.0, 500),
    "five groups": (smooth(5), (500,) * 5, (0.3, 0.3, 0.31, 0.3, 0.3), math.inf, PARITY, 0.0, 300),
    "noise": (smooth(2), (1000, 2000), (0.2, 0.2), 3.0, PARITY, 0.0, 60),
    "opportunity": (smooth(2), (1000, 1500), (0.5, 0.5), 3.0, OPPORTUNITY, 0.0, 60),
    "wrong window": (smooth(2), (2000, 3000), (0.2, 0.2), math.inf, PARITY, 0.2, 1000),
}


@pytest.mark.parametrize("case", FAST.values(), ids=FAST)
def test_the_bound_holds(case):
    trial, sizes, targets, epsilon, notion, wrong, count = case
    share, bound, quantile = coverage(trial, sizes, targets, epsilon, notion, count, wrong)
    assert share >= least(count)
    assert bound < 3 * quantile  # and it says something


BIG, TINY = (5500, 11500), (30, 60)
FIVE, UNLIKE = (500, 800, 700, 900, 3000), (0.3, 0.32, 0.28, 0.3, 0.3)
SLOW = {
    **{
        f"smooth, eps {eps:g}, {notion.name}": (smooth(2), BIG, (0.2, 0.2), eps, notion, 0.0)
        for eps in (0.1, 0.5, 3.0, math.inf)
        for notion in (PARITY, OPPORTUNITY)
    },
    **{
        f"lumps, eps {eps:g}": (lumps(2), BIG, (0.2, 0.2), eps, PARITY, 0.0)
        for eps in (0.5, 3.0, math.inf)
    },
    "wrong window, eps 3": (smooth(2), BIG, (0.2, 0.2), 3.0, PARITY, 0.15),
    "wrong window, lumps, eps 3": (lumps(2), BIG, (0.2, 0.2), 3.0, PARITY, -0.15),
    "tiny, eps 3": (smooth(2), TINY, (0.3, 0.3), 3.0, PARITY, 0.0),
    "tiny, exact": (smooth(2), TINY, (0.3, 0.3), math.inf, PARITY, 0.0),
    "five groups, eps 3": (smooth(5), FIVE, UNLIKE, 3.0, PARITY, 0.0),
    "five lumpy groups, exact": (lumps(5), FIVE, UNLIKE, math.inf, OPPORTUNITY, 0.0),
    "nobody": (smooth(2), (400, 900), (0.0, 0.05), 3.0, PARITY, 0.0),
    "everybody": (smooth(2), (400, 900), (1.0, 0.9), 3.0, PARITY, 0.0),
    "ratio": (smooth(2), (2000, 4000), (0.3, 0.3), math.inf, NOTIONS["parity_ratio"], 0.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW.values(), ids=SLOW)
def test_the_bound_holds_everywhere(case):
    share, _, _ = coverage(*case[:5], count=1000, wrong=case[5], seed=1)
    assert share >= least(1000)


def changed_bound(change):
    """The bound from rates of which something was changed."""

    def bound(release, notion, targets, confidence):
        placed = placed_rates(release, notion, targets, confidence)
        return placed_bound([change(rate) for rate in placed], notion, confidence)

    return bound


def test_without_the_mass_of_the_cell_it_does_not_hold():
    """Far from its window a cut moves in whole grains, here with a tenth of all records each."""
    case = (lumps(2), (20_000, 40_000), (0.3, 0.2), math.inf, PARITY, 80, 0.3)
    assert coverage(*case)[0] >= least(80)
    no_cell = changed_bound(lambda rate: replace(rate, cell=0.0))
    assert coverage(*case, bound=no_cell)[0] < 0.5


def test_with_half_the_deviation_it_does_not_hold():
    case = (smooth(2), (2000, 4000), (0.2, 0.2), math.inf, PARITY, 80)

    def half(rate):
        above, below = (Deviation(d.points / 2, d.above) for d in (rate.above, rate.below))
        return replace(rate, above=above, below=below)

    assert coverage(*case, bound=changed_bound(half))[0] < least(80)
