"""The laws of whole numbers: discrete Laplace noise, those below a bound, and stored ones."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpfair.privacy.noise import Noise


def laplace_p_value(draws, parameter):
    """Chi-squared test of P(z) proportional to exp(-parameter |z|), tails pooled."""
    draws = np.asarray(draws)
    ratio = np.exp(-float(parameter))
    centre = (1 - ratio) / (1 + ratio)
    reach = int(np.log(200 / (len(draws) * centre)) / np.log(ratio))
    values = np.arange(-reach, reach + 1)
    law = centre * ratio ** np.abs(values)
    law[[0, -1]] = ratio**reach / (1 + ratio)
    seen = np.array([(np.clip(draws, -reach, reach) == v).sum() for v in values])
    return stats.chisquare(seen, law * len(draws)).pvalue


def geometric_difference(parameter, size, seed):
    """The same law, from an independent generator and another construction."""
    rng = np.random.default_rng(seed)
    p = -np.expm1(-float(parameter))
    return rng.geometric(p, size) - rng.geometric(p, size)


@pytest.mark.parametrize(
    ("parameter", "size"),
    [
        (Fraction(1, 3), 200_000),
        (Fraction(0.1), 20_000),
        (Fraction(5, 2), 20_000),
        (Fraction(1), 20_000),
    ],
    ids=str,
)
def test_discrete_laplace_has_its_exact_law(parameter, size):
    draws = Noise(seed=11).discrete_laplace(parameter, size)
    assert all(type(z) is int for z in draws[:100])
    assert laplace_p_value(draws, parameter) > 1e-6


@pytest.mark.slow
def test_a_million_laplace_draws_have_the_exact_law_and_one_percent_is_seen():
    draws = Noise(seed=13).discrete_laplace(Fraction(1, 3), 10**6)
    assert laplace_p_value(draws, Fraction(1, 3)) > 1e-6
    assert laplace_p_value(draws, 1.01 / 3) < 1e-6
    assert laplace_p_value(draws, 0.99 / 3) < 1e-6


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_a_parameter_three_percent_off_is_rejected(factor):
    size, parameter = 200_000, Fraction(1, 3)
    assert laplace_p_value(geometric_difference(parameter, size, 1), parameter) > 1e-6
    wrong = geometric_difference(float(parameter) * factor, size, 1)
    assert laplace_p_value(wrong, parameter) < 1e-6


class OneSided(Noise):
    def discrete_laplace(self, parameter, size):
        return [abs(z) for z in super().discrete_laplace(parameter, size)]


class Biased(Noise):
    """Reduces by modulus instead of rejecting."""

    def below(self, bound):
        return int.from_bytes(self.take(1), "little") % bound


@pytest.mark.parametrize("broken", [OneSided, Biased])
def test_broken_samplers_are_rejected(broken):
    parameter = Fraction(34, 101)
    assert laplace_p_value(Noise(seed=11).discrete_laplace(parameter, 20_000), parameter) > 1e-6
    assert laplace_p_value(broken(seed=11).discrete_laplace(parameter, 20_000), parameter) < 1e-6


def test_keeping_the_negative_zero_is_rejected():
    rng = np.random.default_rng(1)
    magnitudes = rng.geometric(-np.expm1(-1 / 3), 20_000) - 1
    draws = magnitudes * rng.choice([-1, 1], 20_000)
    assert laplace_p_value(draws, Fraction(1, 3)) < 1e-6


def test_discrete_laplace_of_a_tiny_parameter():
    draws = Noise(seed=2).discrete_laplace(Fraction(1, 10**30), 50)
    assert 10**28 < np.median([abs(z) for z in draws]) < 10**31
    # Integers all the way: a float would end in zeros.
    assert len({z % 1000 for z in draws}) > 30


def uniform_p_value(noise, bound, size=60_000):
    seen = np.bincount([noise.below(bound) for _ in range(size)], minlength=bound)
    assert len(seen) == bound
    return stats.chisquare(seen).pvalue


@pytest.mark.parametrize("bound", [2, 3, 7, 100, 256])
def test_below_is_uniform(bound):
    assert uniform_p_value(Noise(seed=5), bound) > 1e-6


def test_a_biased_below_is_rejected():
    assert uniform_p_value(Biased(seed=5), 100) < 1e-6


def test_below_for_any_size():
    noise = Noise(seed=1)
    assert [noise.below(1) for _ in range(5)] == [0] * 5
    large = 3 * 2**200 + 1
    draws = [noise.below(large) for _ in range(400)]
    assert all(0 <= d < large for d in draws)
    assert 0.4 < np.mean([d / large for d in draws]) < 0.6


def test_integers_made_ahead_keep_their_variance():
    noise = Noise(3)
    variances = [4**k for k in range(12)]
    drawn = {v: [] for v in variances}
    for _ in range(30):
        for v in variances:
            drawn[v].extend(noise.discrete_gaussian(v, 50).tolist())
    for v in variances:
        assert np.var(drawn[v]) == pytest.approx(v, rel=0.2)


def test_integers_are_made_ahead_for_at_most_eight_variances():
    """A seeded source stores all that it made ahead: 4096 integers per variance."""
    noise, most = Noise(3), 0
    for variance in range(1, 21):
        noise.discrete_gaussian(variance, 1)
        most = max(most, len(pickle.dumps(noise)))
    assert 7 * 4096 * 8 < most < 8 * 4096 * 8 + 10_000
