"""The compiled normal numbers are those of SciPy, in the middle, in the tails and at their ends."""

from __future__ import annotations

import numpy as np
from scipy import special

from dpfair import Noise
from dpfair.privacy import floating
from dpfair.privacy.floating import normal_numbers, uniform_numbers

# 2^52 equal intervals: the ends, the middle, where the tails begin, and small numbers.
STEPS = [2**52 - 1, 2**51 - 1, 2**51, 0, *(2**k for k in range(45))]
EDGES = [int((0.5 + side * 0.425) * 2**52) + k for side in (-1, 1) for k in range(-3, 4)]
SOME = np.array(STEPS + EDGES, np.uint64) << np.uint64(12)
WORDS = np.concatenate([SOME, Noise(1).random_uint64(200_000)])


def test_normal_numbers_are_those_of_scipy():
    expected = special.ndtri(uniform_numbers(WORDS))
    np.testing.assert_allclose(normal_numbers(WORDS), expected, rtol=2e-14, atol=0)


def test_without_numba_scipy_makes_them(monkeypatch):
    monkeypatch.setattr(floating, "can_compile", lambda: False)
    assert (normal_numbers(WORDS) == special.ndtri(uniform_numbers(WORDS))).all()


def test_uniform_numbers_are_never_0_or_1():
    ends = uniform_numbers(np.array([0, 2**64 - 1], np.uint64))
    assert ends.tolist() == [2.0**-53, 1 - 2.0**-53]
    assert len(normal_numbers(np.empty(0, np.uint64))) == 0
