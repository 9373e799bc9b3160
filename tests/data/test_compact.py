"""Numbers as small codes: the same numbers, in less memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.data.compact import Numbers

RNG = np.random.default_rng(0)
N = 40_000


def with_gaps(numbers):
    return np.where(RNG.random(len(numbers)) < 0.1, np.nan, numbers)


COLUMNS = {
    "ages": (RNG.integers(17, 91, N) * 1.0, 1),
    "ages with gaps": (with_gaps(RNG.integers(17, 91, N) * 1.0), 1),
    "negative": (RNG.integers(-120, -3, N) * 1.0, 1),
    "few amounts": (RNG.integers(0, 90, N) * 917.5, 1),
    "few large amounts": (with_gaps(RNG.integers(0, 90, N) * 1e12), 1),
    "years of a thousand": (RNG.integers(0, 1000, N) * 1.0, 2),
    "few amounts of a wide range": (with_gaps(RNG.integers(0, 90, N) * 917.0), 1),
    "many amounts of a wide range": (RNG.integers(0, 4000, N) * 37.0, 2),
    "different numbers of a wide range": (RNG.permutation(N) * 3.0, 8),
    "infinite": (np.where(RNG.random(N) < 0.5, np.inf, -np.inf), 1),
    "nothing": (np.full(N, np.nan), 1),
    "one value": (np.full(N, 0.1), 1),
    "all different": (RNG.random(N), 8),
    "rounded": (RNG.integers(0, 2**52, N) * 1.0, 8),
    "empty": (np.empty(0), 8),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_numbers_stay_and_take_little_memory(name):
    numbers, size = COLUMNS[name]
    found = Numbers.compact(numbers)
    np.testing.assert_array_equal(found.floats, numbers)
    assert len(found) == len(numbers)
    stored = found.values if found.codes is None else found.codes
    assert stored.itemsize == size
    assert found.codes is None or len(found.values) <= 1 << 16


floats = st.one_of(st.floats(), st.integers(-300, 300).map(float), st.sampled_from([0.5, 1e300]))


@settings(deadline=None)
@given(st.lists(floats, max_size=40), st.integers(0, 3))
def test_any_numbers(numbers, times):
    column = np.tile(np.array(numbers, dtype=np.float64), 10**times)
    np.testing.assert_array_equal(Numbers.compact(column).floats, column)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_function_of_a_number_does_not_depend_on_the_form(name):
    numbers, _ = COLUMNS[name]
    found, plain = Numbers.compact(numbers), Numbers(numbers)
    for rows in (slice(0, 10), slice(0, 0), np.arange(len(numbers))[::7], slice(None)):
        one, other = found.take(rows), plain.take(rows)
        for function in (np.isnan, np.abs, np.sign):
            np.testing.assert_array_equal(one.map(function), other.map(function))
            np.testing.assert_array_equal(other.map(function), function(numbers[rows]))


def test_a_function_is_computed_once_per_value():
    asked = []

    def watched(values):
        asked.append(len(values))
        return values >= 40

    column = Numbers.compact(COLUMNS["ages"][0])
    column.map(watched)
    column.take(slice(0, 5)).map(watched)  # fewer records than values
    assert asked == [74, 5]


@pytest.mark.parametrize(
    ("others", "one"),
    [
        ([6.299999999999999] * 50, -3.7),  # their rounded difference is 10
        ([1.7e18, 1.7e18, np.nan], 0.0),
        ([2.0**53, 2.0**53 + 2, np.nan], 2.0**53 + 4),
        ([0.1 + 0.2, 0.3], -0.7),
        ([3.7e-302, 5e-324, np.nan], -1.0),  # too small for a distance from -1
        ([-(2.0**53) + 1, np.nan], 5.0),
    ],
)
def test_one_record_does_not_change_another(others, one):
    for numbers in (np.array(others), np.array([*others, one]), np.array([one, *others])):
        np.testing.assert_array_equal(Numbers.compact(numbers).floats, numbers)


near = st.builds(
    lambda low, steps, nudge: np.nextafter(low + steps, nudge),
    st.sampled_from([-3.7, 0.1, -1e15, 2.0**53 - 3, 1.7e18, 0.0]),
    st.integers(0, 12),
    st.sampled_from([-np.inf, np.inf, 0.0]),
)


@settings(deadline=None)
@given(st.lists(st.one_of(near, st.just(np.nan)), min_size=1, max_size=30))
def test_numbers_that_are_nearly_whole_steps_apart(numbers):
    column = np.array(numbers)
    np.testing.assert_array_equal(Numbers.compact(column).floats, column)
