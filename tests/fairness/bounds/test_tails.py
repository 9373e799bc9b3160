"""Tails of binomial counts with noise: exact, and rounded up."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom

from dpfair.fairness.bounds.tails import NoiseLaw, binomial_window, expected_chance, reaches


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


def test_a_mean_over_counts_is_rounded_up():
    """Also when rates are so far apart that they are taken in pieces, and for a rate alone."""
    for n in (1, 30, 4000, 2**17 - 1, 2**17, 10**6):
        rates = np.array([0.0, 1e-6, 0.2, 0.21, 0.6, 1.0])
        for needed in (0, 1, n // 5, n):

            def reached(counts, needed=needed):
                return (counts >= needed).astype(float)

            exact = binom.sf(needed - 1, n, rates)
            alone = [expected_chance(n, rate, reached) for rate in np.split(rates, len(rates))]
            for got in (expected_chance(n, rates, reached), np.concatenate(alone)):
                assert got == pytest.approx(exact, abs=1e-7)
                assert (got >= exact).all()


def test_window_agrees_with_scipy_for_large_sizes():
    for n, p in [(10**6, 0.2), (10**6, 1e-6), (10**4, 0.999)]:
        counts, weights = binomial_window(n, p)
        assert weights == pytest.approx(stats.binom.pmf(counts, n, p), rel=1e-7, abs=1e-15)
        assert stats.binom.cdf(counts[0] - 1, n, p) + stats.binom.sf(counts[-1], n, p) < 1e-12
