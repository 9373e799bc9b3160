"""The distinct values of a column, so that Python looks at every value once and not at every cell.

Two cells share a value only if they have the same type and their texts and numbers are equal. More
values than necessary do no harm: a value that has to be looked at by itself is listed by itself.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.containers import as_series, column_array

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Distinct", "distinct", "polars_texts"]

# Items of one of these types that are equal have equal texts. (Equal decimals need not.)
_PLAIN = {str, bytes, int, float, bool, type(None), dt.date}

# More texts than these would take long to list.
_FEW = 1 << 12

# Times of these units would become plain integers.
_FINE = {"ns", "ps", "fs", "as"}


@dataclass(frozen=True)
class Distinct:
    """Values in the order in which they occur first, and the place in this list of every cell."""

    values: Sequence[Any]
    places: NDArray[np.integer[Any]]


def distinct(column: Any) -> Distinct:
    """The distinct values of a column of any container.

    >>> found = distinct(["b", "a", "b"])
    >>> found.values, found.places.tolist()
    (['b', 'a'], [0, 1, 0])
    """
    series = as_series(column)
    if not hasattr(series, "to_native"):
        return _of_array(column_array(column))
    of_library = _LIBRARIES.get(series.implementation.name)
    try:
        found = of_library(series) if of_library else None
    except Exception:  # a library may refuse odd types, but no error may depend on a value
        found = None
    return _of_items(series.to_list()) if found is None else found


def polars_texts(column: Any) -> pl.Series | None:
    """The column, if it is one of polars that holds text."""
    import polars as pl

    series = as_series(column)
    native = series.to_native() if hasattr(series, "to_native") else None
    return native if isinstance(native, pl.Series) and native.dtype == pl.String else None


def _of_polars(series: Any) -> Distinct | None:
    column = series.to_native()
    if column.dtype.is_nested() or column.dtype.is_object():
        return None
    first, places = _first_and_places(column.to_physical())
    return Distinct(column.gather(first).to_list(), places)


def _of_pyarrow(series: Any) -> Distinct | None:
    column = series.to_native().dictionary_encode().unify_dictionaries().combine_chunks()
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _of_codes(codes, column.dictionary.to_pylist())


def _of_pandas(series: Any) -> Distinct | None:
    import narwhals as nw

    column, kind = series.to_native(), series.dtype
    if kind == nw.Categorical or kind == nw.Enum:
        return _of_codes(column.cat.codes.to_numpy(), column.cat.categories.to_list())
    typed = kind.is_integer() or kind.is_float() or kind.is_temporal()
    # A column of objects may hold text beside values that equal each other, such as 1 and True.
    if column.dtype == object or not (typed or kind == nw.Boolean or kind == nw.String):
        return None
    codes, values = column.factorize()
    return _of_codes(codes, values.to_list() if hasattr(values, "to_list") else values.tolist())


def _of_array(array: NDArray[Any]) -> Distinct:
    import polars as pl

    if array.dtype.kind not in "biufmM":
        return _of_items(array.tolist())
    array = np.ascontiguousarray(array, np.float64 if array.dtype.kind == "f" else None)
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] in _FINE:
        array = array.astype(f"{array.dtype.kind}8[us]")
    keys = array.view(np.int64) if array.dtype.kind in "mM" else array
    first, places = _first_and_places(pl.Series(keys))
    return Distinct(array[first].tolist(), places)


def _of_items(items: Sequence[Any]) -> Distinct:
    types = set(map(type, items))
    if not types <= _PLAIN:
        return Distinct(items, np.arange(len(items)))
    # 1, 1.0 and True are equal, so the type is part of the key, unless there is one type only.
    one_type = len(types - {type(None)}) <= 1
    keys = items if one_type else list(zip(map(type, items), items, strict=True))
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    values = list(places) if one_type else [value for _, value in places]
    return Distinct(values, np.fromiter(map(places.__getitem__, keys), np.int64, len(items)))


def _of_codes(codes: NDArray[Any], values: Sequence[Any]) -> Distinct:
    """Codes of listed values, of which some may not occur; -1 for a missing one."""
    import polars as pl

    first, places = _first_and_places(pl.Series(np.ascontiguousarray(codes)))
    return Distinct([None if c < 0 else values[c] for c in codes[first].tolist()], places)


def _first_and_places(keys: pl.Series) -> tuple[NDArray[Any], NDArray[Any]]:
    """The first position of every distinct key, and for every cell the place of its key there."""
    import polars as pl

    first = keys.arg_unique().sort().cast(pl.Int64)
    if len(first) == len(keys):  # such as identifiers
        return first.to_numpy(), first.to_numpy()
    old, new = keys.gather(first), pl.int_range(len(first), dtype=pl.UInt32, eager=True)
    if keys.dtype == pl.String and len(first) <= _FEW and not keys.has_nulls():
        places = keys.cast(pl.Enum(old)).to_physical().cast(pl.UInt32)  # in half of the time
    else:
        places = keys.replace_strict(old, new, return_dtype=pl.UInt32)
    return first.to_numpy(), places.to_numpy()


_LIBRARIES: dict[str, Callable[[Any], Distinct | None]] = {
    "POLARS": _of_polars,
    "PYARROW": _of_pyarrow,
    "PANDAS": _of_pandas,
}
