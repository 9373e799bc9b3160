"""Lower bounds on epsilon: never above the truth, near to it, and as others compute them."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from dpfair.audit.bounds import Event, choose_event, clopper_pearson, lower_bound, shown
from dpfair.errors import InputError


def laplace_counts(epsilon, samples, rng, moved=0):
    """Discrete Laplace noise as a difference of two geometric numbers."""
    stop = -math.expm1(-epsilon)
    return moved + rng.geometric(stop, samples) - rng.geometric(stop, samples)


def response(truth, epsilon, samples, rng):
    honest = 1 / (1 + math.exp(-epsilon))
    return np.where(rng.random(samples) < honest, truth, 1 - truth)


@pytest.mark.parametrize("trials", [1, 7, 100, 50_000])
@pytest.mark.parametrize("error", [0.025, 1e-5])
def test_limits_are_those_of_scipy(trials, error):
    for hits in sorted({0, 1, trials // 3, trials - 1, trials}):
        expected = binomtest(hits, trials).proportion_ci(1 - 2 * error, method="exact")
        low, high = clopper_pearson(hits, trials, error)
        assert low == pytest.approx(expected.low, rel=1e-6, abs=1e-12)
        assert high == pytest.approx(expected.high, rel=1e-6, abs=1e-12)


def test_limits_of_an_array_are_those_of_its_numbers():
    hits = np.array([0, 3, 10])
    low, high = clopper_pearson(hits, 10, 0.01)
    for i, k in enumerate(hits):
        assert (low[i], high[i]) == clopper_pearson(k, 10, 0.01)


def test_a_known_case():
    """5381 against 0 of 20,000 shows epsilon 7.26 at 95 %."""
    first, second = np.zeros(20_000), np.zeros(20_000)
    first[:5381] = 1
    event = Event(0, ">=", 1.0, swapped=False)
    result = shown(event, first, second, 0.0, 0.05)
    assert result.hits == (5381, 0)
    assert result.epsilon == pytest.approx(7.26, abs=0.05)


@pytest.mark.parametrize(
    ("samples", "at_least"), [(1_000, 0.55), (10_000, 0.88), (100_000, 0.96), (1_000_000, 0.98)]
)
def test_a_count_shows_almost_all_of_its_epsilon(samples, at_least):
    rng = np.random.default_rng(1)
    first, second = (laplace_counts(1.0, samples, rng, moved) for moved in (0, 1))
    bound = lower_bound(first, second, confidence=0.99).epsilon
    assert at_least < bound <= 1


def test_the_bound_is_wrong_as_rarely_as_it_says():
    rng, runs, confidence = np.random.default_rng(2), 400, 0.9
    wrong = 0
    for _ in range(runs):
        first, second = (response(truth, 0.5, 300, rng) for truth in (0, 1))
        wrong += lower_bound(first, second, confidence=confidence).epsilon > 0.5
    assert binomtest(wrong, runs, 1 - confidence, alternative="greater").pvalue > 1e-3


def test_without_the_second_half_it_would_be_wrong_more_often():
    """The twin of the test above: an event tested on the samples that chose it."""
    rng, wrong = np.random.default_rng(2), 0
    for _ in range(10):
        first, second = (rng.normal(size=(60, 40)) for _ in range(2))  # epsilon = 0
        wrong += choose_event(first, second, 0.0, 0.1)[1] > 0
    assert wrong > 5


def test_the_event_is_chosen_on_one_half_and_tested_on_the_other():
    first, second = np.zeros(2000), np.zeros(2000)
    first[:1000] = 1  # only the half that chooses differs
    assert lower_bound(first, second).epsilon == 0
    first[:] = 1
    assert lower_bound(first, second).trials == (1000, 1000)
    assert lower_bound(first, second).epsilon > 4


def test_a_gaussian_at_a_delta():
    rng = np.random.default_rng(3)
    first, second = rng.normal(0, 1, 100_000), rng.normal(1, 1, 100_000)
    for delta in (0.01, 0.1):
        t = np.linspace(-3, 5, 2000)
        true = np.log((norm.sf(t - 1) - delta).clip(1e-12) / norm.sf(t)).max()
        bound = lower_bound(first, second, delta).epsilon
        assert 0.75 * true < bound <= true
    assert lower_bound(first, second, 1e-5).epsilon > lower_bound(first, second, 0.01).epsilon


@pytest.mark.parametrize("swapped", [False, True])
def test_both_directions_are_tried(swapped):
    """An output that one input never gives shows the most, whichever input that is."""
    rng = np.random.default_rng(4)
    sometimes, never = (rng.random(4000) < 0.1).astype(float), np.zeros(4000)
    first, second = (never, sometimes) if swapped else (sometimes, never)
    result = lower_bound(first, second)
    assert result.event.swapped is swapped
    assert result.epsilon > 2


def test_an_outcome_in_the_middle_is_found():
    rng = np.random.default_rng(5)
    first, second = rng.choice(3, 4000, p=[0.3, 0.4, 0.3]), rng.choice(3, 4000, p=[0.5, 0.01, 0.49])
    result = lower_bound(first, second)
    assert (result.event.sign, result.event.threshold) == ("==", 1.0)
    assert result.epsilon > 2.5


def test_the_telling_statistic_is_found_among_many():
    rng = np.random.default_rng(6)
    first, second = rng.normal(size=(4000, 30)), rng.normal(size=(4000, 30))
    second[:, 17] += 3
    result = lower_bound(first, second)
    assert result.event.statistic == 17
    assert result.epsilon > 2


def test_a_rare_event_with_a_large_ratio_is_not_preferred():
    """Three hits against none prove nothing, though the ratio of frequencies is infinite."""
    first = np.repeat([2.0, 1.0, 0.0], [3, 1500, 497])
    second = np.repeat([1.0, 0.0], [500, 1500])
    event, bound = choose_event(first, second, 0.0, 0.001)
    assert (event.sign, event.threshold) in ((">=", 1.0), ("==", 1.0), ("<=", 0.0), ("==", 0.0))
    assert 0.8 < bound < math.log(3)


def test_a_hundred_thousand_samples_take_less_than_a_tenth_of_a_second():
    rng = np.random.default_rng(7)
    first, second = rng.normal(0, 1, 100_000), rng.normal(1, 1, 100_000)
    times = []
    for _ in range(3):
        start = time.process_time()
        lower_bound(first, second, 1e-5)
        times.append(time.process_time() - start)
    assert min(times) < 0.1


@pytest.mark.parametrize(
    "samples", [[], [1.0], [1.0, math.nan] * 9, [1.0, math.inf] * 9, np.zeros((9, 2, 2))]
)
def test_samples_must_be_numbers(samples):
    with pytest.raises(InputError, match="at least two samples"):
        lower_bound(samples, samples)


def test_both_inputs_must_have_the_same_statistics():
    with pytest.raises(InputError, match="same statistics"):
        lower_bound(np.zeros((9, 2)), np.zeros((9, 3)))
    with pytest.raises(InputError, match="confidence"):
        lower_bound(np.zeros(9), np.zeros(9), confidence=1.0)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.05])
def test_jax_privacy_computes_the_same_bound(delta):
    """At a given threshold; how thresholds are chosen differs."""
    auditing = pytest.importorskip("jax_privacy.auditing")
    rng = np.random.default_rng(8)
    for moved, size in ((0.5, 500), (1.0, 5_000), (3.0, 50_000)):
        held_out, held_in = rng.normal(0, 1, size), rng.normal(moved, 1, size)
        auditor = auditing.CanaryScoreAuditor(held_in, held_out)
        for threshold in (0.0, 0.7, 2.0):
            theirs = auditor.epsilon_clopper_pearson(
                0.01, delta, threshold_strategy=auditing.Explicit(threshold)
            )
            event = Event(0, ">=", threshold, swapped=False)
            ours = shown(event, held_in, held_out, delta, 0.01).epsilon
            assert ours == pytest.approx(theirs, abs=1e-9)
