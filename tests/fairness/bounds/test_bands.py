"""Bounds for chosen rules: an adversary picks the rule, and for fixed ones nobody does."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom
from trust.levels import asked

from dpfair.errors import InputError
from dpfair.fairness.bounds.bands import (
    accuracy_bound,
    band_bound,
    coin_combinations,
    combination_level,
    combined_accuracy,
    fixed_accuracy,
    fixed_bound,
    summed_accuracy,
    threshold_level,
    union_bound,
)
from dpfair.fairness.bounds.paper import combined_gap_bound
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule

BINS = 6
EDGES = np.arange(1, BINS) / BINS


def population(groups: int = 2) -> np.ndarray:
    """P(label, bin) in every group."""
    bins = np.arange(BINS)
    mass = np.array([(1 + a + bins) % 5 + 1.0 for a in range(groups)])
    share = 0.1 + 0.8 * bins / BINS
    cells = np.stack([mass * (1 - share), mass * share], axis=1)
    return cells / cells.sum(axis=(1, 2), keepdims=True)


def releases(sizes, epsilon, count, seed=0, cells=None):
    rng = np.random.default_rng(seed)
    cells = population(len(sizes)) if cells is None else cells
    exact = np.stack(
        [rng.multinomial(n, p.ravel(), count) for n, p in zip(sizes, cells, strict=True)], axis=1
    ).reshape(count, *cells.shape)
    if math.isfinite(epsilon):
        p = -math.expm1(-epsilon)
        exact = exact + rng.geometric(p, exact.shape) - rng.geometric(p, exact.shape)
    names, edges = tuple("abcdef"[: len(sizes)]), (np.arange(1, cells.shape[2])) / cells.shape[2]
    return [Release(names, edges, table, (epsilon,) * len(sizes), None, "") for table in exact]


def all_values(tables: np.ndarray, notion) -> np.ndarray:
    """The notion's statistics of every threshold: [table, statistic, group, threshold]."""
    tails = np.cumsum(tables[..., ::-1], axis=-1)[..., ::-1]
    tails = np.concatenate([tails, np.zeros((*tails.shape[:-1], 1))], axis=-1)
    rows = []
    for statistic in notion.statistics:
        size = tables[..., list(statistic.labels), :].sum(axis=(-1, -2))[..., None]
        hits = tails[..., list(statistic.labels), :].sum(axis=-2)
        if statistic.correct:
            hits = tails[..., 1, :] + tables[..., 0, :].sum(axis=-1)[..., None] - tails[..., 0, :]
        rows.append(hits / np.maximum(size, 1e-9))
    return np.stack(rows, axis=1)


def gaps(values: np.ndarray, notion, pair) -> np.ndarray:
    """The gap of a pair of thresholds on every table."""
    first, second = values[:, :, 0, pair[0]], values[:, :, 1, pair[1]]
    if notion.ratio:
        high = np.maximum(first, second)
        return (1 - np.minimum(first, second) / np.maximum(high, 1e-12)).max(axis=1)
    return np.abs(first - second).max(axis=1)


def adversary(notion, tables) -> np.ndarray:
    """For every release the thresholds whose gap is most underestimated."""
    counts = np.array([t.counts for t in tables], dtype=float)
    pairs = list(itertools.product(range(BINS + 1), repeat=2))
    seen = np.stack([gaps(all_values(counts, notion), notion, p) for p in pairs], axis=1)
    true = all_values(population()[None], notion)
    real = np.array([gaps(true, notion, p)[0] for p in pairs])
    chosen = np.argmax(real - seen, axis=1)
    return [(pairs[i], real[i]) for i in chosen]


def one_hot(pair) -> np.ndarray:
    return np.eye(BINS + 1)[list(pair)]


def held(notion, tables, bound=band_bound) -> float:
    covered = [
        real <= bound(table, one_hot(pair), notion, 0.9).bound
        for table, (pair, real) in zip(tables, adversary(notion, tables), strict=True)
    ]
    return float(np.mean(covered))


def least(count: int, level: float = 0.9) -> float:
    return float(binom.ppf(1e-4, count, level)) / count


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_no_chosen_rule_exceeds_its_bound(notion, epsilon):
    count = 20 if math.isfinite(epsilon) else 50
    assert held(notion, releases((150, 300), epsilon, count)) >= least(count)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, math.inf])
@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_no_chosen_rule_exceeds_its_bound_often(notion, epsilon):
    count = 600 if math.isfinite(epsilon) else 3000
    assert held(notion, releases((150, 300), epsilon, count, seed=1)) >= least(count)


def test_a_bound_for_one_fixed_rule_does_not_survive_the_choice():
    """Without the union bound the adversary wins."""
    notion = NOTIONS["equalized_odds"]
    tables = releases((150, 300), math.inf, 300)

    def each_alone(release, lottery, notion, confidence):
        """Every interval of two groups gets the whole error probability."""
        return union_bound(release, lottery, notion, 1 - 2 * (1 - confidence), 1, "band")

    assert held(notion, tables, each_alone) < least(300)


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_every_threshold_that_a_rule_may_use_pays(notion):
    """The levels of all intervals that any rule can ask for add up to the error probability."""
    [release] = releases((150, 300), 1.0, 1)
    with asked() as found:
        for j in range(BINS + 1):
            band_bound(release, one_hot((j, j)), notion, 0.95)
    spent = found.levels("interval")
    assert sum(spent) == pytest.approx(0.05)
    thresholds = BINS + 1 if notion.statistics[0].correct else BINS - 1
    assert len(spent) == 2 * len(notion.statistics) * thresholds


def test_lotteries_mix_the_intervals_of_their_thresholds():
    [release] = releases((150, 300), 1.0, 1)
    notion = NOTIONS["demographic_parity"]
    ends = [
        np.array(band_bound(release, one_hot((j, j)), notion, 0.95).intervals[0]) for j in (2, 3)
    ]
    mixed = band_bound(release, 0.25 * one_hot((2, 2)) + 0.75 * one_hot((3, 3)), notion, 0.95)
    np.testing.assert_allclose(mixed.intervals[0], 0.25 * ends[0] + 0.75 * ends[1])
    (low, high), (other_low, other_high) = mixed.intervals[0]
    assert mixed.bound == pytest.approx(max(high - other_low, other_high - low))
    assert mixed.method == "band"


def test_everybody_and_nobody_have_known_rates_but_no_known_accuracy():
    [release] = releases((150, 300), 1.0, 1)
    extremes = one_hot((0, BINS))
    assert (
        band_bound(release, extremes, NOTIONS["equalized_odds"], 0.95).intervals
        == (((1.0, 1.0), (0.0, 0.0)),) * 2
    )
    for low, high in band_bound(release, extremes, NOTIONS["accuracy_parity"], 0.95).intervals[0]:
        assert 0 < high - low < 1


def test_levels_beyond_the_arithmetic_say_nothing():
    [release] = releases((150, 300), 1.0, 1)
    bound = band_bound(release, one_hot((2, 2)), NOTIONS["demographic_parity"], 1 - 2e-8)
    assert bound.intervals == (((0.0, 1.0), (0.0, 1.0)),)
    for notion in NOTIONS.values():  # just above, they say little
        assert 0 < band_bound(release, one_hot((2, 2)), notion, 1 - 2e-6).bound <= 1
    many = releases((100,) * 6, 1.0, 1)[0]
    assert accuracy_bound(many, np.eye(BINS + 1)[[2] * 6], 1 - 2e-8) == 0


def true_accuracies(sizes) -> np.ndarray:
    """Of every pair of thresholds, when groups have these shares."""
    cells = population() * (np.array(sizes) / sum(sizes))[:, None, None]
    right = [[p[1, j:].sum() + p[0, :j].sum() for j in range(BINS + 1)] for p in cells]
    return np.add.outer(*map(np.array, right))


def accuracy_held(tables, sizes, bound) -> float:
    """The adversary picks what looks best by chance."""
    true = true_accuracies(sizes)
    covered = []
    for table in tables:
        right = [[c[1, j:].sum() + c[0, :j].sum() for j in range(BINS + 1)] for c in table.counts]
        seen = np.add.outer(*map(np.array, right)) / table.counts.sum()
        pair = np.unravel_index(np.argmax(seen - true), true.shape)
        covered.append(bound(table, one_hot(pair), 0.9) <= true[pair])
    return float(np.mean(covered))


def summed(release, lottery, confidence):
    """The union over each group's thresholds, which many groups need."""
    level = threshold_level(1 - confidence, BINS + 1, len(release.groups))
    return summed_accuracy(release, lottery, level)


def random_sizes(rng, n=400):
    first = int(rng.binomial(n, 1 / 3))
    return first, n - first


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_accuracy_is_not_overstated(epsilon, few):
    """Both unions: over combinations of thresholds, and over each group's."""
    rng = np.random.default_rng(0)
    count = 40 if math.isfinite(epsilon) else 80
    tables = [releases(random_sizes(rng), epsilon, 1, seed)[0] for seed in range(count)]
    assert accuracy_held(tables, (1, 2), accuracy_bound if few else summed) >= least(count)
    if few:
        rough = [accuracy_bound(t, one_hot((3, 3)), 0.9) for t in tables[:5]]
        assert min(rough) > 0.4  # and it says something


@pytest.mark.parametrize(
    ("eta", "thresholds", "groups"), [(0.05, 7, 2), (0.1, 66, 3), (1e-3, 3, 8)]
)
def test_accuracy_levels_add_up_over_everything_that_may_be_chosen(eta, thresholds, groups):
    assert combination_level(eta, thresholds, groups) * thresholds**groups == pytest.approx(eta)
    assert threshold_level(eta, thresholds, groups) * thresholds * groups == pytest.approx(eta)


@pytest.mark.parametrize("few", [True, False])
def test_accuracy_pays_for_every_combination(few):
    """To accept everybody or nobody included: B + 1 thresholds per group."""
    [release] = releases((150, 300), 1.0, 1)
    with asked() as found:
        (accuracy_bound if few else summed)(release, one_hot((2, 3)), 0.95)
    ways = (BINS + 1) ** 2 if few else 2 * (BINS + 1)
    assert found.levels("lower") == pytest.approx([0.05 / ways] * (1 if few else 2))


def test_many_groups_are_added_up_threshold_by_threshold():
    """With six groups the combinations are too many for any level, the thresholds are not."""
    [release] = releases((3000,) * 6, math.inf, 1)
    assert combination_level(0.05, 8 * BINS + 1, 6) < 1e-8
    many = releases((3000,) * 6, math.inf, 1, cells=np.repeat(population(6), 8, axis=2) / 8)[0]
    bound = accuracy_bound(many, np.eye(8 * BINS + 1)[[24] * 6], 0.95)
    exact = accuracy_bound(release, np.eye(BINS + 1)[[3] * 6], 0.95)
    assert 0.4 < bound < exact
    lottery = np.eye(8 * BINS + 1)[[24] * 6]
    assert bound == summed_accuracy(many, lottery, threshold_level(1 - 0.95, 8 * BINS + 1, 6))
    few, alone = combination_level(1 - 0.95, BINS + 1, 6), np.eye(BINS + 1)[[3] * 6]
    assert exact == combined_accuracy(release, alone, few)


def test_accuracy_without_the_union_is_overstated():
    rng = np.random.default_rng(0)
    tables = [releases(random_sizes(rng), math.inf, 1, seed)[0] for seed in range(300)]

    def naive(table, lottery, confidence):
        thresholds = np.argmax(lottery, axis=1)
        return table.right_rate(range(2), thresholds).lower_limit(1 - confidence)

    assert accuracy_held(tables, (1, 2), naive) < least(300)


def test_a_lottery_is_as_accurate_as_its_thresholds_on_average():
    [release] = releases((150, 300), 1.0, 1)
    lottery = np.zeros((2, BINS + 1))
    lottery[0, [2, 3]], lottery[1, [4, 5]] = (0.25, 0.75), (0.5, 0.5)
    one_coin = ((0.25, (2, 4)), (0.25, (3, 4)), (0.5, (3, 5)))
    parts = [share * accuracy_bound(release, one_hot(pair), 0.95) for share, pair in one_coin]
    assert accuracy_bound(release, lottery, 0.95) == pytest.approx(sum(parts))


def test_one_coin_for_all_groups_keeps_the_chances_of_every_threshold():
    rng = np.random.default_rng(0)
    for k in (1, 2, 5):
        lottery = rng.dirichlet(np.ones(5), k) * (rng.random((k, 5)) < 0.6)
        lottery[:, rng.integers(5)] += 0.1
        lottery /= lottery.sum(axis=1, keepdims=True)
        shares = np.zeros_like(lottery)
        for share, places in coin_combinations(lottery):
            assert share > 0
            shares[np.arange(k), places] += share
        np.testing.assert_allclose(shares, lottery, atol=1e-12)


def test_accuracy_needs_labels_and_one_noise():
    unlabelled = Release(("a", "b"), (0.5,), [[[5, 5]]] * 2, (1.0, 1.0), None, "")
    assert accuracy_bound(unlabelled, np.eye(3)[:2], 0.95) is None
    uneven = Release(("a", "b"), (0.5,), [[[5, 5]] * 2] * 2, (1.0, 2.0), None, "")
    assert accuracy_bound(uneven, np.eye(3)[:2], 0.95) is None


def halves(groups=2) -> np.ndarray:
    cells = population(groups)
    return np.stack([cells[..., :3].sum(axis=-1), cells[..., 3:].sum(axis=-1)], axis=-1)


def fixed_coverage(notion, sizes, count) -> tuple[float, float]:
    """Shares of releases in which all pairs, and all intervals, hold."""
    cells = halves(len(sizes))
    true = all_values(cells[None], notion)[0, :, :, 1]
    good = inside = 0
    for table in releases(sizes, 1.0, count, cells=cells):
        bound = fixed_bound(table, notion, 0.9)
        assert bound.bound == max(bound.pairs.values())
        assert len(bound.pairs) == math.comb(len(sizes), 2)
        good += all(
            notion.gap(true[:, [a, b]]) <= value + 1e-12 for (a, b), value in bound.pairs.items()
        )
        inside += all(
            low <= value <= high
            for row, values in zip(bound.intervals, true, strict=True)
            for (low, high), value in zip(row, values, strict=True)
        )
    return good / count, inside / count


@pytest.mark.parametrize("sizes", [(80, 150), (60, 70, 150)], ids=len)
@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_fixed_rules(notion, sizes):
    assert min(fixed_coverage(notion, sizes, 2)) >= least(2)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(80, 150), (60, 70, 150)], ids=len)
@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_fixed_rules_often(notion, sizes):
    assert min(fixed_coverage(notion, sizes, 400)) >= least(400)


def flipped_coverage(notion, count, choose) -> float:
    """Share of releases in which a lottery that they chose themselves keeps its bound."""
    true = all_values(halves()[None], notion)[0]  # [statistic, group, threshold]
    good = 0
    for table in releases((80, 150), 1.0, count, cells=halves()):
        lottery = choose(all_values(table.counts[None], notion)[0], true)
        bound = fixed_bound(table, notion, 0.9, lottery)
        assert bound.method == "corrected"
        good += notion.gap((true * lottery).sum(axis=2)) <= bound.bound + 1e-12
    return good / count


def most_understated(seen, true):
    """Of all flips in quarters: those whose gap looks smallest compared with what it is."""
    rows = [row for row in np.ndindex(5, 5, 5) if sum(row) == 4]
    best, worst = None, -math.inf
    for first, second in itertools.product(np.array(rows) / 4, repeat=2):
        lottery = np.stack([first, second])
        gaps = [np.ptp((values * lottery).sum(axis=2), axis=1).max() for values in (true, seen)]
        if gaps[0] - gaps[1] > worst:
            best, worst = lottery, gaps[0] - gaps[1]
    return best


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_chosen_flips_keep_their_bound(notion):
    assert flipped_coverage(notion, 8, most_understated) >= least(8)


@pytest.mark.slow
@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_chosen_flips_keep_their_bound_often(notion):
    assert flipped_coverage(notion, 300, most_understated) >= least(300)


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_flips_move_the_rates_they_are_applied_to(notion):
    """No flips are the fixed rule; to accept everybody or nobody has no gap but in accuracy."""
    [release] = releases((300, 600), 1.0, 1, cells=halves())
    fixed = fixed_bound(release, notion, 0.95)
    none = fixed_bound(release, notion, 0.95, np.eye(3)[[1, 1]])
    correct = notion.statistics[0].correct
    assert none.bound > fixed.bound if correct else none.bound == fixed.bound
    if correct:  # everybody and nobody are as uncertain as the decisions: three thresholds pay
        level = threshold_level(0.05, 3, 2)
        assert none.intervals[0][0] == release.rate(0, 1, correct=True).interval(level)
        return
    for j, rate in ((0, 1.0), (2, 0.0)):
        constant = fixed_bound(release, notion, 0.95, np.eye(3)[[j, j]])
        assert constant.bound == 0
        assert constant.intervals == (((rate, rate),) * 2,) * len(notion.statistics)
    lottery = np.array([[0.1, 0.6, 0.3], [0.0, 0.9, 0.1]])
    mixed = fixed_bound(release, notion, 0.95, lottery)
    for row, before in zip(mixed.intervals, fixed.intervals, strict=True):
        moved = [w[0] + w[1] * np.array(ends) for w, ends in zip(lottery, before, strict=True)]
        np.testing.assert_allclose(row, moved)


def test_fixed_bounds_are_sharper_than_bands():
    [release] = releases((300, 600), 1.0, 1, cells=halves())
    for notion in NOTIONS.values():
        band = band_bound(release, np.eye(3)[[1, 1]], notion, 0.95)
        assert fixed_bound(release, notion, 0.95).bound <= band.bound + 1e-9


def test_fixed_accuracy():
    rng = np.random.default_rng(0)
    cells = halves()
    true = ((cells[:, 1, 1] + cells[:, 0, 0]) * np.array([1 / 3, 2 / 3])).sum()
    bounds = [
        fixed_accuracy(releases(random_sizes(rng, 300), math.inf, 1, seed, cells)[0], 0.9)
        for seed in range(300)
    ]
    share = (np.array(bounds) <= true).mean()
    assert least(300) <= share < 0.97  # one-sided: all of the error probability is used


def test_notions_by_label_need_labels():
    unlabelled = Release(("a", "b"), (0.5,), [[[5, 5]]] * 2, (1.0, 1.0), None, "")
    for name in ("equal_opportunity", "equalized_odds", "accuracy_parity"):
        with pytest.raises(InputError, match="needs a release with labels"):
            band_bound(unlabelled, np.eye(3)[[1, 1]], NOTIONS[name], 0.95)
    assert band_bound(unlabelled, np.eye(3)[[1, 1]], NOTIONS["parity_ratio"], 0.95).bound > 0


def test_one_group_has_intervals_only():
    [release] = releases((100,), 1.0, 1)
    bound = band_bound(release, np.eye(BINS + 1)[[3]], NOTIONS["demographic_parity"], 0.95)
    assert bound.pairs == {}
    assert bound.bound == 0
    [fixed] = releases((100,), 1.0, 1, cells=halves(1))
    assert fixed_bound(fixed, NOTIONS["demographic_parity"], 0.95).pairs == {}


def test_the_statistics_of_a_notion_share_the_error_probability():
    [release] = releases((80, 150), 1.0, 1, cells=halves())
    identity = Rule([[0.0, 1.0]] * 2)
    for name, labels in (("demographic_parity", [(0, 1)]), ("equalized_odds", [(1,), (0,)])):
        rows = [[release.rate(a, 1, y) for a in (0, 1)] for y in labels]
        sharp = [combined_gap_bound(row, identity, 1 - 0.1 / len(rows)).bound for row in rows]
        assert fixed_bound(release, NOTIONS[name], 0.9).bound == max(sharp)
    ratio = fixed_bound(release, NOTIONS["parity_ratio"], 0.9)
    level = threshold_level(1 - 0.9, 1, 2)
    assert level == pytest.approx(0.05, rel=1e-12)
    intervals = [release.rate(a, 1).interval(level) for a in (0, 1)]
    assert ratio.intervals[0] == tuple(intervals)
    worst = max(1 - intervals[a][0] / intervals[1 - a][1] for a in (0, 1))
    assert ratio.bound == pytest.approx(worst)
