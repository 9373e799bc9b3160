"""The claim of a chosen rule comes from the bound that fits how the rule was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from certificate.claims import chosen_claim, score_release

from dpfair.certificate import rule_claim
from dpfair.fairness.bounds.bands import accuracy_bound, band_bound, fixed_accuracy, fixed_bound
from dpfair.fairness.bounds.placement import placement_bound
from dpfair.fairness.choice import best_rule, corrected_rule, placed_rule
from dpfair.fairness.dither import GRAIN
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.rules import Rule

PARITY = NOTIONS["demographic_parity"]
GOAL = Goal(PARITY)
HOW = {"smallest": 0, "small_groups": "merge"}


def test_a_rule_of_the_release_has_a_band():
    release = score_release()
    found = best_rule(release, GOAL, **HOW)
    claim = rule_claim(release, found, GOAL, 0.95)
    expected = band_bound(release, found.lottery, PARITY, 0.95)
    assert claim.bounds == {"band": expected.bound}
    assert claim.intervals == {"acceptance rate": expected.intervals[0]}
    assert claim.accuracy_bound == accuracy_bound(release, found.lottery, 0.95)
    assert claim.rates_before == tuple(rate.estimate for rate in release.rates)


def test_a_placed_rule_has_the_bound_of_its_placement():
    release = replace(score_release(), grain=GRAIN)
    found = placed_rule(release, GOAL, (0.4, 0.4))
    assert found.targets == (0.4, 0.4)
    claim = rule_claim(release, found, GOAL, 0.95)
    bound = placement_bound(release, PARITY, found.targets, 0.95).bound
    assert claim.bounds == {"placed": bound}


def test_a_corrected_rule_and_a_check_have_fixed_bounds():
    release = score_release()
    found = corrected_rule(Rule(np.tile([0.0, 1.0], (2, 1))), release, GOAL, **HOW)
    claim = rule_claim(release, found, GOAL, 0.95)
    assert claim.bounds == {"corrected": fixed_bound(release, PARITY, 0.95, found.lottery).bound}
    check = replace(score_release(), counts=release.counts + 40)
    checked = rule_claim(release, best_rule(release, GOAL, **HOW), GOAL, 0.95, check=check)
    assert checked.bounds == {"fixed": fixed_bound(check, PARITY, 0.95).bound}
    assert checked.accuracy_bound == fixed_accuracy(check, 0.95)


def test_dependence_is_that_of_the_records_that_certify():
    release = score_release(dependence="the rule saw them")
    found = best_rule(release, GOAL, **HOW)
    claim = rule_claim(release, found, GOAL, 0.95)
    assert (claim.certified, claim.reason, claim.bounds) == (False, "the rule saw them", {})
    assert claim.accuracy_bound is claim.beats_constant is None
    assert rule_claim(release, found, GOAL, 0.95, check=score_release()).certified


@pytest.mark.parametrize("notion", NOTIONS)
def test_every_notion_has_its_statistics(notion):
    claim = chosen_claim(notion=notion, tolerance=0.1)
    assert list(claim.values) == [s.name for s in NOTIONS[notion].statistics]
    assert (claim.tolerance, claim.other_goal) == (0.1, "")
    assert bool(claim.after) == (NOTIONS[notion].statistics == PARITY.statistics)


def test_one_group_has_no_gap_to_bound():
    claim = chosen_claim(score_release(1))
    assert "no sensitive column" in claim.reason
    assert claim.gap_estimate == 0
    assert claim.gap_bound is None
