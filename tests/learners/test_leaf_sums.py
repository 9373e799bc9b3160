"""Residuals and Hessians by leaf: their sums, and the most that one record adds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpfair.jit import can_compile
from dpfair.learners import boosting, leaf_sums
from dpfair.learners.leaf_sums import SENSITIVITY, residuals_and_hessians, whole_leaf_sums

UNIT = 2.0**-30


def test_the_sensitivity_is_rounded_up():
    assert math.hypot(0.5, 0.125) == pytest.approx(SENSITIVITY)
    assert Fraction(SENSITIVITY) ** 2 >= Fraction(1, 4) + Fraction(1, 64)
    assert boosting.SENSITIVITY is leaf_sums.SENSITIVITY


@pytest.fixture(
    params=[
        False,
        pytest.param(
            True, marks=pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")
        ),
    ],
    ids=["plain", "compiled"],
)
def compiled(request):
    return request.param


def test_no_record_adds_more_than_the_sensitivity(compiled):
    odds = np.linspace(-20, 20, 4001)
    for label in (0, 1):
        labels = np.full(len(odds), label)
        one_each = whole_leaf_sums(
            np.arange(len(odds)), labels, odds, len(odds), UNIT, compiled=compiled
        )
        norms = np.hypot(*(UNIT * one_each))
        assert norms.max() <= SENSITIVITY
        assert norms.max() > 0.99 * SENSITIVITY


def test_residuals_are_clipped_and_hessians_are_not():
    residuals, hessians = residuals_and_hessians(np.array([1, 1, 0]), np.array([0.1, 0.75, 0.9]))
    np.testing.assert_allclose(residuals, [0.5, 0.25, -0.5])
    np.testing.assert_allclose(hessians, [0.045, 0.09375, 0.045])


def test_the_sum_is_that_of_the_parts_whatever_their_order():
    rng = np.random.default_rng(0)
    leaf, labels = rng.integers(0, 5, 40_000), rng.integers(0, 2, 40_000)
    odds, order = rng.normal(size=40_000), rng.permutation(40_000)
    total = whole_leaf_sums(leaf, labels, odds, 6, UNIT)
    again = whole_leaf_sums(leaf[order], labels[order], odds[order], 6, UNIT)
    np.testing.assert_array_equal(total, again)
    halves = [
        whole_leaf_sums(leaf[half], labels[half], odds[half], 6, UNIT)
        for half in (slice(0, 123), slice(123, None))
    ]
    np.testing.assert_array_equal(total, sum(halves))
    assert not total[:, 5].any()


@pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")
@pytest.mark.parametrize("type_of_leaf", [np.uint8, np.uint16, np.int64])
@pytest.mark.parametrize("rows", [0, 1, 20_000, 300_000])
def test_the_compiled_loop_gives_the_very_same_integers(rows, type_of_leaf):
    rng = np.random.default_rng(1)
    leaf, labels = rng.integers(0, 216, rows).astype(type_of_leaf), rng.integers(0, 2, rows)
    odds = 5 * rng.standard_cauchy(rows)
    fast, plain = (
        whole_leaf_sums(leaf, labels, odds, 216, UNIT, compiled=flag) for flag in (True, False)
    )
    np.testing.assert_array_equal(fast, plain)
    assert fast.dtype == plain.dtype == np.int64


@pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")
def test_a_compiled_part_is_the_same_to_the_last_bit():
    """In steps so small that nothing is rounded away, every record in a leaf of its own."""
    rng = np.random.default_rng(2)
    leaf, labels, odds = np.arange(20_000), rng.integers(0, 2, 20_000), rng.normal(size=20_000)
    fast, plain = (
        whole_leaf_sums(leaf, labels, odds, 20_000, 2.0**-54, compiled=flag)
        for flag in (True, False)
    )
    np.testing.assert_array_equal(fast, plain)
