"""Turn the columns of a table into codes and numbers, as the schema declares them.

Encoding is total: a missing, out-of-range or unknown value has a declared place, so no error
depends on a value of a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.buckets import BUCKETS, word_bucket
from dpfair.data.columns import Categorical, Levels
from dpfair.data.compact import Numbers
from dpfair.data.containers import column_name, get_column, row_count
from dpfair.data.numbers import column_numbers
from dpfair.data.records import Codes, Records, smallest
from dpfair.data.schema import Schema
from dpfair.data.words import Words, as_words, coded
from dpfair.errors import InputError, SchemaError

__all__ = ["completed", "encode", "group_codes_of", "level_codes"]


def encode(table: Any, schema: Schema, groups: Any = None) -> Records:
    """Encode the features and groups of a table; no value of a record raises an error.

    ``groups`` replaces the sensitive column when it is given apart from the table.
    """
    n = row_count(table)
    irregular = np.zeros(n, dtype=bool)
    numeric, codes = list[Numbers](), list[Codes]()
    words: dict[str, tuple[str, ...]] = {}
    for column in schema.numeric:
        values = column_numbers(get_column(table, column.name), column, schema.file)
        clipped = np.clip(values, *column.bounds)
        irregular |= ~(values == clipped)  # also NaN
        numeric.append(Numbers.compact(clipped))
    for category in schema.categorical:
        values, listed = get_column(table, category.name), category.values
        if category.unbounded:
            found = as_words(values)
            listed = tuple(w for w in found.words if w not in category.missing)
            words[category.name] = listed
            codes.append(_places(found, listed, category))
        else:
            codes.append(coded(values, listed, partial(_places, listed=listed, column=category)))
        irregular |= codes[-1] >= len(listed)
    if schema.sensitive is None and groups is not None:
        raise SchemaError("Groups were given, but the schema declares no sensitive column.")
    if schema.sensitive is None:
        group_codes = np.zeros(n, dtype=np.int64)
    else:
        group_codes = group_codes_of(table, schema.sensitive, groups)
        if len(group_codes) != n:
            raise InputError(f"Expected one group per row ({n}), got {len(group_codes)}.")
    return Records(
        numeric=tuple(numeric),
        codes=tuple(codes),
        groups=group_codes.astype(_type_of(schema), copy=False),
        irregular=irregular,
        words=words,
    )


def _type_of(schema: Schema) -> type[np.signedinteger[Any]]:
    """The type of group codes, -1 included."""
    return np.int8 if len(schema.groups) <= np.iinfo(np.int8).max else np.int16


def completed(records: Records, before: Schema, after: Schema) -> Records:
    """Records that were encoded by one schema, as another with more categories encodes them.

    >>> from dpfair.data.columns import Categorical
    >>> label = Levels("y", ("0", "1"))
    >>> before = Schema((Categorical("job"),), label)
    >>> after = Schema((Categorical("job", ("a",)),), label)
    >>> import polars as pl
    >>> records = encode(pl.DataFrame({"job": ["b", "a"]}), before)
    >>> done = completed(records, before, after)
    >>> done.codes[0].tolist()
    [1, 0]
    """
    assert records.irregular is not None
    codes, irregular = [*records.codes], records.irregular
    for i, (old, new) in enumerate(zip(before.categorical, after.categorical, strict=True)):
        if old.unbounded:
            codes[i] = _places(Words(records.words[new.name], codes[i]), new.values, new)
            irregular = irregular | (codes[i] >= len(new.values))
    return replace(records, codes=tuple(codes), irregular=irregular, words={})


def _places(found: Words, listed: Sequence[str], column: Categorical) -> Codes:
    """The place of every word, as :class:`~dpfair.data.records.Records` describes it."""
    other, hashed = len(listed), set[str]()
    if column.hashed:
        hashed = set(found.words).difference(listed, column.missing)
    positions = {word: i for i, word in enumerate(listed)}
    positions |= {word: other + 1 + word_bucket(word) for word in hashed}
    table = [*(positions.get(word, other) for word in found.words), other]
    most = other + BUCKETS * column.hashed
    return smallest(np.array(table), most).take(found.places)


def group_codes_of(table: Any, sensitive: Levels, groups: Any = None) -> NDArray[np.int64]:
    """The group of every row, from one column or several; -1 for an undeclared group."""
    if groups is not None:
        return level_codes(groups, sensitive)
    if not sensitive.parts:
        return level_codes(get_column(table, sensitive.name), sensitive)
    columns = [level_codes(get_column(table, p.name), p) for p in sensitive.parts]
    sizes = [len(part.values) for part in sensitive.parts]
    known = np.all(np.stack(columns) >= 0, axis=0)
    combined = np.ravel_multi_index([np.maximum(codes, 0) for codes in columns], sizes)
    return np.where(known, combined, -1)


def level_codes(values: Any, outcome: Levels) -> NDArray[np.int64]:
    """Positions in the declared values; -1 for any other value.

    Training leaves such records out and counts them apart; prediction refuses undeclared groups.
    """
    return coded(values, outcome.values, lambda words: words.codes(outcome.values, other=-1))


def unit_texts(table: Any, unit: str | int | None) -> NDArray[Any] | None:
    """Who every record belongs to, as text; None if every record is a person."""
    if unit is None:
        return None
    words = as_words(get_column(table, column_name(table, unit)))
    return np.array([*words.words, None], dtype=object).take(words.places)
