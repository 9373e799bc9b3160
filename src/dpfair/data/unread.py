"""Columns of new records that say little: values are blank, unreadable or beyond the bounds.

For prediction only: there the records belong to whoever asks, so that they may be counted and
quoted. Nothing of this may be told about training records, or about an evaluation that pays.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import WIDEST, Categorical, Column, Numeric
from dpfair.data.containers import get_column, select_columns, take_rows
from dpfair.data.dates import iso_date
from dpfair.data.facts import number_text
from dpfair.data.numbers import column_numbers, numbers
from dpfair.data.proposal.values import Values
from dpfair.data.records import Records
from dpfair.data.schema import Schema

__all__ = ["Unread"]

_MANY = 0.5
# Blank cells of fewer records than this are nothing strange.
_FEWEST = 10
_LISTED = 3
# With fewer of them, nothing is to be said, so the values are not read again.
_FEW_AT_BOUNDS = 0.25
# So many of them, from all parts of a table, tell whether the others are read again.
_SPREAD = 1000
# So many different values are enough to know the most frequent ones.
_MOST_WORDS = 100_000


class Unread:
    """Of every column of some records, how many values say nothing, and which these are."""

    def __init__(self, schema: Schema) -> None:
        self.schema, self.rows = schema, 0
        self._blank_or_odd = Counter[str]()
        self._odd = Counter[str]()
        self._outside = Counter[str]()
        self._words: dict[str, Counter[str]] = {c.name: Counter() for c in schema.columns}

    def add(self, table: Any, records: Records) -> None:
        """Count the rows of a table that follows; ``records`` are these rows, encoded."""
        self.rows += len(records)
        for place, numeric in enumerate(self.schema.numeric):
            self._outside[numeric.name] += _outside(numeric, place, table, self.schema, records)
        for column in self.schema.columns:
            rows = np.flatnonzero(_unread(column, self.schema, records))
            if not len(rows):
                continue
            self._blank_or_odd[column.name] += len(rows)
            some = get_column(take_rows(select_columns(table, [column.name]), rows), column.name)
            odd, words = _odd(some, column, self.schema), self._words[column.name]
            self._odd[column.name] += odd.total()
            if len(words) < _MOST_WORDS:
                words.update(odd)

    def sentences(self, *, quoting: bool = False) -> list[str]:
        """A sentence for every column of which at least half says little about the records.

        ``quoting`` names the most frequent values that cannot be read: in a warning to whoever
        predicts, never in an error.
        """
        sentences = [
            f"{_share(outside, self.rows, column)} are {_beyond(column)}"
            for column in self.schema.numeric
            if (outside := self._outside[column.name]) >= max(_MANY * self.rows, _FEWEST)
        ]
        for column in self.schema.columns:
            unread, odd = self._blank_or_odd[column.name], self._odd[column.name]
            if unread < max(_MANY * self.rows, 1):
                continue
            if odd >= _MANY * self.rows:
                most = self._words[column.name].most_common(_LISTED)
                shown = ", ".join(repr(text[:40]) for text, _ in most)
                such = f", such as {shown}" if quoting else ""
                beginning = _share(odd, self.rows, column)
                sentences.append(f"{beginning} are {_expected(column, self.schema, such)}.")
            elif self.rows >= _FEWEST:
                sentences.append(f"{_share(unread, self.rows, column)} are missing.")
        return sentences


def _unread(column: Column, schema: Schema, records: Records) -> NDArray[np.bool_]:
    if isinstance(column, Categorical):
        codes = records.codes[schema.categorical.index(column)]
        # A column of which the fit found no category is not used.
        return np.asarray((codes == len(column.values)) & bool(column.values))
    return records.numeric[schema.numeric.index(column)].map(np.isnan)


def _outside(column: Numeric, place: int, table: Any, schema: Schema, records: Records) -> int:
    """How many values were moved to a bound."""
    if column.bounds == WIDEST:
        return 0
    low, high = column.bounds
    at_bounds = records.numeric[place].map(lambda values: (values == low) | (values == high))
    rows = np.flatnonzero(at_bounds)
    if len(rows) < _FEW_AT_BOUNDS * len(records):
        return 0

    def outside(rows: NDArray[np.intp]) -> int:
        some = get_column(take_rows(select_columns(table, [column.name]), rows), column.name)
        found = column_numbers(some, column, schema.file)
        return int(((found < low) | (found > high)).sum())

    # A bound that many values have is usually one of the values, such as zero.
    spread = rows[:: max(len(rows) // _SPREAD, 1)]
    return outside(rows) if outside(spread) else 0


def _beyond(column: Numeric) -> str:
    """What values outside of the bounds are."""
    if column.date is not None:
        first, last = map(iso_date, column.bounds)
        return f"outside of the bounds {first} to {last}."
    low, high = map(number_text, column.bounds)
    return f"outside of the bounds {low} to {high}: is the unit right?"


def _odd(column_values: Any, column: Column, schema: Schema) -> Counter[str]:
    """How often values occur that are none of those that mean that there is none."""
    counts = Values(column.name, column_values, schema.file).counts
    texts = [text for text in counts if text]
    missing = np.zeros(len(texts), dtype=bool)
    if column.missing and isinstance(column, Categorical):
        missing = np.isin(texts, column.missing)
    elif column.missing:
        missing = np.isin(numbers(texts, schema.file), column.missing)
    return Counter({t: counts[t] for t, m in zip(texts, missing, strict=True) if not m})


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
