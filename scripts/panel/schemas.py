"""How much a schema states: bounds and categories, or no more than the kinds of the columns."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl

from dpfair.data.columns import Categorical, Column, Numeric
from dpfair.data.schema import Schema
from scripts.panel.prepare import Prepared

__all__ = [
    "FACTS",
    "SHIPPED_FACTS",
    "bounds_only",
    "bounds_schema",
    "outward",
    "panel_schema",
    "stated",
]

FACTS = ("bounds", "kinds")
SHIPPED_FACTS = ("all", *FACTS)


def panel_schema(data: Prepared, facts: str) -> Schema:
    """The schema of a table with ``bounds`` and categories, or with ``kinds`` only."""
    return stated(bounds_schema(data), facts)


def stated(schema: Schema, facts: str) -> Schema:
    """A schema with ``all`` its facts, with ``bounds`` and categories, or with ``kinds`` only."""
    if facts == "all":
        return schema
    return bounds_only(schema) if facts == "bounds" else schema.kinds_only()


def bounds_schema(data: Prepared) -> Schema:
    """Bounds that are rounded outwards, and all categories; no other fact, no number of rows.

    They are read off the public table and stand for what the owner of such a table knows.
    """
    return Schema(
        columns=tuple(_column(data.X[name]) for name in data.X.columns[:-1]),
        label=data.label,
        sensitive=data.sensitive,
    )


def bounds_only(schema: Schema) -> Schema:
    """Bounds, categories, the label and the groups, without any other fact."""
    columns = tuple(
        c.with_bounds_only() if isinstance(c, Numeric) else replace(c, usual=None)
        for c in schema.columns
    )
    return replace(schema, columns=columns, crosses=(), rows=None)


def outward(low: float, high: float) -> tuple[float, float]:
    """Bounds around two numbers, in steps of a tenth of the next larger power of ten.

    >>> outward(18, 68), outward(0.02, 1.95)
    ((10.0, 70.0), (0.0, 2.0))
    """
    exponent = math.ceil(math.log10(high - low)) - 1
    # Powers of ten are divided by, not multiplied with, because 0.1 is no binary fraction.
    scale, down = (10**exponent, 1) if exponent >= 0 else (1, 10**-exponent)
    steps = math.floor(low * down / scale), math.ceil(high * down / scale)
    return steps[0] * scale / down, steps[1] * scale / down


def _column(values: pl.Series) -> Column:
    if values.dtype == pl.String:
        return Categorical(values.name, tuple(sorted(values.drop_nulls().unique().to_list())))
    return Numeric(values.name, outward(float(values.min()), float(values.max())))
