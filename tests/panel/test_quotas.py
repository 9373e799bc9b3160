"""Equal acceptance rates by thresholds, with coins for ties."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair.experiments.benchmark import split
from dpfair.fairness.metrics import accuracy, parity_gap
from scripts.panel.quotas import RATES, best_rate, boosting_with_quotas, quota_probabilities


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 0.5, 0.995, 1.0])
@pytest.mark.parametrize("distinct", [2, 7, 1000])
def test_known_records_are_accepted_at_the_rate_in_each_group(rate, distinct):
    rng = np.random.default_rng(3)
    groups = (rng.random(400) < 0.2).astype(np.int64)
    scores = np.floor(distinct * rng.random(400)) / distinct + groups
    chances = quota_probabilities(scores, groups, rate, scores, groups)
    assert chances.min() >= 0
    assert chances.max() <= 1
    for group in (0, 1):
        assert chances[groups == group].mean() == pytest.approx(rate)


def test_higher_scores_are_accepted_first_and_ties_by_coins():
    scores, groups = np.array([0.1, 0.5, 0.5, 0.9]), np.zeros(4, dtype=np.int64)
    assert quota_probabilities(scores, groups, 0.5, scores, groups).tolist() == [0, 0.5, 0.5, 1]


def test_the_best_rate_is_that_of_the_labels_if_scores_are_perfect():
    labels = (np.arange(200) < 60).astype(np.int64)
    groups = np.arange(200) % 2
    assert best_rate(labels.astype(float), groups, labels) == pytest.approx(0.3)
    assert 0.3 in RATES


def test_boosting_with_quotas_is_accurate_and_nearly_fair(data):
    rest, test = split(len(data.y), 3)
    accepted = boosting_with_quotas(data, rest, test, 3)
    labels, groups = data.accepted[test], data.group_codes[test]
    assert parity_gap(labels, groups, 2) > 0.15
    assert parity_gap(accepted, groups, 2) < 0.08
    assert accuracy(accepted, labels) > max(labels.mean(), 1 - labels.mean()) + 0.05
