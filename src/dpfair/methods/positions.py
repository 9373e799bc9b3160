"""Tables without column names: their columns are those of the schema, by position."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dpfair.data.containers import NamedArray, column_names
from dpfair.data.schema import Schema
from dpfair.errors import SchemaError

__all__ = ["array_groups", "has_array_names", "named_columns"]


def named_columns(table: Any, schema: Schema, *, unit: str | int | None, groups_apart: bool) -> Any:
    """The table, with the names of the schema if it is an array.

    An array has the features in the order of the schema. The sensitive column is the last one,
    unless the groups are given apart or are combinations of features. The column of the unit,
    which no schema declares, is at its own position. A data frame, and an array whose columns the
    schema calls x0, x1, ..., are returned as they are.
    """
    if not isinstance(table, np.ndarray):
        return table
    names = [column.name for column in schema.columns]
    if schema.sensitive is not None and not schema.sensitive.parts and not groups_apart:
        names.append(schema.sensitive.name)
    if set(names) <= set(column_names(table)):
        return table
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    wanted = f"the {len(names)} columns of the schema in its order ({listed})"
    if unit is not None:
        place = _position(unit, table.shape[1])
        names.insert(place, f"x{place}")
        wanted += " and that of the unit"
    if table.shape[1] != len(names):
        apart = " The groups are given apart." if groups_apart else ""
        raise SchemaError(f"Expected an array with {wanted}, got {table.shape[1]} columns.{apart}")
    return NamedArray(table, tuple(names))


def has_array_names(schema: Schema) -> bool:
    """Whether the schema calls its columns x0, x1, ..., as those of an array are called."""
    return all(re.fullmatch("x[0-9]+", column.name) for column in schema.columns)


def array_groups(schema: Schema, sensitive: str | int) -> Schema:
    """The schema for an array that is read by position, whose sensitive column is the last one."""
    if isinstance(sensitive, str):
        return schema.with_sensitive(sensitive)
    last = len(schema.columns)
    if schema.sensitive is None or schema.sensitive.parts or sensitive not in (last, -1):
        raise SchemaError(
            "The columns of the array are those of the schema, with the sensitive one last: give "
            "sensitive by its name."
        )
    return schema


def _position(unit: str | int, width: int) -> int:
    """Where the column of the unit is, given by position or as x0, x1, ..."""
    for place in range(width):
        if unit in (place, place - width, f"x{place}"):
            return place
    raise SchemaError("The columns of an array have no names: give unit by its position.")
