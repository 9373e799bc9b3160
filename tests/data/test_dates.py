"""Dates are days since 1970-01-01."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sample_containers import objects

from dpfair.data.dates import check_date_format, days, iso_date, read_date
from dpfair.errors import SchemaError

DAYS = [dt.date(2020, 2, 29), None, dt.date(1969, 12, 31)]
EXPECTED = [18321.0, np.nan, -1.0]


@pytest.mark.parametrize(
    "column",
    [
        ["29.02.2020", None, "31.12.1969"],
        [" 29.02.2020 ", "30.02.2020", "31.12.1969"],
        objects(DAYS),
        objects([dt.datetime(2020, 2, 29, 23, 59), pd.NaT, pd.Timestamp("1969-12-31")]),
        np.array(DAYS, dtype="datetime64[s]"),
        np.array(DAYS, dtype="datetime64[ns]"),
        pl.Series(DAYS),
        pd.Series(pd.to_datetime(pd.Series(DAYS))),
    ],
    ids=["text", "spaces", "dates", "times", "seconds", "nanoseconds", "polars", "pandas"],
)
def test_days_of_any_container(column):
    assert np.array_equal(days(column, "%d.%m.%Y"), EXPECTED, equal_nan=True)


def test_what_is_no_date_is_missing():
    odd = objects([5, 20200229, "2020-02-29", "", b"x", float("nan"), [1], "9" * 10_000])
    assert np.isnan(days(odd, "%d.%m.%Y")).all()


def test_iso_dates_and_days_are_the_same():
    for day in (-1.0, 0.0, 18321.0):
        assert read_date(iso_date(day)) == day
    assert iso_date(1e12) == 1e12
    for other in ("2020-02-30", "20200229", "x", 5, None):
        assert read_date(other) is None


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%Y-%m-%d %H:%M:%S", "%b-%Y", "%y%m%d", "%Y"])
def test_formats(form):
    check_date_format(form, "d")


@pytest.mark.parametrize(
    "form", ["", "d.m.Y", "%d.%m", "%Y %Y", "%Y %", "%Y %Q", "%Y" * 40, None, 7]
)
def test_formats_that_cannot_be_used_are_refused(form):
    with pytest.raises(SchemaError, match="needs a date format such as '%d"):
        check_date_format(form, "d")
