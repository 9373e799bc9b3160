"""Columns of new records that say little, because their values are blank or cannot be read.

For prediction only: there the records belong to whoever asks, so that they may be counted and
quoted. Nothing of this may be told about training records, or about an evaluation that pays.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from dpfair.data.columns import Categorical, Column
from dpfair.data.containers import get_column
from dpfair.data.proposal.values import Values
from dpfair.data.records import Records
from dpfair.data.schema import Schema

__all__ = ["unread_columns"]

_MANY = 0.5
# Blank cells of fewer records than this are nothing strange.
_FEWEST = 10
_LISTED = 3


def unread_columns(
    table: Any, schema: Schema, records: Records, *, quoting: bool = False
) -> list[str]:
    """A sentence for every column of which at least half says nothing about the records.

    ``records`` are the rows of the table, encoded by the schema. ``quoting`` names the most
    frequent values that cannot be read: in a warning to whoever predicts, never in an error.
    """
    sentences: list[str] = []
    if not len(records):
        return sentences
    for column in schema.columns:
        if isinstance(column, Categorical):
            codes = records.codes[:, schema.categorical.index(column)]
            # A column of which the fit found no category is not used.
            unread = (codes == len(column.values)) & bool(column.values)
        else:
            unread = np.isnan(records.numeric[:, schema.numeric.index(column)])
        if unread.mean() < _MANY:
            continue
        values = Values(column.name, get_column(table, column.name), schema.file)
        odd = Counter(t for t, u in zip(_stated(values, column), unread, strict=True) if u and t)
        if odd.total() >= _MANY * len(records):
            shown = ", ".join(repr(text[:40]) for text, _ in odd.most_common(_LISTED))
            such = f", such as {shown}" if quoting else ""
            beginning = _share(odd.total(), len(records), column)
            sentences.append(f"{beginning} are {_expected(column, schema, such)}.")
        elif len(records) >= _FEWEST:
            sentences.append(f"{_share(int(unread.sum()), len(records), column)} are missing.")
    return sentences


def _stated(values: Values, column: Column) -> list[str | None]:
    """The values as text, without those that mean that there is none."""
    if isinstance(column, Categorical):
        return [None if text in column.missing else text for text in values.texts]
    marks = np.isin(values.numbers, column.missing)
    return [None if mark else text for text, mark in zip(values.texts, marks, strict=True)]


def _expected(column: Column, schema: Schema, such: str) -> str:
    """What the values are not, and what to compare them with."""
    if isinstance(column, Categorical):
        known = ", ".join(map(repr, column.values[:_LISTED]))
        more = ", ..." if len(column.values) > _LISTED else ""
        return f"no category of the model{such}: it has {known}{more}"
    if column.date is not None:
        return f"no date of the form {column.date}{such}"
    marks = f"the decimal mark {schema.file.decimal!r}"
    if schema.file.thousands:
        marks += f" and {schema.file.thousands!r} between thousands"
    return f"no number{such}: the schema declares {marks}"


def _share(count: int, rows: int, column: Column) -> str:
    return f"{count / rows:.0%} of the values of {column.name!r}"
