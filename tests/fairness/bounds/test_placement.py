"""Placed thresholds: the bound holds for every population, and broken variants do not."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from fairness.tables import discrete_laplace, window
from scipy.stats import binom
from trust.levels import asked

from dpfair.errors import InputError
from dpfair.fairness.bounds.bands import interval_gap
from dpfair.fairness.bounds.deviations import Deviation
from dpfair.fairness.bounds.placement import (
    cell_limit,
    cover,
    place,
    placed_bound,
    placed_rates,
    placed_threshold,
    placement_bound,
    placement_levels,
)
from dpfair.fairness.dither import GRAIN, Window, placement_grid
from dpfair.fairness.goal import Goal
from dpfair.fairness.lottery import Choice
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.planning import planned_rates
from dpfair.fairness.release import Release, score_grid

PARITY, OPPORTUNITY = NOTIONS["demographic_parity"], NOTIONS["equal_opportunity"]


class World(NamedTuple):
    """Populations on finitely many scores, so that every rate is known exactly."""

    scores: np.ndarray
    weights: np.ndarray  # [group, score]
    positive: np.ndarray  # P(label 1 | score)

    def cells(self, edges: np.ndarray) -> np.ndarray:
        """P(label, bin) of dithered scores in every group."""
        ends = np.pad(edges * GRAIN, ((0, 0), (1, 1)), constant_values=((0, 0), (0, GRAIN)))
        grains = (self.scores[:, None] >= np.arange(1, GRAIN) / GRAIN).sum(axis=1)
        shares = []
        for row, weight in zip(ends, self.weights, strict=True):
            # How much of a score's grain lies in each bin.
            over = np.minimum(row[1:], grains[:, None] + 1) - np.maximum(row[:-1], grains[:, None])
            inside = np.maximum(over, 0) * weight[:, None]
            shares.append([(1 - self.positive) @ inside, self.positive @ inside])
        return np.array(shares)

    def rate(self, rule, group: int, notion) -> float:
        weight = self.weights[group]
        if notion.statistics[0].labels == (1,):
            weight = weight * self.positive
        chances = rule.probabilities(np.full(len(self.scores), group), self.scores)
        return float(chances @ weight / weight.sum())

    def windows(self, targets, notion, sizes=None, half=0.03, wrong=0.0):
        """Around the cut of each target, or ``wrong`` away from it."""
        windows = []
        sizes = [5000] * len(targets) if sizes is None else sizes
        for weight, target, size in zip(self.weights, targets, sizes, strict=True):
            weight = weight * self.positive if notion is OPPORTUNITY else weight
            above = np.cumsum(weight[::-1])[::-1] / weight.sum()
            cut = self.scores[min(int((above >= target).sum()), len(above)) - 1] + wrong
            mass = weight[np.abs(self.scores - cut) <= half].sum() / weight.sum()
            windows.append(Window((cut - half, cut + half), (mass,), rate=target, size=size))
        return windows


def smooth(k: int) -> World:
    scores = (np.arange(4000) + 0.5) / 4000
    weights = np.array([scores ** (0.3 + 0.2 * a) * (1 - scores) ** 2 for a in range(k)])
    return World(scores, weights / weights.sum(axis=1, keepdims=True), 0.05 + 0.9 * scores)


def lumps(k: int) -> World:
    """Five scores only; some on a multiple of 1 / GRAIN, where rounding matters."""
    scores = np.array([0.105, 0.29, 0.33, 0.57, 0.8])
    weights = np.array([[0.3 + 0.05 * a, 0.25, 0.2, 0.15, 0.1] for a in range(k)])
    return World(scores, weights / weights.sum(axis=1, keepdims=True), 0.05 + 0.9 * scores)


def releases(trial, sizes, edges, epsilon, count, seed=0):
    """Noisy tables of independent records."""
    rng, k = np.random.default_rng(seed), len(sizes)
    cells = trial.cells(edges)
    names, noise = tuple("abcdef"[:k]), (float(epsilon),) * k
    exact = np.stack(
        [rng.multinomial(n, p.ravel(), count) for n, p in zip(sizes, cells, strict=True)], axis=1
    ).reshape(count, *cells.shape)
    noisy = exact + discrete_laplace(rng, epsilon, exact.shape)
    return [Release(names, edges, table, noise, None, "", GRAIN) for table in noisy]


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


def least(count: int, level: float = 0.95) -> float:
    """Fewer successes than this have a probability below 1e-4 if the level holds."""
    return float(binom.ppf(1e-4, count, level)) / count


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


@pytest.mark.parametrize(
    ("grains", "cell", "expected"),
    [
        ([50, 50.25, 50.5, 51, 60], 2, (1, 4, 0.25)),  # part of a grain
        ([50, 50.25, 50.5, 51, 60], 4, (4, 5, 1)),  # many grains
        ([50, 51, 60], 1, (1, 2, 1)),  # one grain
        ([50, 52.5, 55], 1, (1, 2, 1)),  # half a grain more: all of it may be in the other two
        ([50, 52.5, 55], 2, (2, 3, 1)),
        ([52.5, 52.75, 55], 1, (0, 3, 0.25)),  # the grain begins and ends inside other cells
        ([0.5, 1], 0, (0, 2, 0.5)),
        ([99.5], 1, (0, 2, 0.5)),
    ],
)
def test_a_cell_is_judged_by_the_grains_around_it(grains, cell, expected):
    start, stop, part = cover(np.array(grains) / GRAIN, cell)
    assert (start, stop) == expected[:2]
    assert part == pytest.approx(expected[2], abs=1e-6)
    assert part >= expected[2]


def test_covers_are_upper_bounds_for_any_masses():
    """Whatever the grains hold, a cell has at most its part of its cover."""
    rng = np.random.default_rng(0)
    narrow = placement_grid([window(0.2, 0.27), window(0.8, 0.8)], 3.0)
    for grid in (narrow, np.sort(rng.random((20, 9)))):
        for row in grid:
            grains = rng.random(GRAIN) ** 8
            ends = np.array([0.0, *row, 1.0]) * GRAIN
            curve = np.interp(ends, np.arange(GRAIN + 1), np.append(0, np.cumsum(grains)))
            for cell in range(len(row) + 1):
                start, stop, part = cover(row, cell)
                mass = curve[cell + 1] - curve[cell]
                assert mass <= part * (curve[stop] - curve[start]) + 1e-9


@pytest.mark.parametrize("wrong", [0.0, 0.3])
def test_the_mass_of_the_cell_is_not_understated(wrong):
    """Also where the cut falls outside its window, in a cell of a whole grain or more."""
    trial, targets = lumps(1), (0.3,)
    edges = placement_grid(trial.windows(targets, PARITY, wrong=wrong), 3.0)
    true = trial.cells(edges)[0].sum(axis=0)
    held = []
    for release in releases(trial, (400,), edges, 3.0, 100):
        cell = placed_threshold(release, 0, PARITY.statistics[0], 0.3) - 1
        limit = cell_limit(release, 0, PARITY.statistics[0], 0.3, 0.05)
        held.append(true[cell] <= limit)
    assert np.mean(held) >= least(100)
    assert cell_limit(release, 0, PARITY.statistics[0], 0.3, 1e-9) == 1


def implied(bound) -> float:
    """The largest gap that the intervals allow."""
    return max(
        interval_gap(first[1], second[0], ratio=False)
        for row in bound.intervals
        for first, second in itertools.permutations(row, 2)
    )


def table(counts, noise=math.inf, edges=(0.25, 0.5, 0.75)):
    names = tuple("abcdef"[: len(counts)])
    return Release(names, edges, counts, (noise,) * len(counts), None, "", GRAIN)


@pytest.mark.parametrize(
    ("counts", "target", "threshold"),
    [
        ([5, 5, 5, 5], 0.5, 3),  # 10 of 20 reach the target, 5 do not
        ([5, 5, 5, 5], 0.51, 2),
        ([5, 5, 5, 5], 0.0, 4),
        ([5, 5, 5, 5], 1.0, 1),
        ([9, -3, 7, -3], 0.1, 3),  # the last edge at which the count reaches it
        ([-5, -5, 3, 3], 0.5, 4),  # no size, nobody
        ([0, 0, 0, 0], 0.5, 4),
        ([27, 0, 0, 3], 0.1, 4),  # 3 of 30 reach 0.1, although 0.1 * 30 may be above 3
        ([993, 0, 0, 7], 0.007, 4),
    ],
)
def test_where_a_threshold_is_placed(counts, target, threshold):
    release = table([[counts]])
    choice = place(release, PARITY.statistics[0], [target])
    assert choice.lottery[0].tolist() == [float(j == threshold) for j in range(5)]
    assert choice.grain == GRAIN


def test_true_positive_rates_are_placed_among_positives():
    release = table([[[90, 5, 5, 0], [10, 10, 10, 10]]])
    choice = place(release, OPPORTUNITY.statistics[0], [0.5])
    assert choice.lottery[0].tolist() == [0, 0, 0, 1, 0]


def test_groups_without_records_may_have_any_rate():
    empty = table([[[0, 0, 0, 0]] * 2, [[100, 100, 100, 100]] * 2])
    for targets in ([0.2, 0.2], [0.9, 0.1], [0.1, 0.9]):
        bound = placement_bound(empty, PARITY, targets, 0.95)
        assert bound.intervals[0][0] == (0, 1)
        # Its rate may be anything, and the gap is that to the other group's.
        assert max(targets[1], 1 - targets[1]) < bound.bound <= implied(bound)
    assert (
        placement_bound(table([[[0, 1, 2, 3]]] * 2, noise=0.01), PARITY, [0.5] * 2, 0.95).bound == 1
    )


def test_every_pair_and_interval():
    release = table([[[700, 300, 100, 100]] * 2, [[70, 30, 10, 10]] * 2, [[5, 5, 1, 1]] * 2])
    targets = [0.2, 0.2, 0.3]
    bound = placement_bound(release, PARITY, targets, 0.95)
    assert set(bound.pairs) == {(0, 1), (0, 2), (1, 2)}
    assert bound.bound == max(bound.pairs.values())
    assert bound.pairs[(0, 1)] < bound.pairs[(0, 2)]
    widths = [high - low for low, high in bound.intervals[0]]
    assert widths == sorted(widths)
    for (low, high), target in zip(bound.intervals[0], targets, strict=True):
        assert low <= target <= high
    surer = placement_bound(release, PARITY, targets, 0.999)
    assert surer.bound > bound.bound
    ratio = placement_bound(release, NOTIONS["parity_ratio"], targets, 0.95)
    (low, _), (_, high) = ratio.intervals[0][1], ratio.intervals[0][0]
    assert ratio.pairs[(0, 1)] >= 1 - low / high


def test_a_rate_lies_between_zero_and_one():
    """Where nobody or everybody is to be accepted, there is nothing to fall short of."""
    release = table([[[700, 300, 100, 100]] * 2] * 2, noise=3.0)
    none = placement_bound(release, PARITY, [0.0, 0.0], 0.95)
    assert none.bound < 0.2
    everybody = placement_bound(release, PARITY, [1.0, 1.0], 0.95)
    assert [high for _, high in everybody.intervals[0]] == [1, 1]


def test_a_single_group_has_no_gap():
    assert placement_bound(table([[[70, 30, 10, 10]] * 2]), PARITY, [0.2], 0.95).pairs == {}


def test_confidence_beyond_the_arithmetic_says_nothing():
    release = table([[[700, 300, 100, 100]] * 2] * 2, noise=1.0)
    assert placement_bound(release, PARITY, [0.2, 0.2], 1 - 2e-8).bound == 1


def test_what_cannot_be_placed():
    release = table([[[5, 5, 5, 5]] * 2] * 2)
    with pytest.raises(InputError, match="one target per group"):
        placement_bound(release, PARITY, [0.2], 0.95)
    with pytest.raises(InputError, match="single rate"):
        placement_bound(release, NOTIONS["equalized_odds"], [0.2, 0.2], 0.95)
    public = Release(("a", "b"), (0.5,), [[[5, 5]]] * 2, (1.0, 1.0), (10, 10), "")
    with pytest.raises(InputError, match="all cells noisy"):
        placement_bound(public, PARITY, [0.2, 0.2], 0.95)
    plain = Release(("a", "b"), (0.5,), [[[5, 5]]] * 2, (1.0, 1.0), None, "")
    with pytest.raises(InputError, match="dithered scores"):
        placement_bound(plain, PARITY, [0.2, 0.2], 0.95)


def test_the_cell_is_added_to_a_sum_that_does_not_depend_on_it():
    """Its limit depends on the release: it must not decide at which level the rest is read."""
    release = table([[[700, 300, 100, 100]] * 2, [[70, 30, 10, 10]] * 2], noise=2.0)
    for targets in ([0.2, 0.2], [0.05, 0.02]):
        bounds, placed = [], placed_rates(release, PARITY, targets, 0.95)
        for cell in (0.0, 0.004, 0.01):
            bound = placed_bound([replace(rate, cell=cell) for rate in placed], PARITY, 0.95)
            bounds.append(bound.bound - cell)
            assert bound.bound <= implied(bound) + 1e-12
        assert bounds == pytest.approx([bounds[0]] * 3)


def test_no_gap_exceeds_the_top_of_a_rate():
    """However heavy the cell of the other group is; the top is paid for apart."""
    release = table([[[700, 300, 100, 100]] * 2, [[70, 30, 10, 10]] * 2])
    placed = placed_rates(release, PARITY, [0.2, 0.2], 0.95)
    with asked() as found:
        bound = placed_bound([replace(rate, cell=1.0) for rate in placed], PARITY, 0.95)
    levels = placement_levels(0.05, 2)
    assert sorted(set(found.quantiles)) == pytest.approx([levels.top, levels.rate])
    assert bound.bound == max(high for _, high in bound.intervals[0])
    assert 0.2 < bound.bound < 0.45


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_the_levels_add_up(k):
    levels = placement_levels(0.05, k)
    alone = k * (levels.size + levels.cell)
    pairs = max(k * (k - 1), 1) * levels.pair
    assert alone + k * levels.top + pairs == pytest.approx(0.05)
    assert alone + 2 * k * levels.rate <= 0.05  # the intervals, a statement of their own
    assert 2 * levels.rate == pytest.approx(levels.pair)
    assert min(levels.size, levels.cell, levels.top, levels.rate) > 0


def test_what_a_bound_rests_on_is_read_at_its_level():
    """The cell's limit is for all cells at once, so each has a part of the level."""
    release = table([[[70, 30, 10, 10]] * 2] * 2, noise=1.0)
    with asked() as found:
        placement_bound(release, PARITY, [0.2, 0.2], 0.95)
    levels = placement_levels(0.05, 2)
    assert found.levels("upper") == pytest.approx([levels.cell / 4] * 2)  # cells of many grains
    assert found.levels("sizes") == pytest.approx([levels.size] * 2)
    assert found.sums == pytest.approx([levels.pair])


def plan_of(trial, sizes, epsilon, seed) -> Release:
    """A planning table: other records, wide bins, scores that are not dithered."""
    rng, k = np.random.default_rng(1000 + seed), len(sizes)
    edges = np.tile(score_grid(epsilon), (k, 1))
    bins = np.searchsorted(edges[0], trial.scores, side="right")
    counts = np.zeros((k, 2, edges.shape[1] + 1), dtype=np.int64)
    for table, n, weight in zip(counts, sizes, trial.weights, strict=True):
        both = np.stack([weight * (1 - trial.positive), weight * trial.positive])
        drawn = rng.multinomial(n, both.ravel() / both.sum()).reshape(both.shape)
        for row, part in zip(table, drawn, strict=True):
            np.add.at(row, bins, part)
    noise = discrete_laplace(rng, epsilon, counts.shape)
    return Release(tuple("abcdef"[:k]), edges, counts + noise, (epsilon,) * k, None, "")


def planned_bounds(trial, n, count, *, wrong=0.0, plans=2) -> list[float]:
    """Bounds of placements from plan to release, half of n records in each."""
    sizes, bounds = (n // 6, n // 3), []
    for seed in range(plans):
        plan = plan_of(trial, sizes, 0.3, seed)
        target = planned_rates(plan, Goal(PARITY), smallest=50, ratio=1.0)
        windows = [
            replace(w, ends=tuple(min(1.0, e + wrong) for e in w.ends)) for w in target.windows
        ]
        edges = placement_grid(windows, 3.0)
        for release in releases(trial, sizes, edges, 3.0, count // plans, seed):
            bound = placement_bound(release, PARITY, target.rates, 0.95)
            assert bound.bound <= implied(bound) + 1e-12
            bounds.append(bound.bound)
    return bounds


def check_scaling(count, sizes=(10**4, 10**6)):
    medians = []
    for n in sizes:
        bounds = planned_bounds(smooth(2), n, count)
        assert max(bounds) <= 1.5 * np.median(bounds)
        medians.append(float(np.median(bounds)) * math.sqrt(n))
    assert max(medians) <= 1.5 * min(medians)  # like 1 / sqrt(n)


def check_hard_cases(count, plans, sizes=(10**4, 10**5)):
    """Few scores, or a window that misses: no bound far from the others, and no worse with n."""
    for trial, wrong in ((lumps(2), 0.0), (smooth(2), 0.25)):
        medians = []
        for n in sizes:
            bounds = planned_bounds(trial, n, count, wrong=wrong, plans=plans)
            assert max(bounds) <= 1.5 * np.median(bounds)
            medians.append(np.median(bounds))
        assert medians == sorted(medians, reverse=True)


def test_bounds_of_placements_are_alike_and_shrink_with_the_records():
    check_scaling(6)


def test_bounds_of_hard_placements_are_alike():
    check_hard_cases(4, plans=1)


@pytest.mark.slow
def test_bounds_of_many_placements_are_alike():
    check_scaling(20, (10**4, 10**5, 10**6))
    check_hard_cases(20, 4, (10**4, 10**5, 10**6))


def test_the_bound_of_a_table_like_adult():
    """What the module is for: 17,000 counted records, epsilon 3, a rate of 0.2."""
    trial = smooth(2)
    edges = placement_grid(trial.windows((0.2, 0.2), PARITY, (5500, 11500)), 3.0)
    [release] = releases(trial, (5500, 11500), edges, 3.0, 1)
    assert placement_bound(release, PARITY, [0.2, 0.2], 0.95).bound < 0.0155
