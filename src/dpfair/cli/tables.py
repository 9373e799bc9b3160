"""Where a command's DATA comes from: a file, or one of the shipped data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfair.data.schema import Schema
from dpfair.data.table import read_table
from dpfair.errors import SchemaError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SHIPPED", "data_file", "needed_columns", "read_data", "shipped_schema"]

SHIPPED = ("adult", "credit")


def data_file(data: str) -> str | None:
    """The file that DATA is read from, if it is no shipped data set."""
    return None if data in SHIPPED else data


def read_data(data: str) -> pl.DataFrame:
    """All rows and columns, the label included."""
    if data not in SHIPPED:
        return read_table(data)
    import polars as pl

    from dpfair.datasets import load_adult, load_credit

    dataset = load_adult() if data == "adult" else load_credit()
    label = pl.Series(dataset.schema.label.name, dataset.y)
    return dataset.X.with_columns(label)


def shipped_schema(data: str) -> Schema | None:
    """The schema that comes with a shipped data set; it is read without reading records."""
    if data not in SHIPPED:
        return None
    from dpfair.datasets.dataset import read_schema

    return read_schema(f"{data}.toml")


def needed_columns(frame: pl.DataFrame, schema: Schema, unit: str | None = None) -> pl.DataFrame:
    """What a model reads of a table, in the order of the schema."""
    names = [c.name for c in schema.columns]
    groups = schema.sensitive.column_names if schema.sensitive else ()
    names += [name for name in groups if name not in names]
    names += [unit] if unit is not None and unit not in names else []
    missing = [n for n in names if n not in frame.columns]
    if missing:
        listed = ", ".join(frame.columns[:20])
        raise SchemaError(f"The table has no column {missing[0]!r}; it has {listed}.")
    return frame.select(names)
