"""What one column is."""

import datetime as dt

import polars as pl
import pytest

from dpfair.data.columns import Categorical, Numeric
from dpfair.data.file_form import FileForm
from dpfair.data.proposal.columns import find_column
from dpfair.data.proposal.leaving_out import CONSTANT, EMPTY, FREE_TEXT, MANY_VALUES, SOME_NUMBERS
from dpfair.data.proposal.values import Values

EURO = FileForm(decimal=",", thousands=".")


def found(column, name="c", file=FileForm()):
    return find_column(Values(name, pl.Series(list(column)), file))


def many(values, times=20):
    return list(values) * times


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (many(range(18, 91)), Numeric("c", (10, 90))),
        (many(range(7)), Numeric("c", (0, 6))),
        (many([0.5, 1, 1.5, 2, 2.5]), Numeric("c", (0.4, 2.6))),
        (many([6, 12, 24, 48, 60]), Numeric("c", (0, 60))),
        (many(range(1, 6)), Categorical("c", ("1", "2", "3", "4", "5"))),
        (many([0, 1]), Categorical("c", ("0", "1"))),
        (many([True, False]), Categorical("c", ("false", "true"))),
        (many(["b", "a", "NA", None]), Categorical("c", ("a", "b"))),
        (many(["b", "a", "Unknown"]), Categorical("c", ("a", "b"), missing=("Unknown",))),
        (many(["low", "high", "medium"]), Categorical("c", ("low", "medium", "high"))),
        (many([*range(20, 70), -999]), Numeric("c", (20, 70), missing=(-999,))),
    ],
)
def test_kinds(column, expected):
    assert found(column).column == expected


def test_money_and_decimal_commas():
    money = [f"{i}.{i}00,50 €" for i in range(1, 10)] * 20
    one = found(money, file=EURO)
    assert one.column == Numeric("c", (1000, 10000))
    assert "money" in one.remark


def test_dates():
    dates = [dt.date(2001, 1, 5) + dt.timedelta(i) for i in range(800)]
    bounds = ("2001-01-01", "2004-01-01")
    assert found(dates).column == Numeric("c", bounds, date="%Y-%m-%d")
    open_end = found([*dates, dt.date(9999, 12, 31), dt.date(1, 1, 1)])
    assert open_end.column == Numeric(
        "c", bounds, date="%Y-%m-%d", missing=("0001-01-01", "9999-12-31")
    )
    texts = [date.strftime("%d.%m.%Y") for date in dates]
    assert found(texts).column == Numeric("c", bounds, date="%d.%m.%Y")
    assert "%m/%d/%Y fits as well" in found(["01/02/2020", "03/04/2021"] * 9).remark


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (["a"] * 30, CONSTANT),
        (["a", "NA"] * 30, CONSTANT),
        ([None] * 30, EMPTY),
        (many([f"w{i}" for i in range(101)]), MANY_VALUES),
        (many([*map(str, range(101)), *(f"{i}k" for i in range(20))]), SOME_NUMBERS),
        (many([f"these are words {i}" for i in range(101)]), FREE_TEXT),
    ],
)
def test_columns_that_are_left_out(column, reason):
    one = found(column)
    assert one.column is None
    assert one.reason == reason


def test_identifiers_can_be_kept():
    values = Values("id", pl.Series(range(100)))
    assert find_column(values).column is None
    assert find_column(values, identifiers=False).column == Numeric("id", (0, 100))
