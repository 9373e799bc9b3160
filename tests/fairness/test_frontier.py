"""One release, every trade-off."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from dpfair.errors import FairnessWarning, InputError
from dpfair.fairness.bounds.bands import accuracy_bound, band_bound
from dpfair.fairness.choice import best_rule
from dpfair.fairness.frontier import FRONTIER_TOLERANCES, best_allowed, frontier
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import Release

TOLERANCES = (0.0, 0.05, 1.0)


def release_of(dependence="", sizes=(1, 1), noise=1.0) -> Release:
    counts = (
        np.array(
            [[[300, 200, 100, 30], [20, 60, 90, 80]], [[200, 200, 150, 60], [30, 90, 160, 220]]]
        )[: len(sizes)]
        * np.array(sizes)[:, None, None]
    )
    names = ("a", "b")[: len(sizes)]
    return Release(names, (0.25, 0.5, 0.75), counts, (noise,) * len(sizes), None, dependence)


def points_of(release, notion="demographic_parity"):
    goals = [Goal(NOTIONS[notion], tolerance) for tolerance in TOLERANCES]
    return frontier(release, goals, 0.95, smallest=0)


@pytest.mark.parametrize("notion", NOTIONS)
def test_more_tolerance_is_more_accurate(notion):
    points = points_of(release_of(), notion)
    assert [p.tolerance for p in points] == list(TOLERANCES)
    accuracies = [p.accuracy for p in points]
    assert accuracies == sorted(accuracies)
    assert accuracies[0] < accuracies[-1]
    for point in points:
        assert point.gap <= point.tolerance + 1e-7
        assert point.gap_bound > point.gap
        assert point.accuracy_bound < point.accuracy


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_estimates_do_not_fall_where_more_is_allowed(notion):
    rng, fell = np.random.default_rng(0), 0
    goals = [Goal(NOTIONS[notion], tolerance) for tolerance in FRONTIER_TOLERANCES]
    for _ in range(20):
        clean = release_of()
        counts = clean.counts + rng.laplace(scale=20, size=clean.counts.shape).astype(int)
        noisy = Release(clean.groups, (0.25, 0.5, 0.75), counts, (0.05,) * 2, None, "")
        found = frontier(noisy, goals, 0.95, smallest=0)
        fell += [p.accuracy for p in found] != sorted(p.accuracy for p in found)
        best = best_allowed(found)
        assert [p.accuracy for p in best] == sorted(p.accuracy for p in best)
        assert [p.tolerance for p in best] == list(FRONTIER_TOLERANCES)
        for point in best:
            source = point.tolerance if point.found_for is None else point.found_for
            assert point.rule == found[FRONTIER_TOLERANCES.index(source)].rule
            assert point.gap <= point.tolerance + 1e-7
    assert fell


def test_the_models_own_point_stays_and_is_not_shown_for_other_tolerances():
    point = points_of(release_of())[0]
    low = replace(point, tolerance=0.0, gap=0.0, accuracy=0.8)
    own = replace(low, tolerance=0.05, accuracy=0.7, own=True)
    high = replace(low, tolerance=0.1, accuracy=0.6)
    found = best_allowed([low, own, high])
    assert found[:2] == [low, own]
    assert (found[2].rule, found[2].found_for) == (low.rule, 0.0)
    assert best_allowed([own, high]) == [own, high]


def test_points_are_the_best_rules_with_their_bounds():
    release, goal = release_of(), Goal(NOTIONS["equal_opportunity"], 0.05)
    point = points_of(release, "equal_opportunity")[1]
    found = best_rule(release, goal, smallest=0, small_groups="merge")
    assert point.rule == found.rule
    assert point.gap_bound == band_bound(release, found.lottery, goal.notion, 0.95).bound
    assert point.accuracy_bound == accuracy_bound(release, found.lottery, 0.95)


def test_dependent_counts_certify_nothing():
    for point in points_of(release_of("the counted records also trained the scorer")):
        assert point.gap_bound is None
        assert point.accuracy_bound is None
        assert point.accuracy > 0


def test_one_group_has_no_gap():
    for point in points_of(release_of(sizes=(1,))):
        assert point.gap == 0
        assert point.gap_bound is None


def test_small_groups_are_not_mentioned_again():
    release = release_of(sizes=(100, 1), noise=math.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FairnessWarning)
        frontier(release, [Goal(NOTIONS["demographic_parity"])], 0.95, smallest=5000)


def test_scores_by_label_are_needed():
    unlabelled = Release(("a", "b"), (0.5,), [[[5, 5]]] * 2, (1.0, 1.0), None, "")
    with pytest.raises(InputError, match="by label"):
        points_of(unlabelled)


def test_the_usual_tolerances_reach_from_none_to_all():
    assert FRONTIER_TOLERANCES[0] == 0
    assert FRONTIER_TOLERANCES[-1] == 1
    assert list(FRONTIER_TOLERANCES) == sorted(FRONTIER_TOLERANCES)
