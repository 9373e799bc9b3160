"""Public tables for audits, made from a schema and a fixed seed without private records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import Levels, Numeric
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.privacy.noise import Noise

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "PERSON",
    "Record",
    "Table",
    "group_columns",
    "probe_table",
    "sample_records",
    "sample_schema",
    "table_of",
]

PERSON = "person of the audit"
"""The column that identifies the person of a record."""

Record = dict[str, Any]
"""A value for every column of the schema, for the label and for the person."""


class Table(NamedTuple):
    """Features with groups, and labels."""

    X: pl.DataFrame
    y: NDArray[Any]


def sample_schema(rows: int = 40) -> Schema:
    """A schema with every kind of column: plain, spiky, with a usual value, crossed."""
    return Schema.from_dict(
        {
            "rows": rows,
            "crosses": [["job", "home"]],
            "label": {"name": "repaid", "values": ["no", "yes"]},
            "sensitive": {"name": "sex", "values": ["f", "m"]},
            "columns": [
                {"name": "income", "kind": "numeric", "bounds": [0, 100]},
                {
                    "name": "gain",
                    "kind": "numeric",
                    "bounds": [0, 9999],
                    "usual": 0,
                    "spiky": True,
                    "edges": [1, 1000, 5000],
                },
                {"name": "job", "kind": "categorical", "values": ["clerk", "farmer", "nurse"]},
                {"name": "home", "kind": "categorical", "values": ["own", "rent"], "usual": "own"},
            ],
        }
    )


def sample_records(schema: Schema, count: int, seed: int = 0) -> list[Record]:
    """Records with all kinds of values; a larger first number makes a positive label likelier.

    Every record belongs to another person. A shorter sample is the beginning of a longer one.
    """
    if PERSON in _columns(schema):
        raise InputError(f"The audit needs the name {PERSON!r} for a column of its own.")
    lists = {c.name: c.values for c in schema.categorical}
    lists |= {part.name: part.values for part in group_columns(schema)}
    width = 2 + len(schema.numeric) + len(lists)
    coins = Noise(seed).uniforms(count * width).reshape(count, width)
    records = []
    for i, (first, usual, *rest) in enumerate(coins.tolist()):
        record: Record = {PERSON: f"p{seed}-{i}"}
        for place, (number, coin) in enumerate(zip(schema.numeric, rest, strict=False)):
            record[number.name] = _number(number, coin, usual=usual < 0.4 and place > 0)
        leading = rest[0] if schema.numeric else 0.5
        record[schema.label.name] = schema.label.values[int(first < 0.2 + 0.6 * leading)]
        for (name, values), coin in zip(lists.items(), rest[len(schema.numeric) :], strict=True):
            record[name] = values[int(coin * len(values))]
        records.append(record)
    return records


def group_columns(schema: Schema) -> tuple[Levels, ...]:
    """The columns that the groups are read from."""
    if schema.sensitive is None:
        return ()
    return schema.sensitive.parts or (schema.sensitive,)


def _number(column: Numeric, coin: float, *, usual: bool) -> float:
    if usual and column.usual is not None:
        return column.usual
    low, high = column.bounds
    return low + coin * (high - low)


def table_of(schema: Schema, records: Sequence[Record], *, as_text: bool = False) -> Table:
    """Records as a table: floats and text, or everything as text, as in a CSV file."""
    import polars as pl

    numeric = {c.name for c in schema.numeric}
    columns: dict[str, pl.Series] = {}
    for name in [*_columns(schema), PERSON]:
        values = [record[name] for record in records]
        if name in numeric and not as_text:
            columns[name] = pl.Series(name, values, dtype=pl.Float64)
        else:
            columns[name] = pl.Series(name, [_text(v) for v in values], dtype=pl.String)
    return Table(pl.DataFrame(columns), np.array([record[schema.label.name] for record in records]))


def _text(value: Any) -> str | None:
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


def probe_table(schema: Schema, count: int = 12) -> Table:
    """New public records, always the same, for which models predict."""
    return table_of(schema, sample_records(schema, count, seed=10**6))


def _columns(schema: Schema) -> list[str]:
    names = [*(c.name for c in schema.columns), *(part.name for part in group_columns(schema))]
    return list(dict.fromkeys(names))
