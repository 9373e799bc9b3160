"""The contenders and their decisions on a made-up table."""

from __future__ import annotations

import pytest

from dpfair.experiments.benchmark import split
from dpfair.fairness.metrics import accuracy, parity_gap
from dpfair.learners import LEARNERS
from scripts.panel.contenders import BUDGETS, CONSTANT, MODES, QUOTAS, Contender, contenders


def test_every_learner_meets_every_schema_mode_and_budget():
    found = contenders([QUOTAS, CONSTANT, *LEARNERS], ["bounds", "kinds"])
    assert found[:2] == [Contender(CONSTANT), Contender(QUOTAS)]
    assert len(set(found)) == 2 + len(LEARNERS) * 2 * len(MODES) * len(BUDGETS)
    assert all(contender.private for contender in found[2:])


def test_only_wanted_contenders_are_listed():
    found = contenders(["logistic"], ["bounds"], ["reuse"], [1.0])
    assert found == [Contender("logistic", "bounds", "reuse", 1.0)]


def test_the_constant_is_the_more_frequent_label(data):
    rest, test = split(len(data.y), 1)
    assert data.accepted[rest].mean() < 0.5
    assert not Contender(CONSTANT).decide(data, rest, test, 1).accepted.any()


@pytest.mark.parametrize("learner", LEARNERS)
def test_learners_decide_better_than_the_constant(data, learner):
    rest, test = split(len(data.y), 2)
    labels, groups = data.accepted[test], data.group_codes[test]
    decided = Contender(learner, "bounds", "reuse", 9.0).decide(data, rest, test, 2)
    assert accuracy(decided.accepted, labels) > (labels == 0).mean()
    assert parity_gap(decided.accepted, groups, 2) < parity_gap(labels, groups, 2) / 2
    assert decided.gap_bound is None


def test_the_certified_mode_has_a_bound(data):
    rest, test = split(len(data.y), 2)
    decided = Contender("logistic", "bounds", "certified", 9.0).decide(data, rest, test, 2)
    assert 0 < decided.gap_bound < 1
