"""Targets and windows come from a plan of other records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fairness.tables import table

from dpfair.fairness.dither import placement_grid
from dpfair.fairness.estimate import labelled_counts
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.planning import planned_rates

PARITY = Goal(NOTIONS["demographic_parity"])


@pytest.mark.parametrize("name", ["demographic_parity", "equal_opportunity", "parity_ratio"])
def test_targets_come_from_the_plan(name):
    plan, goal = table((3000, 4000), noise=1.0), Goal(NOTIONS[name], 0.05)
    target = planned_rates(plan, goal, smallest=50, ratio=0.5)
    assert goal.notion.gap([target.rates]) <= 0.05 + 1e-7
    statistic = goal.notion.statistics[0]
    counts = labelled_counts(plan)
    for a, found in enumerate(target.windows):
        ends = found.ends
        assert ends[0] >= 0
        assert list(ends) == sorted(ends)
        assert ends[-1] <= 1
        part = counts[a, list(statistic.labels)].sum(axis=0)
        above = 1 - np.interp(ends, np.arange(21) / 20, np.append(0, np.cumsum(part))) / part.sum()
        assert above[0] > target.rates[a] > above[-1]
        # A bin may hold more than was counted: two standard deviations of its noise.
        unseen = np.array(found.masses) + np.diff(above)
        assert unseen == pytest.approx(2 * math.sqrt(4) / part.sum(), rel=0.5)
        assert found.size == pytest.approx(0.5 * part.sum())
        assert found.rate == target.rates[a]


def test_windows_are_wider_when_less_is_known():
    def widths(sizes, noise, ratio=1.0):
        target = planned_rates(table(sizes, noise=noise), PARITY, smallest=0, ratio=ratio)
        return np.array([w.ends[-1] - w.ends[0] for w in target.windows])

    assert (widths((300, 400), 3.0) > widths((30_000, 40_000), 3.0)).all()
    assert (widths((3000, 4000), 0.1) > widths((3000, 4000), 3.0)).all()
    assert (widths((3000, 4000), 3.0, 0.02) > widths((3000, 4000), 3.0)).all()


def test_extreme_targets_have_windows_inside_the_scores():
    for share in (0.0, 1.0):
        target = planned_rates(
            table((3000, 4000)), Goal(PARITY.notion, acceptance=share), smallest=0, ratio=1.0
        )
        assert target.rates == pytest.approx((share, share))
        for found in target.windows:
            assert 0 <= found.ends[0] < found.ends[-1] <= 1
        placement_grid(target.windows, 3.0)


def test_no_targets_for_small_groups_or_several_rates():
    assert planned_rates(table((3000, 20)), PARITY, smallest=50, ratio=1.0) is None
    # 80 are enough if as many will be counted, but not if half of them.
    assert planned_rates(table((3000, 80)), PARITY, smallest=50, ratio=1.0) is not None
    assert planned_rates(table((3000, 80)), PARITY, smallest=50, ratio=0.5) is None
    for name in ("equalized_odds", "accuracy_parity"):
        goal = Goal(NOTIONS[name])
        assert planned_rates(table((3000, 4000)), goal, smallest=50, ratio=1.0) is None
