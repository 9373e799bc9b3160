"""From a release to a rule: small groups, targets, dithered tables."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from dpfair.errors import FairnessWarning, InputError
from dpfair.fairness.decide import best_rule, placed_rule, planned_targets
from dpfair.fairness.estimate import estimated_masses
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.optimal import Aim
from dpfair.fairness.placement import GRAIN, placement_grid
from dpfair.fairness.release import Release

PARITY = Aim(NOTIONS["demographic_parity"])
EDGES = np.arange(1, 20) / 20


def table(sizes, *, edges=EDGES, noise=math.inf, grain=None, dependence="", seed=0) -> Release:
    """Groups whose scores differ; labels follow the scores."""
    rng = np.random.default_rng(seed)
    grid = np.tile(edges, (len(sizes), 1)) if np.ndim(edges) == 1 else np.array(edges)
    counts = np.zeros((len(sizes), 2, grid.shape[1] + 1), dtype=np.int64)
    for a, n in enumerate(sizes):
        scores = rng.beta(1.5 + 0.5 * a, 3, n)
        labels = (rng.random(n) < scores).astype(int)
        np.add.at(counts[a], (labels, np.searchsorted(grid[a], scores, side="right")), 1)
    if math.isfinite(noise):
        p = -math.expm1(-noise)
        counts += rng.geometric(p, counts.shape) - rng.geometric(p, counts.shape)
    names = tuple("abcdef"[: len(sizes)])
    return Release(names, grid, counts, (noise,) * len(sizes), None, dependence, grain)


def decided(release, aim=PARITY, *, smallest=50, small_groups="merge", coins=True, families=None):
    return best_rule(
        release, aim, smallest=smallest, small_groups=small_groups, coins=coins, families=families
    )


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
@pytest.mark.parametrize("coins", [True, False])
def test_the_rule_is_fair_by_the_counts(notion, coins):
    release = table((3000, 4000))
    found = decided(release, Aim(notion, 0.02), coins=coins)
    assert notion.gap(found.values) <= 0.02 + 1e-7
    assert found.targets is None
    assert (found.lottery is None) == (not coins and notion.monotone)
    middles = (np.arange(20) + 0.5) / 20
    if found.lottery is not None:
        for a in (0, 1):
            accept = found.rule.probabilities(np.full(20, a), middles)
            np.testing.assert_allclose(accept, np.cumsum(found.lottery[a])[:20], atol=1e-12)
    else:
        assert set(np.unique(found.rule.accept)) == {0, 1}  # no coin
    assert found.accuracy > 0.6


def test_cuts_inside_bins_reach_the_rate():
    release = table((30_000, 40_000))
    rule = decided(release, coins=False).rule
    rng = np.random.default_rng(1)
    rates = [
        rule.probabilities(np.full(10**5, a), rng.beta(1.5 + 0.5 * a, 3, 10**5)).mean()
        for a in (0, 1)
    ]
    assert rates[0] == pytest.approx(rates[1], abs=0.012)


def test_a_dithered_table_gives_a_dithered_rule():
    """A cut inside a grain of a dithered table is a lottery; of any other table it is a cut."""
    edges = placement_grid([(0.3, 0.5), (0.4, 0.6)], 3.0)
    rules = [decided(table((3000, 4000), edges=edges, grain=g)).rule for g in (GRAIN, None)]
    grains = [r.cuts[np.isfinite(r.cuts)] * GRAIN for r in rules]
    np.testing.assert_allclose(grains[0], np.round(grains[0]), atol=1e-9)
    assert np.abs(grains[1] - np.round(grains[1])).max() > 0.01
    placed = placed_rule(table((3000, 4000), edges=edges, grain=GRAIN), PARITY, (0.2, 0.2)).rule
    cuts = placed.cuts[np.isfinite(placed.cuts)] * GRAIN
    np.testing.assert_allclose(cuts, np.round(cuts), atol=1e-9)


def test_small_groups_share_a_threshold():
    release = table((3000, 20, 4000, 45))
    with pytest.warns(FairnessWarning, match="b, d"):
        found = decided(release)
    assert (found.lottery[1] == found.lottery[3]).all()
    assert (found.rule.cuts[1] == found.rule.cuts[3]).all()
    with pytest.raises(InputError, match="Too few records of b, d"):
        decided(release, small_groups="refuse")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FairnessWarning)
        decided(release, smallest=0)
        decided(table((3000, 4000)))


def test_small_groups_join_their_family():
    release = table((3000, 20, 4000, 25))
    with pytest.warns(FairnessWarning):
        found = decided(release, families=[0, 0, 1, 1])
    assert (found.lottery[1] == found.lottery[0]).all()
    assert (found.lottery[3] == found.lottery[2]).all()


def test_what_noise_hides_is_small():
    """A group of 200 cannot be told from none when the noise of its size has sd 130."""
    release = table((30_000, 200), noise=0.07)
    with pytest.warns(FairnessWarning):
        decided(release, smallest=0)


def test_groups_with_grids_of_their_own_are_not_merged():
    edges = np.stack([EDGES, EDGES + 0.001])
    found = decided(table((3000, 20), edges=edges))
    assert found.lottery.shape == (2, 21)


def test_placed_rules_keep_the_targets():
    release = table((3000, 4000), grain=GRAIN)
    found = placed_rule(release, PARITY, (0.3, 0.2))
    assert found.targets == (0.3, 0.2)
    assert (found.lottery.max(axis=1) == 1).all()
    # Below the target by less than one cell.
    for rate, target, counts in zip(found.values[0], (0.3, 0.2), release.counts, strict=True):
        assert target - counts.sum(axis=0).max() / counts.sum() <= rate <= target


@pytest.mark.parametrize("name", ["demographic_parity", "equal_opportunity", "parity_ratio"])
def test_targets_come_from_the_plan(name):
    plan, aim = table((3000, 4000), noise=1.0), Aim(NOTIONS[name], 0.05)
    target = planned_targets(plan, aim, smallest=50)
    assert aim.notion.gap([target.rates]) <= 0.05 + 1e-7
    statistic = aim.notion.statistics[0]
    masses = estimated_masses(plan)
    for a, (low, high) in enumerate(target.windows):
        assert 0 <= low < high <= 1
        part = masses[a, list(statistic.labels)].sum(axis=0)
        above = (
            1
            - np.interp([low, high], np.arange(21) / 20, np.append(0, np.cumsum(part))) / part.sum()
        )
        assert above[0] > target.rates[a] - 0.02
        assert above[1] < target.rates[a] + 0.02


def test_windows_are_wider_when_less_is_known():
    def widths(sizes, noise):
        target = planned_targets(table(sizes, noise=noise), PARITY, smallest=0)
        return np.array([high - low for low, high in target.windows])

    assert (widths((300, 400), 3.0) > widths((30_000, 40_000), 3.0)).all()
    assert (widths((3000, 4000), 0.1) > widths((3000, 4000), 3.0)).all()


def test_extreme_targets_have_windows_inside_the_scores():
    for share in (0.0, 1.0):
        target = planned_targets(
            table((3000, 4000)), Aim(PARITY.notion, acceptance=share), smallest=0
        )
        assert target.rates == pytest.approx((share, share))
        for low, high in target.windows:
            assert 0 <= low <= high <= 1
        placement_grid(target.windows, 3.0)


def test_no_targets_for_small_groups_or_several_rates():
    assert planned_targets(table((3000, 20)), PARITY, smallest=50) is None
    for name in ("equalized_odds", "accuracy_parity"):
        assert planned_targets(table((3000, 4000)), Aim(NOTIONS[name]), smallest=50) is None
