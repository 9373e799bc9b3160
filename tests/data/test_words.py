"""Every cell has the word that it would have alone, in every container."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data import reference_encoding
from data.any_columns import Shouting, object_columns, typed_columns
from hypothesis import given, settings
from sample_containers import objects

from dpfair.data.columns import Categorical, Levels
from dpfair.data.containers import get_column
from dpfair.data.encode import encode
from dpfair.data.schema import Schema
from dpfair.data.words import Words, as_words


@settings(max_examples=500, deadline=None)
@given(object_columns | typed_columns())
def test_words_are_those_of_the_cells_one_by_one(column):
    expected = reference_encoding.texts(column)
    found = as_words(column)
    assert found.texts() == expected
    assert found.words == tuple(dict.fromkeys(w for w in expected if w is not None))


@settings(max_examples=200, deadline=None)
@given(object_columns | typed_columns())
def test_a_word_does_not_depend_on_the_cells_beside_it(column):
    if isinstance(column, list):
        return
    together = as_words(column).texts()
    assert together == [as_words(column[i : i + 1]).texts()[0] for i in range(len(together))]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([decimal.Decimal("1.0"), decimal.Decimal("1.00"), 1, True], ["1", "1", "1", "true"]),
        ([True, 1, 1.0, "1"], ["true", "1", "1", "1"]),
        (["yes", Shouting("yes")], ["yes", "YES"]),
        (
            [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, 1, tzinfo=dt.timezone(
                dt.timedelta(hours=1)))],
            ["2020-01-01 00:00:00+00:00", "2020-01-01 01:00:00+01:00"],
        ),
    ],
)  # fmt: skip
def test_equal_values_that_are_written_differently_are_different_words(values, words):
    for order in (slice(None), slice(None, None, -1)):
        assert as_words(objects(values[order])).texts() == words[order]


def test_large_integers_keep_their_digits_beside_missing_values():
    """Two people whose identifiers differ in the last digit must not become one."""
    big = [2**53, 2**53 + 1, None]
    expected = [str(2**53), str(2**53 + 1), None]
    for table in (
        pl.DataFrame({"a": big}),
        pd.DataFrame({"a": pd.array(big, dtype="Int64")}),
        pd.DataFrame({"a": pd.array(big, dtype="int64[pyarrow]")}),
        pa.table({"a": big}),
    ):
        assert as_words(get_column(table, "a")).texts() == expected
    assert as_words(pd.Series(big, dtype="Int64")).texts() == expected


def test_categories_that_do_not_occur_are_no_words():
    for column in (
        pd.Series(pd.Categorical(["c", "b"], categories=["a", "b", "c"])),
        pl.Series(["c", "b"], dtype=pl.Enum(["a", "b", "c"])),
        pa.chunked_array([pa.DictionaryArray.from_arrays([2, 1], ["a", "b", "c"])]),
    ):
        assert as_words(column).words == ("c", "b")


def test_codes_of_listed_words():
    words = as_words(["b", None, "a", "z"])
    assert words.codes(["a", "b"], other=2).tolist() == [1, 2, 0, 2]
    assert words.codes(["a", "b"], other=-1, missing=-2).tolist() == [1, -2, 0, -1]
    assert Words((), np.empty(0, np.int32)).codes(["a"], other=1).tolist() == []


@pytest.mark.parametrize("other", [1, 1.5, 2**70, -1, "x", None, np.datetime64("2020-01-01T10")])
def test_a_word_of_a_list_does_not_depend_on_other_items(other):
    for item in (True, 2**53 + 1, 2**63, 1.0, np.datetime64("2020-01-01")):
        [alone] = as_words([item]).texts()
        assert as_words([item, other]).texts()[0] == alone


@pytest.mark.parametrize("other", [1, 1.5, 2**70, -1, "x", None])
def test_a_cell_of_a_list_of_rows_does_not_depend_on_other_cells(other):
    schema = Schema((Categorical("x0", ("true", "1")),), Levels("y", ("0", "1")))
    for rows in ([[True]], [[True], [other]]):
        assert encode(rows, schema).codes[0][0] == 0
