"""Every container gives the same rows and columns; errors name columns, never values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sample_containers import (
    COLUMNS,
    CONTAINERS,
    EXPECTED,
    SECRET,
    SEXES,
    array_schema,
    messages,
    objects,
    records,
    same,
)

from dpfair.data.containers import (
    column_names,
    missing_column,
    row_count,
    select_columns,
    take_rows,
)
from dpfair.data.encode import encode
from dpfair.errors import InputError, SchemaError


@pytest.mark.parametrize("table", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_every_container_gives_the_same_records(table):
    found = records(table)
    assert same(found, EXPECTED)
    assert [column.dtype for column in found.codes] == [np.uint8]
    assert found.groups.dtype == np.int8
    assert row_count(table) == 4
    assert np.array_equal(found.identities(), EXPECTED.identities())


def test_arrays_and_lists_give_the_same_records():
    rows = list(zip(*COLUMNS.values(), strict=True))
    assert same(encode(np.array(rows, dtype=object), array_schema()), EXPECTED)
    clean = [[20, 1, 0.5, 0], [0, 2, -0.25, 1]]
    expected = EXPECTED.take(np.arange(2))
    for dtype in (None, "f8", "f4", object):
        table = clean if dtype is None else np.array(clean, dtype=dtype)
        assert same(encode(table, array_schema()), expected)
    assert column_names(np.zeros((2, 3))) == ["x0", "x1", "x2"]


def test_groups_may_come_apart_from_the_table():
    table = pl.DataFrame(COLUMNS).drop("sex")
    for groups in (
        SEXES,
        objects(SEXES),
        pd.Series(SEXES),
        pd.Series(SEXES, dtype="Int64"),
        pl.Series(SEXES),
        pa.array(SEXES),
        pa.chunked_array([SEXES]),
        ["0", "1", "7", None],
    ):
        assert same(records(table, groups), EXPECTED)
    with pytest.raises(InputError, match="one group per row"):
        records(table, [0, 1])


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_rows_and_columns_stay_in_their_container(name):
    table = CONTAINERS[name]
    some = take_rows(table, np.array([2, 0]))
    assert type(some) is type(table)
    assert same(records(some), EXPECTED.take(np.array([2, 0])))
    assert column_names(select_columns(table, ["z", "age"])) == ["z", "age"]
    assert take_rows(np.arange(6).reshape(3, 2), np.array([1])).tolist() == [[2, 3]]


def test_missing_columns_are_named_and_values_are_not():
    table = pd.DataFrame({"age": [SECRET], "job": [SECRET], "sex": [SECRET]})
    with pytest.raises(SchemaError, match="'z'") as caught:
        records(table)
    assert SECRET not in messages(caught.value)
    assert "age, job, sex" in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([[SECRET, SECRET]], columns=["age", "age"]),
        pl.LazyFrame({"age": [SECRET]}),
        np.array([SECRET]),
        np.array([[[SECRET]]]),
        SECRET,
    ],
    ids=["duplicate", "lazy", "one dimension", "three dimensions", "text"],
)
def test_unusable_tables_are_refused_without_their_values(table):
    with pytest.raises(InputError) as caught:
        records(table)
    assert SECRET not in messages(caught.value)


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("sex", ["age", "sex "], "The header has spaces around its names: remove them."),
        ("repaid", ["age", "Repaid"], "Did you mean 'Repaid'?"),
        ("sex", ["age;sex"], "state delimiter = ';' in the [file] table"),
        ("sex", ["age^sex"], "state delimiter = '^' in the [file] table"),
        ("sex", ["age", "job"], "it has age, job."),
    ],
)
def test_a_missing_column_is_an_error_that_says_what_to_do(name, names, hint):
    text = str(missing_column(name, names))
    assert text.startswith(f"The table has no column {name!r}; it has ")
    assert text.endswith((".", "?"))
    assert hint in text
