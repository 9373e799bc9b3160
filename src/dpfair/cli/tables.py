"""Where a command's DATA comes from: a file, or one of the shipped data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from dpfair.data.file_form import FileForm
    from dpfair.data.schema import Schema

__all__ = ["data_file", "needed_columns", "read_data", "shipped_schema"]


def data_file(data: str) -> str | None:
    """The file that DATA is read from, if it is no shipped data set."""
    from dpfair.datasets import DATASETS

    return None if data in DATASETS else data


def read_data(data: str, file: FileForm | None = None) -> pl.DataFrame:
    """All rows and columns, the label included, of a file of the form that the schema states."""
    import polars as pl

    from dpfair.data.file_form import USUAL_FILE
    from dpfair.data.read import read_table
    from dpfair.datasets import DATASETS

    if data not in DATASETS:
        return read_table(data, USUAL_FILE if file is None else file)

    dataset = DATASETS[data].load()
    label = pl.Series(dataset.schema.label.name, dataset.y)
    return dataset.X.with_columns(label)


def shipped_schema(data: str) -> Schema | None:
    """The schema that comes with a shipped data set; it is read without reading records."""
    from dpfair.datasets import DATASETS

    return DATASETS[data].schema if data in DATASETS else None


def needed_columns(frame: pl.DataFrame, schema: Schema, unit: str | None = None) -> pl.DataFrame:
    """What a model reads of a table, in the order of the schema."""
    names = [c.name for c in schema.columns]
    groups = schema.sensitive.column_names if schema.sensitive else ()
    names += [name for name in groups if name not in names]
    names += [unit] if unit is not None and unit not in names else []
    missing = [n for n in names if n not in frame.columns]
    if missing:
        from dpfair.data.containers import missing_column

        raise missing_column(missing[0], frame.columns)
    return frame.select(names)
