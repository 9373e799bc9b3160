"""Where a command's DATA comes from: a file, or one of the shipped data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfair.data.containers import missing_column
from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.read import read_table
from dpfair.data.schema import Schema
from dpfair.datasets import DATASETS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DATASET_NAMES", "data_file", "needed_columns", "read_data", "shipped_schema"]

DATASET_NAMES = " or ".join(DATASETS)


def data_file(data: str) -> str | None:
    """The file that DATA is read from, if it is no shipped data set."""
    return None if data in DATASETS else data


def read_data(data: str, file: FileForm = USUAL_FILE) -> pl.DataFrame:
    """All rows and columns, the label included, of a file of the form that the schema states."""
    if data not in DATASETS:
        return read_table(data, file)
    import polars as pl

    dataset = DATASETS[data].load()
    label = pl.Series(dataset.schema.label.name, dataset.y)
    return dataset.X.with_columns(label)


def shipped_schema(data: str) -> Schema | None:
    """The schema that comes with a shipped data set; it is read without reading records."""
    return DATASETS[data].schema if data in DATASETS else None


def needed_columns(frame: pl.DataFrame, schema: Schema, unit: str | None = None) -> pl.DataFrame:
    """What a model reads of a table, in the order of the schema."""
    names = [c.name for c in schema.columns]
    groups = schema.sensitive.column_names if schema.sensitive else ()
    names += [name for name in groups if name not in names]
    names += [unit] if unit is not None and unit not in names else []
    missing = [n for n in names if n not in frame.columns]
    if missing:
        raise missing_column(missing[0], frame.columns)
    return frame.select(names)
