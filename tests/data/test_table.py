"""Any container, any value: the same records, and never an error that depends on a value."""

import datetime as dt
import decimal
import math
import traceback
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.data.schema import Categorical, Levels, Numeric, Schema
from dpfair.data.table import (
    Records,
    as_texts,
    column_names,
    encode,
    get_column,
    level_codes,
    numbers,
    read_table,
    row_count,
    row_identities,
    select_columns,
    take_rows,
)
from dpfair.errors import InputError, SchemaError

SCHEMA = Schema(
    columns=(
        Numeric("age", (0, 100)),
        Categorical("job", ("1", "2", "True")),
        Numeric("z", (-1, 1)),
    ),
    label=Levels("y", ("0", "1")),
    sensitive=Levels("sex", ("0", "1")),
)
SECRET = "s3cret-value"


def records(table, groups=None):
    return encode(table, SCHEMA, groups)


def same(one, two):
    return (
        np.array_equal(one.numeric, two.numeric, equal_nan=True)
        and np.array_equal(one.codes, two.codes)
        and np.array_equal(one.groups, two.groups)
    )


def objects(values):
    return np.fromiter(values, dtype=object, count=len(values))


# Containers

AGES = [20, -5, 1000, None]
JOBS = ["1", "2", "other", None]
ZS = [0.5, -0.25, None, math.nan]
SEXES = [0, 1, 7, None]
EXPECTED = Records(
    numeric=np.array([[20, 0.5], [0, -0.25], [100, np.nan], [np.nan, np.nan]]),
    codes=np.array([[0], [1], [3], [3]], dtype=np.int32),
    groups=np.array([0, 1, -1, -1]),
)
COLUMNS = {"age": AGES, "job": JOBS, "z": ZS, "sex": SEXES}
AS_TEXT = {
    name: [None if v is None else str(v) for v in column] for name, column in COLUMNS.items()
}
CONTAINERS = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas object": pd.DataFrame(COLUMNS, dtype=object),
    "pandas nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas arrow": pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas categorical": pd.DataFrame({k: pd.Categorical(v) for k, v in COLUMNS.items()}),
    "pandas text": pd.DataFrame(AS_TEXT),
    "pandas float32": pd.DataFrame(COLUMNS).astype({"age": "f4", "z": "f4", "sex": "f4"}),
    "polars": pl.DataFrame(COLUMNS),
    "polars text": pl.DataFrame(AS_TEXT),
    "polars categorical": pl.DataFrame(AS_TEXT).cast(pl.Categorical),
    "polars enum": pl.DataFrame(COLUMNS).with_columns(
        job=pl.Series(JOBS, dtype=pl.Enum(["1", "2", "other"]))
    ),
    "polars small ints": pl.DataFrame(COLUMNS).with_columns(
        pl.col("age").cast(pl.Int16), pl.col("sex").cast(pl.UInt8)
    ),
    "pyarrow": pa.table(COLUMNS),
    "pyarrow text": pa.table(AS_TEXT),
    "pyarrow dictionary": pa.table(
        {k: pa.array(v).dictionary_encode() for k, v in AS_TEXT.items()}
    ),
    "pyarrow number dictionary": pa.table(COLUMNS).set_column(
        0, "age", pa.array(AGES).dictionary_encode()
    ),
    "pyarrow chunks": pa.concat_tables([pa.table(COLUMNS)[:2], pa.table(COLUMNS)[2:]]),
    "more columns": pl.DataFrame({"id": ["a"] * 4} | COLUMNS),
    "another order": pl.DataFrame({k: COLUMNS[k] for k in ("sex", "z", "age", "job")}),
}


@pytest.mark.parametrize("table", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_every_container_gives_the_same_records(table):
    found = records(table)
    assert same(found, EXPECTED)
    assert found.numeric.dtype == np.float64
    assert found.codes.dtype == np.int32
    assert found.groups.dtype == np.int64
    assert row_count(table) == 4
    assert found.identities() == EXPECTED.identities()


def array_schema():
    return Schema(
        (Numeric("x0", (0, 100)), Categorical("x1", ("1", "2", "True")), Numeric("x2", (-1, 1))),
        Levels("y", ("0", "1")),
        Levels("x3", ("0", "1")),
    )


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


def test_labels_of_any_type():
    outcome = Levels("y", ("0", "1"))
    for values in ([0, 1, 1], [0.0, 1.0, 1.0], ["0", "1", "1"], np.array([0, 1, 1], dtype="u1")):
        assert level_codes(as_texts(values), outcome).tolist() == [0, 1, 1]
    unknown = level_codes(as_texts([math.nan, None, "", "2", True, -0.0]), outcome)
    assert unknown.tolist() == [-1, -1, -1, -1, -1, 0]


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_rows_and_columns_stay_in_their_container(name):
    table = CONTAINERS[name]
    some = take_rows(table, np.array([2, 0]))
    assert type(some) is type(table)
    assert same(records(some), EXPECTED.take(np.array([2, 0])))
    assert column_names(select_columns(table, ["z", "age"])) == ["z", "age"]
    assert take_rows(np.arange(6).reshape(3, 2), np.array([1])).tolist() == [[2, 3]]


# Words and numbers


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
        assert as_texts(get_column(table, "a")) == expected
    assert as_texts(pd.Series(big, dtype="Int64")) == expected


def test_times_are_the_same_words_everywhere():
    times = [dt.datetime(2020, 1, 2, 3), None]
    expected = ["2020-01-02 03:00:00", None]
    for table in (
        pl.DataFrame({"a": times}),
        pd.DataFrame({"a": times}),
        pd.DataFrame({"a": pd.Series(times, dtype="datetime64[ns]")}),
        pa.table({"a": times}),
    ):
        assert as_texts(get_column(table, "a")) == expected
        assert np.isnan(numbers(get_column(table, "a"))).all()
    for unit in ("s", "us", "ns"):
        assert as_texts(np.array(times, dtype=f"datetime64[{unit}]")) == expected


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
    assert as_texts(column) == [word]
    assert np.array_equal(numbers(column), [number], equal_nan=True)


class Hostile:
    """A value that fails whatever is asked of it, and would tell its secret."""

    def __float__(self):
        raise RuntimeError(SECRET)

    def __str__(self):
        raise RuntimeError(SECRET)

    def __ne__(self, other):
        raise KeyError(SECRET)

    __hash__ = None


def test_a_hostile_value_is_missing():
    assert as_texts(objects([Hostile()])) == [None]
    assert np.isnan(numbers(objects([Hostile()]))).all()


# Totality

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.just(-(10**5000)),
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


def check_records(found, n):
    assert len(found) == n
    assert found.numeric.shape == (n, 2)
    inside = (found.numeric >= [0, -1]) & (found.numeric <= [100, 1])
    assert (inside | np.isnan(found.numeric)).all()
    assert ((found.codes >= 0) & (found.codes <= 3)).all()
    assert ((found.groups >= -1) & (found.groups <= 1)).all()
    assert len(found.identities()) == n


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(scalars, scalars, scalars, scalars), min_size=1, max_size=5))
def test_encoding_is_total(rows):
    columns = [objects(list(column)) for column in zip(*rows, strict=True)]
    table = np.stack(columns, axis=1)
    frame = pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))
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


# Identities


def test_zeros_and_missing_values_have_one_identity():
    def identity(age, z="0"):
        return records(objects_table(age, "1", z, "0")).identities()[0]

    def objects_table(*row):
        return pd.DataFrame([dict(zip(COLUMNS, row, strict=True))], dtype=object)

    assert identity(0.0) == identity(-0.0) == identity("0") == identity(0) == identity(-7)
    quiet, other = np.float64("nan"), -np.float64("nan")
    assert identity(quiet) == identity(other) == identity(None) == identity("x")
    assert identity(math.inf) == identity(100) == identity(10**400)
    assert len({identity(0), identity(1), identity(None), identity(0, "1")}) == 4


def test_identities_tell_groups_and_columns_apart():
    base = EXPECTED.take(np.array([0]))
    group = Records(base.numeric, base.codes, np.array([1]))
    code = Records(base.numeric, np.array([[1]], dtype=np.int32), base.groups)
    swapped = Records(base.numeric[:, ::-1].copy(), base.codes, base.groups)
    assert len({r.identities()[0] for r in (base, group, code, swapped)}) == 4
    labelled = base.with_labels(np.array([1]))
    assert labelled.identities() == base.identities()


def test_identities_of_no_records_and_of_no_columns():
    assert EXPECTED.take(np.arange(0)).identities() == []
    empty = Records(np.empty((2, 0)), np.zeros((2, 0), np.int32), np.array([0, 1]))
    assert len(set(empty.identities())) == 2


def test_row_identities_do_not_depend_on_the_container():
    groups = np.array([0, 1, 0, 1])
    found = {
        tuple(row_identities(CONTAINERS[name], groups))
        for name in ("pandas", "pandas nullable", "polars", "pyarrow")
    }
    assert len(found) == 1
    table = pd.DataFrame({"a": ["1", "1,", "1"], "b": [",2", "2", ",2"]})
    first, second, third = row_identities(table, np.zeros(3, dtype=np.int64))
    assert first == third != second


def test_taking_rows_takes_everything():
    labelled = EXPECTED.with_labels(np.array([0, 1, 1, 0]))
    some = labelled.take(np.array([3, 1]))
    assert same(some, EXPECTED.take(np.array([3, 1])))
    assert some.labels.tolist() == [0, 1]
    assert len(labelled.take(slice(None))) == 4


# Errors name columns, never values


def messages(error):
    return "".join(traceback.format_exception(error))


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


def test_a_byte_that_is_not_text_spoils_its_value_only(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"age,job\n1,a\xff\n2,b\n")
    assert read_table(path)["age"].to_list() == ["1", "2"]


@pytest.mark.parametrize("spellings", [(1, 1.0, "1", "1.0"), (True, "True", "true", np.True_)])
def test_a_file_and_a_frame_write_the_same_word(spellings):
    assert len({as_texts([value])[0] for value in spellings}) == 1
    assert len({numbers([value])[0] for value in spellings}) == 1


def test_files(tmp_path):
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    pl.DataFrame(AS_TEXT).write_csv(csv)
    pl.DataFrame(COLUMNS).write_parquet(parquet)
    assert same(records(read_table(csv)), EXPECTED)
    assert same(records(read_table(str(parquet))), EXPECTED)
    assert set(read_table(csv).dtypes) == {pl.String}
    for name, content in (("empty.csv", b""), ("header.csv", b"a,b\n"), ("bad.parquet", b"PAR1")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=name):
            read_table(path)
    with pytest.raises(InputError, match="no file"):
        read_table(tmp_path / "missing.csv")
    with pytest.raises(InputError, match="no file"):
        read_table(tmp_path)
