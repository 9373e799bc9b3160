"""Placed thresholds: the bound holds for every population, and broken variants do not."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom

from dpfair.errors import InputError
from dpfair.fairness.bounds import placement
from dpfair.fairness.bounds.bands import interval_gap
from dpfair.fairness.bounds.placement import (
    GRAIN,
    MAX_PLACED_BINS,
    Window,
    dithered,
    place,
    placement_bound,
    placement_grid,
    placement_levels,
)
from dpfair.fairness.bounds.tails import NoiseLaw, expected_chance, reaches
from dpfair.fairness.choice import planned_rates
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.optimal import Choice, Goal
from dpfair.fairness.rates import NoisyRate, noise_masses
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


def window(low, high, mass=0.2, size=5000.0) -> Window:
    return Window((low, high), (mass,), rate=0.3, size=size)


def smooth(k: int) -> World:
    scores = (np.arange(4000) + 0.5) / 4000
    weights = np.array([scores ** (0.3 + 0.2 * a) * (1 - scores) ** 2 for a in range(k)])
    return World(scores, weights / weights.sum(axis=1, keepdims=True), 0.05 + 0.9 * scores)


def lumps(k: int) -> World:
    """Five scores only; some on a multiple of 1 / GRAIN, where rounding matters."""
    scores = np.array([0.105, 0.29, 0.33, 0.57, 0.8])
    weights = np.array([[0.3 + 0.05 * a, 0.25, 0.2, 0.15, 0.1] for a in range(k)])
    return World(scores, weights / weights.sum(axis=1, keepdims=True), 0.05 + 0.9 * scores)


def discrete_laplace(rng, t: float, shape) -> np.ndarray:
    if math.isinf(t):
        return np.zeros(shape, dtype=np.int64)
    return rng.geometric(-math.expm1(-t), shape) - rng.geometric(-math.expm1(-t), shape)


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


def coverage(trial, sizes, targets, epsilon, notion=PARITY, count=1000, wrong=0.0, seed=0):
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
        placed = [placement._placed(table, a, statistic, r) for a, r in enumerate(targets)]
        rates = [rate(a, threshold) for a, threshold in enumerate(placed)]
        gaps.append(notion.gap([rates]))
    few = [placement_bound(table, notion, targets, 0.95).bound for table in tables[:4]]
    held = 0
    for table, gap in zip(tables, gaps, strict=True):
        if gap < 0.9 * min(few):
            held += 1
        else:
            held += gap <= placement_bound(table, notion, targets, 0.95).bound + 1e-12
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


def test_without_the_mass_of_the_cell_it_does_not_hold(monkeypatch):
    """Far from its window a cut moves in whole grains, here with a tenth of all records each."""
    case = (lumps(2), (20_000, 40_000), (0.3, 0.2), math.inf, PARITY, 80, 0.3)
    assert coverage(*case)[0] >= least(80)
    monkeypatch.setattr(placement, "_cell_mass", lambda *_: 0.0)
    assert coverage(*case)[0] < 0.5


def test_with_half_the_deviation_it_does_not_hold(monkeypatch):
    case = (smooth(2), (2000, 4000), (0.2, 0.2), math.inf, PARITY, 80)
    whole = placement._deviations

    def half(*arguments):
        return [placement._Deviation(d.points / 2, d.above) for d in whole(*arguments)]

    monkeypatch.setattr(placement, "_deviations", half)
    assert coverage(*case)[0] < least(80)


def test_counted_and_decided_shares_agree():
    """From raw scores to counts and from the rule back: the same share of every score."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([np.arange(0, 101) / 100, rng.random(50), [0.29, 0.57, 0.58]])
    edges = placement_grid([window(0.26, 0.31)], 3.0)
    coins = (np.arange(4000) + 0.5) / 4000
    nothing = np.zeros((1, 2, 1))
    for threshold in range(edges.shape[1] + 2):
        lottery = np.zeros((1, edges.shape[1] + 2))
        lottery[0, threshold] = 1
        rule = Choice(lottery, nothing, nothing, edges, GRAIN).rule()
        decided = rule.probabilities(np.zeros(len(scores), dtype=int), scores)
        cut = np.array([-1.0, *edges[0], 2.0])[threshold]
        counted = (dithered(scores[:, None], coins) >= cut).mean(axis=1)
        np.testing.assert_allclose(decided, counted, atol=1 / 2000)


def test_a_dithered_score_keeps_its_grain():
    grid = np.arange(0, 101) / 100
    for coin in (0.0, 0.5, 1 - 1e-9):
        kept = np.searchsorted(grid, dithered(grid, np.full(101, coin)), side="right") - 1
        assert kept.tolist() == [*range(100), 99]
    assert dithered(np.array([-0.5, 1.5]), np.array([0.5, 0.5])).tolist() == [0.005, 0.995]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_grids_are_narrow_in_the_window(epsilon):
    ends = [(0.30, 0.36), (0.5, 0.5), (0.97, 1.2), (-1, 0.01), (0, 1)]
    windows = [window(*row, mass=0.4, size=20_000.0) for row in ends]
    grid = placement_grid(windows, epsilon)
    assert grid.shape[0] == 5
    assert grid.shape[1] < MAX_PLACED_BINS
    assert (np.diff(grid, axis=1) > 1e-9).all()
    assert grid.min() > 0
    assert grid.max() < 1
    inside = grid[0][(grid[0] >= 0.30) & (grid[0] <= 0.36)]
    assert np.diff(inside).max() < 0.6 / GRAIN
    wide = np.round(np.array(score_grid(epsilon)) * GRAIN)
    for row in grid:
        assert set(wide) <= set(np.round(row * GRAIN, 9))


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
    start, stop, part = placement._cover(np.array(grains) / GRAIN, cell)
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
                start, stop, part = placement._cover(row, cell)
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
        cell = placement._placed(release, 0, PARITY.statistics[0], 0.3) - 1
        limit = placement._cell_mass(release, 0, PARITY.statistics[0], 0.3, 0.05)
        held.append(true[cell] <= limit)
    assert np.mean(held) >= least(100)
    assert placement._cell_mass(release, 0, PARITY.statistics[0], 0.3, 1e-9) == 1


def test_tails_against_a_sum_over_all_counts():
    rng = np.random.default_rng(0)
    for n, k in ((1, 0.5), (7, 3.0), (40, 12.5), (40, -3), (40, 60)):
        places, masses = np.array([-2.5, 0, 1.2, 30]), rng.dirichlet(np.ones(4), 3).T
        rates = np.array([-0.1, 0.0, 0.3, 0.9, 1.0])
        got = reaches(n, rates, NoiseLaw(places, masses), k)
        for p, value in zip(np.clip(rates, 0, 1), got, strict=True):
            chances = binom.sf(np.ceil(k - places) - 1, n, p)
            assert value == pytest.approx((chances @ masses).max(), abs=1e-8)
            assert value >= min(1, (chances @ masses).max())


def survival(noise, law=0):
    order = np.argsort(noise.places)
    places, masses = noise.places[order], noise.masses[order, law]
    return lambda z: masses[places >= z].sum()


@pytest.mark.parametrize(("t", "target"), [(0.3, 0.2), (2.0, 0.5), (1.0, 0.0), (1.0, 0.9)])
def test_the_lift_is_above_the_maximum_of_the_walk(t, target):
    rng = np.random.default_rng(0)
    walks = np.cumsum(discrete_laplace(rng, t, (100_000, 12)), axis=1)
    lifts = np.maximum(walks.max(axis=1), 0) - target * walks[:, -1]
    law = survival(placement._lift(t, 12, target))
    for z in np.quantile(lifts, [0.5, 0.9, 0.99, 0.999]):
        seen = (lifts >= z).mean()
        assert law(z) >= seen - 4 * math.sqrt(seen / 100_000)
        assert law(z) <= 2 * seen + 0.01  # not by much


def test_a_lift_of_one_step_is_nearly_exact():
    exact = noise_masses(0.5, 1)
    ends = np.arange(len(exact)) - len(exact) // 2
    law = survival(placement._lift(0.5, 1, 0.25))
    for z in (0.5, 1.0, 3.0, 8.0):
        true = exact[np.maximum(ends, 0) - 0.25 * ends >= z].sum()
        assert true <= law(z) <= 3 * true


@pytest.mark.parametrize("t", [0.3, 2.0])
def test_shortfalls_are_the_noise_of_each_edge(t):
    rng = np.random.default_rng(0)
    cells = discrete_laplace(rng, t, (100_000, 3, 2)).sum(axis=2)  # three bins of two rows
    laws = placement._shortfalls(t, 2, 3, 0.3)
    assert laws.masses.sum(axis=0) == pytest.approx(1)
    for above in range(4):
        seen = 0.7 * cells[:, :above].sum(axis=1) + 0.3 * cells[:, above:].sum(axis=1)
        for z in np.quantile(seen, [0.2, 0.5, 0.9, 0.99]) - 1e-6:
            share = (seen >= z).mean()
            assert survival(laws, above)(z) >= share - 4 * math.sqrt(share / 100_000)
            assert survival(laws, above)(z) <= (seen >= z - 0.5 / t).mean() + 0.01


def test_exact_counts_have_no_noise():
    assert placement._lift(math.inf, 10, 0.2).places.tolist() == [0]
    laws = placement._shortfalls(math.inf, 2, 5, 0.2)
    assert laws.places == pytest.approx([0], abs=1e-9)
    assert laws.masses.tolist() == [[1.0] * 6]


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


def test_the_cell_is_added_to_a_sum_that_does_not_depend_on_it(monkeypatch):
    """Its limit depends on the release: it must not decide at which level the rest is read."""
    release = table([[[700, 300, 100, 100]] * 2, [[70, 30, 10, 10]] * 2], noise=2.0)
    for targets in ([0.2, 0.2], [0.05, 0.02]):
        bounds = []
        for cell in (0.0, 0.004, 0.01):
            monkeypatch.setattr(placement, "_cell_mass", lambda *_, c=cell: c)
            bound = placement_bound(release, PARITY, targets, 0.95)
            bounds.append(bound.bound - cell)
            assert bound.bound <= implied(bound) + 1e-12
        assert bounds == pytest.approx([bounds[0]] * 3)


def test_no_gap_exceeds_the_top_of_a_rate(monkeypatch):
    """However heavy the cell of the other group is; the top is paid for apart."""
    release = table([[[700, 300, 100, 100]] * 2, [[70, 30, 10, 10]] * 2])
    monkeypatch.setattr(placement, "_cell_mass", lambda *_: 1.0)
    seen = []
    quantile = placement._Deviation.quantile
    monkeypatch.setattr(
        placement._Deviation,
        "quantile",
        lambda self, level: seen.append(level) or quantile(self, level),
    )
    bound = placement_bound(release, PARITY, [0.2, 0.2], 0.95)
    levels = placement_levels(0.05, 2)
    assert sorted(set(seen)) == pytest.approx([levels.top, levels.rate])
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


def test_what_a_bound_rests_on_is_read_at_its_level(monkeypatch):
    """The cell's limit is for all cells at once, so each has a part of the level."""
    sums, pairs = placement._sum_quantiles, []
    monkeypatch.setattr(
        placement, "_sum_quantiles", lambda *given: pairs.append(given[2]) or sums(*given)
    )
    release = table([[[70, 30, 10, 10]] * 2] * 2, noise=1.0)
    seen = {"size_range": [], "upper_limit": []}
    for name, levels in seen.items():
        plain = getattr(NoisyRate, name)

        def asked(self, eta, plain=plain, levels=levels):
            levels.append(eta)
            return plain(self, eta)

        monkeypatch.setattr(NoisyRate, name, asked)
    placement_bound(release, PARITY, [0.2, 0.2], 0.95)
    levels = placement_levels(0.05, 2)
    assert seen["upper_limit"] == pytest.approx([levels.cell / 4] * 2)  # four cells of many grains
    assert seen["size_range"][::2] == pytest.approx([levels.size] * 2)
    assert pairs == pytest.approx([levels.pair])


def test_a_mean_over_counts_is_rounded_up():
    """Also when rates are so far apart that they are taken in pieces."""
    for n in (1, 30, 4000, 10**6):
        rates = np.array([0.0, 1e-6, 0.2, 0.21, 0.6, 1.0])
        for needed in (0, 1, n // 5, n):
            got = expected_chance(n, rates, lambda c, k=needed: (c >= k).astype(float))
            exact = binom.sf(needed - 1, n, rates)
            assert got == pytest.approx(exact, abs=1e-7)
            assert (got >= exact).all()


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
