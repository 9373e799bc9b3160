"""Turn the columns of a table into codes and numbers, as the schema declares them.

Encoding is total: a missing, out-of-range or unknown value has a declared place, so no error
depends on a value of a record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.buckets import word_bucket
from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.containers import as_series, column_array, column_names, get_column, row_count
from dpfair.data.dates import days
from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.numerals import numeral
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.data.text import plain_text
from dpfair.errors import InputError, SchemaError

__all__ = [
    "as_texts",
    "column_numbers",
    "completed",
    "encode",
    "group_codes_of",
    "level_codes",
    "numbers",
    "row_identities",
]


def encode(table: Any, schema: Schema, groups: Any = None) -> Records:
    """Encode the features and groups of a table; no value of a record raises an error.

    ``groups`` replaces the sensitive column when it is given apart from the table.
    """
    n = row_count(table)
    numeric, codes, irregular = [], [], np.zeros(n, dtype=bool)
    words: dict[str, tuple[str, ...]] = {}
    for column in schema.numeric:
        values = column_numbers(get_column(table, column.name), column, schema.file)
        numeric.append(np.clip(values, *column.bounds))
        irregular |= ~(values == numeric[-1])  # also NaN
    for category in schema.categorical:
        texts = as_texts(get_column(table, category.name))
        listed = category.values
        if category.unbounded:
            occurring = dict.fromkeys(w for w in texts if w is not None)
            listed = tuple(w for w in occurring if w not in category.missing)
            words[category.name] = listed
        codes.append(_codes(texts, replace(category, values=listed)))
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
        numeric=np.stack(numeric, axis=1) if numeric else np.empty((n, 0)),
        codes=np.stack(codes, axis=1) if codes else np.empty((n, 0), dtype=np.int32),
        groups=group_codes,
        irregular=irregular,
        words=words,
    )


def completed(records: Records, before: Schema, after: Schema) -> Records:
    """Records that were encoded by one schema, as another with more categories encodes them.

    >>> from dpfair.data.columns import Categorical
    >>> label = Levels("y", ("0", "1"))
    >>> before = Schema((Categorical("job"),), label)
    >>> after = Schema((Categorical("job", ("a",)),), label)
    >>> import polars as pl
    >>> records = encode(pl.DataFrame({"job": ["b", "a"]}), before)
    >>> done = completed(records, before, after)
    >>> done.codes.ravel().tolist()
    [1, 0]
    """
    assert records.irregular is not None
    codes, irregular = records.codes.copy(), records.irregular
    for i, (old, new) in enumerate(zip(before.categorical, after.categorical, strict=True)):
        if old.unbounded:
            places = _codes([*records.words[new.name], None], new)
            codes[:, i] = places[codes[:, i]]
            irregular = irregular | (codes[:, i] >= len(new.values))
    return replace(records, codes=codes, irregular=irregular, words={})


def group_codes_of(table: Any, sensitive: Levels, groups: Any = None) -> NDArray[np.int64]:
    """The group of every row, from one column or several; -1 for an undeclared group."""
    if groups is not None:
        return level_codes(as_texts(groups), sensitive)
    if not sensitive.parts:
        return level_codes(as_texts(get_column(table, sensitive.name)), sensitive)
    columns = [level_codes(as_texts(get_column(table, p.name)), p) for p in sensitive.parts]
    sizes = [len(part.values) for part in sensitive.parts]
    known = np.all(np.stack(columns) >= 0, axis=0)
    combined = np.ravel_multi_index([np.maximum(codes, 0) for codes in columns], sizes)
    return np.where(known, combined, -1)


def level_codes(values: Sequence[str | None], outcome: Levels) -> NDArray[np.int64]:
    """Positions in the declared values; -1 for any other value.

    Training leaves such records out and counts them apart; prediction refuses undeclared groups.
    """
    places = {v: i for i, v in enumerate(outcome.values)}
    return np.fromiter((places.get(v, -1) for v in values), np.int64, len(values))  # type: ignore[arg-type]


def row_identities(table: Any, groups: NDArray[np.int64]) -> list[bytes]:
    """Bytes that identify each row of a table, the same for every container."""
    columns = [as_texts(get_column(table, name)) for name in column_names(table)]
    rows = zip(*columns, groups.tolist(), strict=True)
    return [repr(row).encode() for row in rows]


def column_numbers(values: Any, column: Numeric, file: FileForm) -> NDArray[np.float64]:
    """The numbers of a column as its schema reads them, before they are moved into the bounds."""
    found = numbers(values, file) if column.date is None else days(values, column.date)
    if column.missing:
        found = np.where(np.isin(found, column.missing), np.nan, found)
    return found


def numbers(values: Any, file: FileForm = USUAL_FILE) -> NDArray[np.float64]:
    """A column as floats; what is not a number is NaN. ``file`` says how text writes numbers."""
    values = as_series(values)
    if hasattr(values, "to_numpy") and values.dtype.is_numeric() and not values.dtype.is_decimal():
        values = values.to_numpy()
    array = column_array(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind in "mM":
        return np.full(len(array), np.nan)
    return np.fromiter((_number(v, file) for v in array.tolist()), np.float64, len(array))


def as_texts(values: Any) -> list[str | None]:
    """A column as text; 1, 1.0 and "1" are one word, missing values are None."""
    array = column_array(as_series(values))
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] in {"ns", "ps", "fs", "as"}:
        array = array.astype(f"{array.dtype.kind}8[us]")  # finer ones would become plain integers
    if array.dtype.kind in "iu":
        return [str(v) for v in array.tolist()]
    return [_word(v) for v in array.tolist()]


def _codes(values: Sequence[str | None], column: Categorical) -> NDArray[np.int32]:
    """The place of every word, as :class:`~dpfair.data.records.Records` describes it."""
    places: dict[str | None, int] = {v: i for i, v in enumerate(column.values)}
    other = len(column.values)
    if column.hashed:
        unlisted = {v for v in values if v is not None and v not in places}
        places |= {v: other + 1 + word_bucket(v) for v in unlisted.difference(column.missing)}
    return np.fromiter((places.get(v, other) for v in values), np.int32, len(values))


def _number(value: Any, file: FileForm) -> float:
    if isinstance(value, str):
        if plain_text(value) in ("true", "false"):
            return float(plain_text(value) == "true")
        return numeral(str(value), file.decimal, file.thousands)
    if isinstance(value, np.ndarray) and value.ndim:
        return math.nan  # before NumPy 2.4, float() takes an array of one number, and warns
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # any error of a foreign object: the value is not a number
        return math.nan


def _word(value: Any) -> str | None:
    if isinstance(value, str):
        return plain_text(str(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else str(number)
    try:
        return None if value is None or value != value else plain_text(str(value))  # NaT
    except Exception:  # such as pandas.NA, an array or an integer of 5000 digits
        return None
