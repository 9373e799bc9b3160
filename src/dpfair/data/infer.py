"""Propose a schema by looking at the data. **This is not private**: it is a draft for a person.

Bounds, categories, bin edges and groups are read off the records, and any of them can reveal a
record. Callers warn the user and state it in the certificate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.containers import column_names, get_column
from dpfair.data.encode import as_texts, numbers
from dpfair.data.schema import Schema
from dpfair.errors import SchemaError

__all__ = ["infer_levels", "infer_schema"]

# A column with fewer distinct numbers than this is a list of codes.
_FEW = 12
# A column of text with more distinct values than this is an identifier or free text.
_MAX_WORDS = 100


def infer_schema(
    table: Any,
    label: Levels,
    sensitive: Levels | None,
    *,
    leave_out: frozenset[str] = frozenset(),
) -> Schema:
    """Describe every usable column; constant, identifier-like and listed ones are left out."""
    used = {label.name, *leave_out} | ({sensitive.name} if sensitive else set())
    proposals = (
        _infer_column(name, get_column(table, name))
        for name in column_names(table)
        if name not in used
    )
    found = tuple(column for column in proposals if column is not None)
    if not found:
        raise SchemaError("No column of the table can be used as a feature.")
    return Schema(columns=found, label=label, sensitive=sensitive, reviewed=False)


def infer_levels(name: str, values: Any, *, what: str, most: int) -> Levels:
    """The distinct values of the label or of the sensitive column, sorted."""
    listed = as_texts(values)
    distinct = sorted({w for w in listed if w is not None}, key=_sort_key)
    if not 2 <= len(distinct) <= most:
        noun = "class" if most == 2 else "group"
        expected = "exactly two classes" if most == 2 else f"2 to {most} groups"
        raise SchemaError(f"The {what} {name!r} must have {expected}, got {len(distinct)} {noun}.")
    return Levels(name, tuple(distinct))


def _infer_column(name: str, values: Any) -> Numeric | Categorical | None:
    parsed = numbers(values)
    listed = as_texts(values)
    present = sum(w is not None and w != "" for w in listed)
    finite = parsed[np.isfinite(parsed)]
    distinct = {w for w in listed if w is not None and w != ""}
    if len(distinct) < 2:
        return None
    is_numeric = len(finite) >= 0.95 * present
    if is_numeric and len(np.unique(finite)) >= _FEW:
        low, high = float(finite.min()), float(finite.max())
        edges = {_readable(e) for e in np.quantile(finite, np.arange(1, 20) / 20)}
        return Numeric(
            name,
            (low, high),
            center=_readable(finite.mean()),
            scale=_readable(finite.std()),
            edges=tuple(sorted(e for e in edges if low < e <= high)),
        )
    if len(distinct) > _MAX_WORDS:
        return None
    return Categorical(name, tuple(sorted(distinct, key=_sort_key)))


def _readable(value: float) -> float:
    """Four digits: a person is going to read and correct it."""
    return float(f"{value:.4g}")


def _sort_key(word: str) -> tuple[int, float, str]:
    """Numbers by value, then text."""
    try:
        return (0, float(word), word)
    except ValueError:
        return (1, 0.0, word)
