"""Bounds are round and outside the data; marks of missing values are far away from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfair.data.dates import day_number, iso_date, read_date
from dpfair.data.proposal.ranges import mark_of_missing, round_outwards, whole_years

finite = st.floats(-1e12, 1e12)


@given(finite, finite)
def test_bounds_are_never_inside_the_data(one, other):
    low, high = round_outwards(min(one, other), max(one, other))
    assert low <= min(one, other)
    assert high >= max(one, other)
    assert low < high


@pytest.mark.parametrize(
    ("data", "bounds"),
    [
        ((17, 90), (10, 90)),
        ((0, 1), (0, 1)),
        ((0.003, 0.047), (0, 0.05)),
        ((-3.2, 12.9), (-4, 14)),
        ((1.1e6, 9.7e6), (1e6, 1e7)),
        ((5, 5), (4, 6)),
    ],
)
def test_bounds_are_round(data, bounds):
    assert round_outwards(*data) == pytest.approx(bounds)


def test_dates_have_whole_years():
    low, high = whole_years(read_date("1999-05-05"), read_date("2020-12-31"))
    assert (iso_date(low), iso_date(high)) == ("1999-01-01", "2021-01-01")
    assert day_number.__doc__


@pytest.mark.parametrize(
    ("numbers", "marks"),
    [
        ([20, 30, -999, -999], (-999,)),
        ([20, 30, -999], ()),  # once is no mark
        ([0, 3, -1, -1, 5], (-1,)),
        ([-5, 3, -1, -1, 5], ()),
        ([20, 45, 9999, 9999, -9, -9], (-9, 9999)),
        ([20, 700, 999, 999], ()),
        ([99, 99, 98, 100], ()),
        ([20.5, 30, 99, 99], (99,)),
        ([999, 999], ()),
    ],
)
def test_marks_of_missing_values(numbers, marks):
    assert mark_of_missing(np.array(numbers, dtype=float)) == marks
