"""The laws of uniform and of normal numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from dpfair.privacy.noise import Noise


def test_uniforms_have_their_law():
    draws = Noise(seed=3).uniforms(200_000)
    assert draws.min() > 0
    assert draws.max() < 1
    assert stats.kstest(draws, "uniform").pvalue > 1e-6
    assert stats.kstest(draws**1.03, "uniform").pvalue < 1e-6


class Constant(Noise):
    """Hands out one byte only, to reach the ends."""

    def __init__(self, byte):
        super().__init__(seed=0)
        self.byte = byte

    def take(self, count):
        return self.byte * count


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_uniforms_never_reach_the_ends(byte):
    draws = Constant(byte).uniforms(3)
    assert ((draws > 0) & (draws < 1)).all()
    assert np.isfinite(Constant(byte).normals(3)).all()


def test_uniforms_are_the_middles_of_equal_intervals():
    words = Noise(seed=3).random_uint64(10_000)
    expected = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    assert Noise(seed=3).uniforms(10_000).tolist() == expected.tolist()


def test_normals_have_their_law():
    draws = Noise(seed=4).normals(200_000)
    assert stats.kstest(draws, "norm").pvalue > 1e-6
    assert stats.kstest(draws * 0.97, "norm").pvalue < 1e-6
    assert stats.kstest(np.abs(draws), "norm").pvalue < 1e-6


def test_normals_are_independent():
    draws = Noise(seed=4).normals(200_000)
    for lag in (1, 2, 8):
        assert abs(np.corrcoef(draws[:-lag], draws[lag:])[0, 1]) < 5 / len(draws) ** 0.5


def whole_numbers(noise, count):
    """Discrete Gaussian numbers at a scale where they are normal up to 2^-30."""
    return noise.discrete_gaussian(1 << 60, count) * 2.0**-30


def tail_p_value(draws):
    """The least of three binomial tests: of how many draws lie beyond 3.5, 4 and 4.5."""
    size = np.abs(draws)
    seen = {far: int((size > far).sum()) for far in (3.5, 4.0, 4.5)}
    return min(
        stats.binomtest(count, len(draws), 2 * stats.norm.sf(far)).pvalue
        for far, count in seen.items()
    )


@pytest.mark.parametrize("draw", [Noise.normals, whole_numbers])
def test_the_tails_of_gaussian_noise_have_their_law(draw):
    """A set that noise never reaches tells neighbours apart, whatever epsilon is."""
    draws = draw(Noise(seed=14), 3 * 10**6)
    assert tail_p_value(draws) > 1e-6
    assert tail_p_value(np.clip(draws, -4.4, 4.4)) < 1e-6


class Coarse(Noise):
    """Makes normal numbers of 16 bits."""

    def normals(self, count):
        return special.ndtri((np.floor(self.uniforms(count) * 2**16) + 0.5) / 2**16)


class Single(Noise):
    """Makes normal numbers in float32."""

    def normals(self, count):
        return super().normals(count).astype(np.float32).astype(np.float64)


def test_normals_are_all_different():
    assert len(np.unique(Noise(seed=4).normals(100_000))) == 100_000
    for broken in (Coarse, Single):
        assert len(np.unique(broken(seed=4).normals(100_000))) < 100_000
    assert tail_p_value(Coarse(seed=4).normals(3 * 10**6)) < 1e-6
