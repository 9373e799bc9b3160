"""A small table with missing and undeclared values in every container, and its records."""

from __future__ import annotations

import math
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from record_arrays import codes_in, numbers_in

from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.encode import encode
from dpfair.data.records import Records
from dpfair.data.schema import Schema

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
        np.array_equal(numbers_in(one), numbers_in(two), equal_nan=True)
        and np.array_equal(codes_in(one), codes_in(two))
        and np.array_equal(one.groups, two.groups)
    )


def objects(values):
    return np.fromiter(values, dtype=object, count=len(values))


AGES = [20, -5, 1000, None]


JOBS = ["1", "2", "other", None]


ZS = [0.5, -0.25, None, math.nan]


SEXES = [0, 1, 7, None]


EXPECTED = Records.of_arrays(
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


def array_schema():
    return Schema(
        (Numeric("x0", (0, 100)), Categorical("x1", ("1", "2", "True")), Numeric("x2", (-1, 1))),
        Levels("y", ("0", "1")),
        Levels("x3", ("0", "1")),
    )


def messages(error):
    return "".join(traceback.format_exception(error))
