"""Any value has one text, one number and one code; no error depends on a value."""

import datetime as dt
import decimal
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data.any_columns import Hostile, scalars
from hypothesis import given, settings
from hypothesis import strategies as st
from record_arrays import codes_in, numbers_in
from sample_containers import (
    COLUMNS,
    array_schema,
    objects,
    records,
    same,
)
from sample_tables import LOANS

from dpfair.data.columns import Levels
from dpfair.data.containers import get_column
from dpfair.data.encode import encode, level_codes
from dpfair.data.numbers import numbers
from dpfair.data.schema import Schema
from dpfair.data.words import as_words

# As many as data bases have.
DIGITS = "0.12345678901234567890123456789012345678"


def test_labels_of_any_type():
    outcome = Levels("y", ("0", "1"))
    for values in ([0, 1, 1], [0.0, 1.0, 1.0], ["0", "1", "1"], np.array([0, 1, 1], dtype="u1")):
        assert level_codes(values, outcome).tolist() == [0, 1, 1]
    unknown = level_codes([math.nan, None, "", "2", True, -0.0], outcome)
    assert unknown.tolist() == [-1, -1, -1, -1, -1, 0]


def test_decimals_are_the_values_that_a_schema_declares():
    """As text, as in a CSV file, or as decimals, as in the data frame itself."""
    rates = [decimal.Decimal("0.50"), decimal.Decimal("2.00"), None]
    for declared in (("0.50", "2"), (decimal.Decimal("0.50"), decimal.Decimal("2.00"))):
        column = {"name": "rate", "kind": "categorical", "values": list(declared)}
        schema = Schema.from_dict(LOANS | {"columns": [column]})
        for table in (
            pl.DataFrame({"rate": pl.Series(rates, dtype=pl.Decimal(6, 2)), "sex": "f"}),
            pa.table({"rate": pa.array(rates, pa.decimal128(6, 2)), "sex": ["f"] * 3}),
            pd.DataFrame({"rate": pd.Series(rates, dtype=object), "sex": "f"}),
        ):
            [codes] = encode(table, schema).codes
            assert codes.tolist() == [0, 1, 2]


def test_times_are_the_same_words_everywhere():
    times = [dt.datetime(2020, 1, 2, 3), None]
    expected = ["2020-01-02 03:00:00", None]
    for table in (
        pl.DataFrame({"a": times}),
        pd.DataFrame({"a": times}),
        pd.DataFrame({"a": pd.Series(times, dtype="datetime64[ns]")}),
        pa.table({"a": times}),
    ):
        assert as_words(get_column(table, "a")).texts() == expected
        assert np.isnan(numbers(get_column(table, "a"))).all()
    for unit in ("s", "us", "ns"):
        assert as_words(np.array(times, dtype=f"datetime64[{unit}]")).texts() == expected


@pytest.mark.parametrize(
    ("value", "word", "number"),
    [
        (1, "1", 1.0),
        (1.0, "1", 1.0),
        ("1", "1", 1.0),
        (np.float32(1), "1", 1.0),
        (np.int8(1), "1", 1.0),
        (np.str_("1"), "1", 1.0),
        (True, "true", 1.0),
        (0.5, "0.5", 0.5),
        (-0.0, "0", 0.0),
        (math.nan, None, math.nan),
        (np.float32("nan"), None, math.nan),
        (math.inf, "inf", math.inf),
        (None, None, math.nan),
        (pd.NA, None, math.nan),
        (pd.NaT, None, math.nan),
        (np.datetime64("NaT"), None, math.nan),
        ("", "", math.nan),
        ("abc", "abc", math.nan),
        ("1e400", "1e400", math.inf),
        (10**400, "1" + "0" * 400, math.inf),
        (-(10**5000), None, -math.inf),
        (decimal.Decimal("sNaN"), None, math.nan),
        (decimal.Decimal("NaN"), None, math.nan),
        (decimal.Decimal("2.00"), "2", 2),
        (decimal.Decimal("-0.00"), "0", 0),
        (decimal.Decimal("1E+2"), "100", 100),
        (decimal.Decimal("-1.50"), "-1.50", -1.5),
        (decimal.Decimal(f"{DIGITS}00"), f"{DIGITS}00", float(DIGITS)),
        (decimal.Decimal("1E+999999999"), "1E+999999999", math.inf),
        (dt.date(2020, 1, 2), "2020-01-02", math.nan),
        (dt.timedelta(1), "1 day, 0:00:00", math.nan),
        (1j, "1j", math.nan),
        (np.array([1, 2]), None, math.nan),
        ([1, 2], "[1, 2]", math.nan),
        ("\ud800", "\ud800", math.nan),
    ],
    ids=lambda value: type(value).__name__,
)
def test_words_and_numbers_of_single_values(value, word, number):
    column = np.empty(1, dtype=object)
    column[0] = value
    assert as_words(column).texts() == [word]
    assert np.array_equal(numbers(column), [number], equal_nan=True)


def test_a_hostile_value_is_missing():
    assert as_words(objects([Hostile()])).texts() == [None]
    assert np.isnan(numbers(objects([Hostile()]))).all()


def check_records(found, n):
    assert len(found) == n
    assert numbers_in(found).shape == (n, 2)
    inside = (numbers_in(found) >= [0, -1]) & (numbers_in(found) <= [100, 1])
    assert (inside | np.isnan(numbers_in(found))).all()
    assert ((codes_in(found) >= 0) & (codes_in(found) <= 3)).all()
    assert ((found.groups >= -1) & (found.groups <= 1)).all()
    assert len(found.identities()) == n


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(scalars, scalars, scalars, scalars), min_size=1, max_size=5))
def test_encoding_is_total(rows):
    columns = [objects(list(column)) for column in zip(*rows, strict=True)]
    table = np.stack(columns, axis=1)
    named = dict(zip(COLUMNS, columns, strict=True))
    try:
        frame = pd.DataFrame(named)
    except OverflowError:  # pandas 2, of None beside an integer that is too large for a float
        frame = pd.DataFrame(named, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = encode(table, array_schema())
        check_records(found, len(rows))
        assert same(records(frame), found)


typed = st.one_of(
    st.tuples(st.just(pl.Int64), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(pl.UInt64), st.integers(0, 2**64 - 1)),
    st.tuples(st.just(pl.Float64), st.floats()),
    st.tuples(st.just(pl.Float32), st.floats(width=32)),
    st.tuples(st.just(pl.Boolean), st.booleans()),
    st.tuples(st.just(pl.String), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
    st.tuples(st.just(pl.Datetime("us")), st.datetimes(max_value=dt.datetime(2200, 1, 1))),
    st.tuples(st.just(pl.Date), st.dates()),
    st.tuples(st.just(pl.List(pl.Int64)), st.just([1, 2])),
    st.tuples(st.just(pl.Struct({"a": pl.Int64})), st.just({"a": 1})),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(typed, min_size=4, max_size=4), st.lists(st.booleans(), min_size=1, max_size=4))
def test_typed_columns_agree_between_polars_pyarrow_and_objects(cells, present):
    data = {
        name: pl.Series([value if p else None for p in present], dtype=dtype)
        for name, (dtype, value) in zip(COLUMNS, cells, strict=True)
    }
    table = pl.DataFrame(data)
    found = records(table)
    check_records(found, len(present))
    assert same(records(table.to_arrow()), found)
    plain = np.stack([objects(table[name].to_list()) for name in COLUMNS], axis=1)
    assert same(encode(plain, array_schema()), found)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | st.integers(-(2**62), 2**62) | st.floats(), min_size=1, max_size=6))
def test_ints_and_floats_and_text_are_one_number(values):
    as_text = [None if v is None else repr(v) for v in values]
    expected = numbers(objects(values))
    assert np.array_equal(numbers(objects(as_text)), expected, equal_nan=True)
    assert np.array_equal(
        numbers(get_column(pl.DataFrame({"a": as_text}), "a")), expected, equal_nan=True
    )


@pytest.mark.parametrize("spellings", [(1, 1.0, "1", "1.0"), (True, "True", "true", np.True_)])
def test_a_file_and_a_frame_write_the_same_word(spellings):
    assert len({as_words([value]).texts()[0] for value in spellings}) == 1
    assert len({numbers([value])[0] for value in spellings}) == 1


def test_a_file_with_decimal_commas_dates_and_marks_of_missing_values():
    schema = Schema.from_dict(
        {
            "file": {"decimal": ",", "thousands": "."},
            "label": {"name": "y", "values": [0, 1]},
            "columns": [
                {"name": "income", "kind": "numeric", "bounds": [0, 5000], "missing": [-999]},
                {
                    "name": "born",
                    "kind": "numeric",
                    "date": "%d.%m.%Y",
                    "bounds": ["1970-01-01", "1970-02-01"],
                    "missing": ["1970-01-05"],
                },
                {"name": "job", "kind": "categorical", "values": ["a"], "missing": ["unknown"]},
            ],
        }
    )
    frame = pl.DataFrame(
        {
            "income": ["1.234,5 €", "-999", "-999,0", "9.999", "0.5"],
            "born": ["02.01.1970", "05.01.1970", "01.01.2000", "1970-01-02", None],
            "job": ["a", "unknown", "b", None, "a"],
        }
    )
    found = encode(frame, schema)
    expected = [
        [1234.5, 1],
        [math.nan, math.nan],
        [math.nan, 31],
        [5000, math.nan],
        [math.nan, math.nan],
    ]
    assert np.array_equal(numbers_in(found), expected, equal_nan=True)
    assert codes_in(found)[:, 0].tolist() == [0, 1, 1, 1, 0]
    assert found.irregular.tolist() == [False, True, True, True, True]
    typed = pl.DataFrame(
        {"income": [-999.0, 12.5], "born": [dt.date(1970, 1, 2), None], "job": ["a", "a"]}
    )
    expected = [[math.nan, 1], [12.5, math.nan]]
    assert np.array_equal(numbers_in(encode(typed, schema)), expected, equal_nan=True)
