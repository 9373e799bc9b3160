"""Exactness, safety and speed of what a noisy count says about a rate."""

import math
import time

import numpy as np
import pytest
from fairness.tables import discrete_laplace
from scipy import stats

from dpfair.errors import InputError
from dpfair.fairness.limits import limit
from dpfair.fairness.rates import SIZE_SHARE, NoisyRate


def brute_pmf(n, p, noise, cells=1, reach=400):
    """P(C + Z = y) for y = -reach..n + reach, by plain convolution of full supports."""
    single = np.exp(-noise * np.abs(np.arange(-reach // cells, reach // cells + 1)))
    law = stats.binom.pmf(np.arange(n + 1), n, p)
    for _ in range(cells):
        law = np.convolve(law, single / single.sum())
    return law, -(reach // cells) * cells


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("p", [0.0, 0.03, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("accepted", [-20, 0, 7, 40, 55])
def test_tails_equal_brute_force_and_are_rounded_up(accepted, p, cells):
    law, start = brute_pmf(40, p, 0.8, cells)
    values = start + np.arange(len(law))
    rate = NoisyRate(accepted, None, 40, 0.8, accepted_cells=cells)
    for tail, exact in [
        (rate.upper_tail(p, (40, 40)), law[values >= accepted].sum()),
        (rate.lower_tail(p, (40, 40)), law[values <= accepted].sum()),
    ]:
        assert float(tail) == pytest.approx(exact, abs=3e-9)
        assert tail >= min(1.0, exact) - 1e-15


def brute_tail(rate, r, n, p):
    """P((1 - r) Y - r R >= its observed value) for one size, over all counts and noises."""
    up, start = brute_pmf(0, 0.5, rate.noise, rate.accepted_cells, reach=80)
    rest, rest_start = brute_pmf(0, 0.5, rate.noise, rate.rejected_cells, reach=80)
    z = (1 - r) * (start + np.arange(len(up)))[:, None] - r * (rest_start + np.arange(len(rest)))
    mass, observed = np.outer(up, rest), (1 - r) * rate.accepted - r * rate.rejected
    chances = [mass[c - r * n + z >= observed - 1e-9].sum() for c in range(n + 1)]
    return stats.binom.pmf(np.arange(n + 1), n, p) @ chances


@pytest.mark.parametrize("p", [0.0, 0.1, 0.32, 0.5, 0.77, 1.0])
@pytest.mark.parametrize(("accepted", "rejected"), [(9, 11), (-3, 20), (25, -2)])
def test_private_tails_equal_brute_force_at_the_worst_size(accepted, rejected, p):
    rate = NoisyRate(accepted, rejected, None, 0.8, accepted_cells=2)
    r = round(32 * p) / 32
    exact = [brute_tail(rate, r, n, p) for n in (18, 19, 20)]
    for n, chance in zip((18, 19, 20), exact, strict=True):
        assert float(rate.upper_tail(p, (n, n))) == pytest.approx(chance, abs=3e-9)
    worst = float(rate.upper_tail(p, (18, 20)))
    assert max(exact) - 1e-12 <= worst <= 1.5 * max(exact) + 0.05
    mirrored = [1 - brute_tail(rate, r, n, p) for n in (18, 20)]  # P(T < its observed value)
    assert float(rate.lower_tail(p, (18, 20))) >= max(mirrored) - 1e-12


def test_tails_are_vectorised_and_monotone():
    rate = NoisyRate(220, None, 3674, 0.05)
    p = np.linspace(0, 1, 101)
    upper, lower = rate.upper_tail(p, (3674, 3674)), rate.lower_tail(p, (3674, 3674))
    assert upper.shape == (101,)
    assert np.all(np.diff(upper) >= -1e-13)
    assert np.all(np.diff(lower) <= 1e-13)
    assert rate.upper_tail(p.reshape(1, 101), (3674, 3674)).shape == (1, 101)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.71, 0.98])
def test_tails_of_a_range_are_above_those_of_every_size(p):
    """And not far above the largest of them."""
    rate = NoisyRate(int(100 * p), 100 - int(100 * p), None, 0.2)
    for tail in (rate.upper_tail, rate.lower_tail):
        each = [float(tail(p, (n, n))) for n in range(60, 141)]
        together = float(tail(p, (60, 140)))
        assert max(each) - 1e-12 <= together <= max(each) + 0.15


def test_exact_counts_give_clopper_pearson():
    for accepted in (0, 7, 40):
        low, high = NoisyRate(accepted, None, 40, math.inf).interval(0.05)
        expected = stats.binomtest(accepted, 40).proportion_ci(0.95, "exact")
        assert low == pytest.approx(expected.low, abs=1e-8)
        assert high == pytest.approx(expected.high, abs=1e-8)
        assert low <= expected.low
        assert high >= expected.high


def test_limits_are_outside_the_roots():
    rate = NoisyRate(220, None, 3674, 0.05)
    low, high = rate.interval(0.05)
    assert rate.upper_tail(low, (3674, 3674)) <= 0.025
    assert rate.lower_tail(high, (3674, 3674)) <= 0.025
    assert rate.p_value([low, high], 0.5) == pytest.approx([0.05, 0.05], rel=1e-3)


def coverage(n, p, noise, level):
    """Exact probability that the interval at ``level`` contains p."""
    law, start = brute_pmf(n, p, noise)
    total = 0.0
    for value, mass in enumerate(law, start):
        if mass > 1e-7:
            low, high = NoisyRate(value, None, n, noise).interval(level)
            total += mass * (low <= p <= high)
    return total


@pytest.mark.parametrize(("n", "p", "noise"), [(25, 0.5, 0.3), (20, 0.1, 1.0), (30, 0.0, 0.5)])
def test_interval_has_exact_coverage(n, p, noise):
    assert coverage(n, p, noise, level=0.05) >= 0.95 - 1e-4


def test_interval_with_one_sided_levels_fails_the_coverage_check():
    assert coverage(25, 0.5, 0.3, level=0.10) < 0.95 - 1e-4


@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_private_size_range_and_interval_cover(noise):
    rng = np.random.default_rng(5)
    hits = []
    for trial in range(400):
        count = rng.binomial(200, 0.3)
        first, second = discrete_laplace(rng, noise, 2)
        rate = NoisyRate(int(count + first), int(200 - count + second), None, noise)
        n_low, n_high = rate.size_range(0.05)
        accepted = float(rate.p_value(0.3, SIZE_SHARE * 0.05)) >= (1 - SIZE_SHARE) * 0.05
        if trial < 8:
            low, high = rate.interval(0.05)
            assert low - 1e-6 <= 0.3 <= high + 1e-6 or not accepted
        hits.append((n_low <= 200 <= n_high, accepted))
    assert np.all(np.mean(hits, axis=0) >= 0.95)
    assert np.mean(hits, axis=0)[1] < 0.99  # the range of sizes costs little


def test_size_range_is_the_exact_quantile_of_two_cells():
    noise, eta = 0.2, 0.01
    n_low, n_high = NoisyRate(50, 70, None, noise).size_range(eta)
    law, start = brute_pmf(0, 0.5, noise, cells=2)
    values = start + np.arange(len(law))
    k = n_high - 120
    assert 120 - n_low == k
    assert law[np.abs(values) > k].sum() <= eta < law[np.abs(values) > k - 1].sum()


def test_sum_of_cells_widens_the_interval():
    widths = [np.diff(NoisyRate(100, None, 400, 0.2, m).interval(0.05))[0] for m in (1, 4, 16)]
    assert widths[0] < widths[1] < widths[2]


def test_private_sizes_widen_the_interval():
    public = NoisyRate(100, None, 400, 0.2).interval(0.05)
    private = NoisyRate(100, 300, None, 0.2).interval(0.05)
    assert private[0] < public[0] < public[1] < private[1]


def test_private_interval_is_valid_for_every_size_in_its_range():
    rate = NoisyRate(100, 300, None, 0.2)
    ends = np.array(rate.interval(0.05))
    n_low, n_high = rate.size_range(0.005)
    assert n_low < 400 < n_high
    for n in range(n_low, n_high + 1, 3):
        assert rate.upper_tail(ends[0], (n, n)) <= 0.0245
        assert rate.lower_tail(ends[1], (n, n)) <= 0.0245
    assert rate.p_value(ends, SIZE_SHARE * 0.05) == pytest.approx([0.049, 0.049], rel=1e-3)


@pytest.mark.parametrize("eta", [1e-8, 1e-7, 0.03])
def test_the_levels_of_a_limit_add_up(eta):
    """Also at the smallest levels, at which a size range once took more than its share."""
    rate = NoisyRate(100, 300, None, 0.2)
    level, size = rate.levels(eta)
    assert level + size == pytest.approx(eta)
    assert size == pytest.approx(SIZE_SHARE * eta)
    sizes = rate.size_range(size)
    assert rate.lower_limit(eta) == limit(rate, level, sizes, False)
    assert rate.upper_limit(eta) == limit(rate, level, sizes, True)
    assert rate.interval(eta) == tuple(limit(rate, level / 2, sizes, end) for end in (False, True))
    assert NoisyRate(100, None, 400, 0.2).levels(eta) == (eta, 0)


def test_counts_with_hardly_any_noise_do_not_overflow():
    exact = NoisyRate(30, 70, None, math.inf).interval(0.05)
    assert NoisyRate(30, 70, None, 900.0).interval(0.05) == pytest.approx(exact, abs=0.002)


def test_edge_cases():
    assert NoisyRate(3, None, 0, 0.5).interval(0.05) == (0.0, 1.0)
    assert NoisyRate(-400, -500, None, 0.5).interval(0.05) == (0.0, 1.0)
    assert NoisyRate(-1000, None, 50, 0.5).interval(0.05) == (0.0, 0.0)
    assert NoisyRate(1000, None, 50, 0.5).interval(0.05) == (1.0, 1.0)
    assert NoisyRate(-1000, None, 50, 0.5).estimate == 0.0
    assert NoisyRate(1000, None, 50, 0.5).estimate == 1.0
    assert NoisyRate(3, -7, None, 0.5).estimate == 1.0
    assert NoisyRate(-3, 1, None, 0.5).estimate == 0.0
    assert NoisyRate(30, 70, None, math.inf).size_range(0.05) == (100, 100)


def test_nested_intervals_contain_the_exact_ones():
    rate = NoisyRate(22, 60, None, 0.3)
    etas = np.geomspace(1e-4, 1, 7)
    nested = rate.nested_intervals(etas, 0.01)
    sizes = rate.size_range(0.01)
    for eta, (low, high) in zip(etas, nested, strict=True):
        assert low == 0 or rate.upper_tail(low, sizes) <= eta / 2
        assert high == 1 or rate.lower_tail(high, sizes) <= eta / 2
        inside = np.linspace(0, 0.005, 6)
        assert rate.upper_tail(low + inside, sizes).max() > eta / 2
        assert rate.lower_tail(high - inside, sizes).max() > eta / 2
        outside = np.linspace(0, 1, 301)
        outside = outside[(outside < low) | (outside > high)]
        assert (rate.p_value(outside, 0.01) <= eta).all()
    assert np.all(np.diff(nested[:, 0]) >= 0)
    assert np.all(np.diff(nested[:, 1]) <= 0)
    assert NoisyRate(1, None, 0, 0.3).nested_intervals([0.1, 1], 0.01).tolist() == [[0, 1]] * 2


@pytest.mark.parametrize(
    "fields",
    [
        {"rejected": None, "size": None},
        {"rejected": 3, "size": 10},
        {"size": -1},
        {"noise": 0.0},
        {"noise": math.nan},
        {"accepted_cells": 0},
    ],
)
def test_impossible_releases_are_refused(fields):
    with pytest.raises(InputError, match="Expected"):
        NoisyRate(**{"accepted": 1, "rejected": None, "size": 10, "noise": 1.0} | fields)


@pytest.mark.parametrize("eta", [0.0, -1.0, 1.5, math.nan])
def test_impossible_levels_are_refused(eta):
    with pytest.raises(InputError, match="Expected eta"):
        NoisyRate(1, None, 10, 1.0).interval(eta)


@pytest.mark.parametrize(("n", "seconds"), [(10**4, 0.02), (10**6, 0.2)])
def test_interval_is_fast(n, seconds):
    def once():
        start = time.perf_counter()
        NoisyRate(n // 10, None, n, 0.05).interval(0.05)
        return time.perf_counter() - start

    assert min(once() for _ in range(5)) < seconds
