"""Columns of every container, with values that equal each other and are written differently."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from sample_containers import SECRET, objects


class Hostile:
    """A value whose methods raise errors that contain a secret."""

    def __float__(self):
        raise RuntimeError(SECRET)

    def __str__(self):
        raise RuntimeError(SECRET)

    def __ne__(self, other):
        raise KeyError(SECRET)

    __hash__ = None


class Shouting(str):
    """Text that is written in another way than it compares."""

    def __str__(self):
        return self.upper()


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.builds(lambda: -(10**5000)),  # which cannot be printed
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.decimals(allow_nan=True),
    st.fractions(),
    st.datetimes(),
    st.dates(),
    st.timedeltas(),
    st.sampled_from([pd.NA, pd.NaT, np.datetime64("NaT"), np.float32("inf"), 5e-324, -0.0, 2**63]),
    st.lists(st.integers(), max_size=2),
    st.builds(lambda: np.zeros(2)),
    st.builds(Hostile),
)

_EAST = dt.timezone(dt.timedelta(hours=2))

# Neighbours in this list are equal, or have the same text or number, but rarely all three.
ALIKE = [
    *(1, True, 1.0, "1", "1.0", np.True_, np.int8(1), np.float32(1), 1 + 0j, fractions.Fraction(1)),
    *(decimal.Decimal("1"), decimal.Decimal("1.0"), decimal.Decimal("1.00"), "1.00", " 1", "1_0"),
    *(0, False, 0.0, -0.0, "0", "-0", "-0.0", "false", "FALSE", "False", np.float64(-0.0)),
    *("true", "TRUE", "True", "tRUE", "yes", b"yes", "b'yes'", Shouting("yes"), np.str_("yes")),
    *(2**53, 2**53 + 1, float(2**53), str(2**53 + 1), "9007199254740993.0", 2**63, -(2**63)),
    *(None, math.nan, pd.NA, pd.NaT, np.datetime64("NaT"), "None", "nan", "", " ", float("nan")),
    *("inf", math.inf, "1e400", "-1e400", "1e5", "100000", "0x10", "١٢", "²", "12%", "$3", "1,5"),
    *(dt.date(2020, 1, 2), dt.datetime(2020, 1, 2), pd.Timestamp("2020-01-02"), "2020-01-02"),
    *(dt.datetime(2020, 1, 2, 2, tzinfo=_EAST), dt.datetime(2020, 1, 2, 0, tzinfo=dt.UTC)),
    *(dt.timedelta(1), pd.Timedelta(1, "D"), np.timedelta64(1, "D"), np.datetime64("2020-01-02")),
    *((1, 2), (1, True), [1], {"a": 1}, np.array([7.5]), Hostile(), "\ud800", "😀", "a\0b", "a"),
]

_PLACES = st.lists(st.integers(0, len(ALIKE) - 1), min_size=1, max_size=8)

cells = _PLACES.map(lambda places: [ALIKE[i] for i in places]) | st.lists(
    scalars, min_size=1, max_size=6
)

object_columns = st.tuples(
    cells,
    st.sampled_from(
        [
            objects,
            lambda values: pd.Series(objects(values), dtype=object),
            lambda values: pl.Series(values, dtype=pl.Object),
        ]
    ),
).map(lambda both: both[1](both[0]))

_UTF8 = st.characters(exclude_categories=["Cs"])
_NUMERALS = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.from_regex(r"\A[ +-]?[0-9]{0,3}[.,_ ]?[0-9]{0,3}([eE][+-]?[0-9]{1,3})?[ %€]?\Z"),
)
_WORDS = st.sampled_from([v for v in ALIKE if type(v) is str and v != "\ud800"])
_TEXTS = _WORDS | st.text(_UTF8, max_size=5) | _NUMERALS

# A type of polars and what it holds.
_TYPES = [
    (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    (pl.Int8, st.integers(-2, 2)),
    (pl.UInt64, st.integers(0, 2**64 - 1)),
    (pl.Float64, st.floats() | st.sampled_from([0.0, -0.0, 1.0, 0.1])),
    (pl.Float32, st.floats(width=32)),
    (pl.Boolean, st.booleans()),
    (pl.String, _TEXTS),
    (pl.Categorical, _TEXTS),
    (pl.Datetime("us"), st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
    (pl.Datetime("ns"), st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
    (pl.Date, st.dates()),
    (pl.Duration("us"), st.timedeltas(dt.timedelta(-9), dt.timedelta(9))),
    (pl.Time, st.times()),
    (pl.Binary, st.binary(max_size=2)),
    (pl.Decimal(20, 2), st.integers(-300, 300).map(lambda i: decimal.Decimal(i) / 100)),
    (pl.Null, st.none()),
    (pl.List(pl.Int64), st.just([1, 2])),
    (pl.Struct({"a": pl.Int64}), st.just({"a": 1})),
]


def _plain_pandas(column):
    return column.to_pandas()


def _arrow_pandas(column):
    return column.to_pandas(use_pyarrow_extension_array=True)


def _categories(column):
    if column.dtype.is_nested() or column.dtype == pl.Null:
        return column
    return column.to_pandas().astype("category")


def _arrow(column):
    return column.to_frame("a").to_arrow()["a"]


def _dictionary(column):
    if column.dtype.is_nested() or column.dtype in (pl.Null, pl.Categorical):
        return _arrow(column)
    array, half = column.to_arrow(), len(column) // 2
    return pa.chunked_array([part.dictionary_encode() for part in (array[:half], array[half:])])


@st.composite
def typed_columns(draw):
    """A column of one type, in polars, pyarrow, pandas or numpy."""
    dtype, values = draw(st.sampled_from(_TYPES))
    some = draw(st.lists(st.none() | values, min_size=1, max_size=3))
    column = pl.Series(draw(st.lists(st.sampled_from(some), min_size=1, max_size=8)), dtype=dtype)
    flat = not column.dtype.is_nested()  # a list of lists is a table
    container = draw(
        st.sampled_from(
            [
                lambda series: series,
                _arrow,
                _dictionary,
                _plain_pandas,
                _arrow_pandas,
                _categories,
                lambda series: series.to_numpy() if flat else series,
                lambda series: objects(series.to_list()),
                lambda series: list(objects(series.to_list())) if flat else series,
            ]
        )
    )
    return container(column)
