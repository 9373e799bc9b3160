"""Plain measurements on a test set."""

import math

import numpy as np
import pytest
from scipy import stats

from dpfair.errors import InputError
from dpfair.fairness.metrics import (
    accuracy,
    group_rates,
    parity_gap,
    rate_interval,
    sampling_floor,
)


def test_accuracy_of_decisions_and_of_probabilities():
    assert accuracy([1, 0, 1, 1], [1, 0, 0, 1]) == 0.75
    rng = np.random.default_rng(1)
    chances, labels = rng.uniform(size=4000), rng.integers(0, 2, size=4000)
    drawn = [accuracy(rng.uniform(size=4000) <= chances, labels) for _ in range(50)]
    assert np.mean(drawn) == pytest.approx(accuracy(chances, labels), abs=0.005)


@pytest.mark.parametrize(("decisions", "labels"), [([], []), ([1], [1, 0])])
def test_accuracy_needs_matching_records(decisions, labels):
    with pytest.raises(InputError, match="as many decisions"):
        accuracy(decisions, labels)


def test_rates_and_gap_skip_groups_without_records():
    decisions, groups = [1, 0, 1, 1, 0], [0, 0, 2, 2, 2]
    rates = group_rates(decisions, groups, 4)
    assert rates[[0, 2]].tolist() == [0.5, 2 / 3]
    assert np.isnan(rates[[1, 3]]).all()
    assert parity_gap(decisions, groups, 4) == pytest.approx(1 / 6)
    assert math.isnan(parity_gap([1, 0], [1, 1], 2))


def test_rate_interval_is_clopper_pearson():
    for accepted, size in [(0, 10), (3, 10), (10, 10), (1526, 7631)]:
        expected = stats.binomtest(accepted, size).proportion_ci(0.9, "exact")
        assert rate_interval(accepted, size, 0.9) == pytest.approx(tuple(expected))
    assert rate_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("accepted", "confidence"), [(11, 0.95), (-1, 0.95), (3, 1.0), (3, 0.0)])
def test_rate_interval_refuses_the_impossible(accepted, confidence):
    with pytest.raises(InputError, match="Expected"):
        rate_interval(accepted, 10, confidence)


def test_sampling_floor_is_the_mean_gap_of_a_fair_classifier():
    rng = np.random.default_rng(2)
    sizes = [3674, 7631]
    rates = rng.binomial(sizes, 0.14, size=(20_000, 2)) / sizes
    gaps = np.abs(rates[:, 0] - rates[:, 1])
    assert sampling_floor(0.14, sizes) == pytest.approx(gaps.mean(), rel=0.02)
    assert sampling_floor(0.14, sizes) == pytest.approx(0.0056, abs=5e-5)


def test_sampling_floor_of_many_groups_is_the_mean_of_the_largest_difference():
    sizes = [100, 400, 900, 5000]
    rates = np.random.default_rng(3).binomial(sizes, 0.3, size=(20_000, 4)) / sizes
    gaps = rates.max(axis=1) - rates.min(axis=1)
    assert sampling_floor(0.3, sizes) == pytest.approx(gaps.mean(), rel=0.02)
    assert sampling_floor(0.0, sizes) == 0


@pytest.mark.parametrize(("rate", "sizes"), [(1.1, [5, 5]), (0.5, [5]), (0.5, [0, 5])])
def test_sampling_floor_refuses_the_impossible(rate, sizes):
    with pytest.raises(InputError, match="Expected"):
        sampling_floor(rate, sizes)
