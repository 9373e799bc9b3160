"""Discrete Gaussian draws have their exact law, and floating point never decides anything."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpfair.privacy import discrete_gaussian as module
from dpfair.privacy.discrete_gaussian import discrete_gaussian, discrete_gaussian_by_coins
from dpfair.privacy.noise import Noise

VARIANCES = [1, 2, 3, 4, 15, 16, 100, 10**4]


def p_value(draws, variance):
    """Chi-squared test against the law, in about 40 bins of a tenth of the scale or more."""
    scale = math.sqrt(variance)
    values = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + 1)
    law = np.exp(-(values**2) / (2 * float(variance)))
    width, last = max(1, round(scale / 6)), max(1, round(3.5 * min(scale, 6)))
    bins, seen = (np.clip(np.rint(z / width), -last, last) + last for z in (values, draws))
    expected = np.bincount(bins.astype(int), law / math.fsum(law))
    counts = np.bincount(seen.astype(int), minlength=len(expected))
    return stats.chisquare(counts, expected / expected.sum() * len(draws)).pvalue


@pytest.mark.parametrize("variance", VARIANCES)
def test_many_draws_at_a_time_have_the_exact_law(variance):
    assert p_value(discrete_gaussian(Noise(1), variance, 100_000), variance) > 1e-6


@pytest.mark.parametrize("variance", [1, 5, 200])
def test_the_published_algorithm_has_the_exact_law(variance):
    noise = Noise(2)
    draws = [discrete_gaussian_by_coins(noise, variance) for _ in range(10_000)]
    assert all(type(z) is int for z in draws)
    assert p_value(np.array(draws), variance) > 1e-6


@pytest.mark.parametrize(("true", "claimed"), [(100, 106), (106, 100)])
def test_a_scale_three_percent_off_is_rejected(true, claimed):
    assert p_value(discrete_gaussian(Noise(3), true, 100_000), claimed) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("variance", [10_000, 2])
def test_a_million_draws_have_the_exact_law_and_one_percent_is_seen(variance):
    draws = discrete_gaussian(Noise(4), variance, 10**6)
    assert p_value(draws, variance) > 1e-6
    assert p_value(draws, variance * 1.01**2) < 1e-6
    assert p_value(draws, variance / 1.01**2) < 1e-6


@pytest.mark.slow
def test_a_million_draws_of_the_two_algorithms_agree():
    noise, variance = Noise(5), 30
    coins = np.array([discrete_gaussian_by_coins(noise, variance) for _ in range(10**6)])
    fast = discrete_gaussian(noise, variance, 10**6)
    assert p_value(coins, variance) > 1e-6
    assert p_value(coins, variance * 1.01**2) < 1e-6
    counts = [np.bincount(np.clip(z, -20, 20) + 20, minlength=41) for z in (coins, fast)]
    assert stats.chi2_contingency(counts).pvalue > 1e-6


@pytest.mark.parametrize("bits", [41, 60, 61, 80, 81, 82, 100])
def test_large_scales_are_normal_with_random_last_digits(bits):
    """Up to 2^41 many at a time, beyond by coins."""
    variance, size = (1 << bits) + 12345, 50_000 if bits < 82 else 3000
    draws = discrete_gaussian(Noise(6), variance, size)
    assert draws.dtype == np.int64
    scaled = draws / math.sqrt(variance)
    assert stats.kstest(scaled, "norm").pvalue > 1e-6
    assert stats.chisquare(np.bincount(draws % 8)).pvalue > 1e-6
    if bits < 82:
        assert stats.kstest(scaled * 1.06, "norm").pvalue < 1e-6


def test_the_float_decides_as_exact_arithmetic_does():
    """With a margin of everything, each candidate is decided by exact arithmetic instead."""
    for variance in (1, 7, 1000, 1 << 60, (1 << 82) - 1):
        fast = discrete_gaussian(Noise(8), variance, 1500)
        exact = discrete_gaussian(Noise(8), variance, 1500, margin=2.0)
        assert fast.tolist() == exact.tolist()


def test_candidates_near_the_margin_reach_exact_arithmetic(monkeypatch):
    decided = []
    real = module.decided

    def counted(*arguments):
        decided.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(module, "decided", counted)
    discrete_gaussian(Noise(9), 50, 20_000, margin=2.0**-8)
    assert 100 < len(decided) < 2000


class Scripted(Noise):
    """Coins for ``below(2)``, and a fixed answer to every wider question."""

    def __init__(self, coins, wide=0):
        super().__init__(0)
        self.coins, self.wide, self.asked = list(coins), wide, []

    def below(self, bound):
        self.asked.append(bound)
        return self.coins.pop(0) if bound == 2 else self.wide


def test_the_last_block_goes_on_by_coins():
    """Blocks have no end, so that the largest numbers have their probability too."""
    envelope = module.envelope_of(1 << 20)
    _, size = module.decided(Scripted([1, 1, 0]), envelope, module.COINS, 5, 1 << 63)
    assert size == (module.COINS + 2) * 2**10 + 5
    noise = Scripted([])
    _, size = module.decided(noise, envelope, module.COINS - 1, 5, 1 << 63)
    assert size == (module.COINS - 1) * 2**10 + 5
    assert noise.asked == []


def test_a_tie_of_64_bits_is_broken_by_more_bits():
    exponent = Fraction(1, 3)
    exact = Context(prec=60).exp(Context(prec=60).divide(Decimal(-1), Decimal(3)))
    tie = int(Fraction(exact) * 2**64)
    for wide, expected in ((0, True), (2**64 - 1, False)):
        noise = Scripted([], wide)
        assert module.is_below(noise, tie, Fraction(1), exponent) is expected
        assert noise.asked == [2**64]
    noise = Scripted([])
    assert module.is_below(noise, tie - 1, Fraction(1), exponent)
    assert not module.is_below(noise, tie + 1, Fraction(1), exponent)
    assert noise.asked == []


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 7), Fraction(300), Fraction(10**6)])
def test_exponentials_are_enclosed(exponent):
    low, high = module.exp_enclosure(exponent, digits=40)
    context = Context(prec=90, Emin=-(10**8), Emax=10**8)
    ratio = context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    true = Fraction(context.exp(ratio))
    assert low < true < high
    assert (high - low) / true < Fraction(1, 10**30)


def test_no_candidate_is_kept_with_a_probability_above_one():
    for variance in [*range(1, 200), (1 << 60) - 1, 1 << 60, 3 << 70]:
        envelope = module.envelope_of(variance)
        constant, t = float(envelope.constant), 1 << envelope.place_bits
        assert t * t <= variance < 4 * t * t
        for block in range(12):
            assert constant * 2**block * math.exp(-((block * t) ** 2) / 2 / variance) <= 1
        # About half are kept.
        assert 0.4 < constant * math.sqrt(math.pi / 8 * variance) / t < 0.6


def test_every_call_gives_as_many_as_asked():
    for size in (0, 1, 5, 1000):
        assert len(discrete_gaussian(Noise(1), 9, size)) == size
