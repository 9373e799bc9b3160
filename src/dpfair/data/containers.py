"""Rows and columns of any table in memory: pandas, polars, pyarrow, numpy or lists."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import InputError, SchemaError

__all__ = [
    "NamedArray",
    "as_series",
    "column_array",
    "column_name",
    "column_names",
    "get_column",
    "missing_column",
    "plain_array",
    "row_count",
    "select_columns",
    "sound_table",
    "take_rows",
]


@dataclass(frozen=True)
class NamedArray:
    """An array of rows and columns whose columns have names; every cell keeps its type."""

    array: NDArray[Any]
    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return self.array.shape


def row_count(table: Any) -> int:
    """The number of rows of any table."""
    if hasattr(table, "shape"):
        return int(table.shape[0])
    try:
        return len(table)
    except TypeError:
        raise InputError(f"Expected a table in memory, got {type(table).__name__}.") from None


def sound_table(table: Any) -> Any:
    """Return a data frame as it is and anything else as a 2D array, or raise ``InputError``."""
    if _is_frame(table):
        column_names(table)
        return table
    return _as_array(table)


def column_names(table: Any) -> list[str]:
    """The names of the columns; x0, x1, ... for an array."""
    if _is_frame(table):
        names = [str(c) for c in _frame(table).columns]
        if len(set(names)) < len(names):
            raise SchemaError("The table has two columns of the same name.")
        return names
    if isinstance(table, NamedArray):
        return list(table.names)
    return [f"x{i}" for i in range(_as_array(table).shape[1])]


def get_column(table: Any, name: str) -> Any:
    """One column as an array or a series."""
    names = column_names(table)
    if name not in names:
        raise missing_column(name, names)
    if _is_frame(table):
        frame = _frame(table)
        return frame.get_column(frame.columns[names.index(name)])
    return _as_array(table)[:, names.index(name)]


def missing_column(name: object, names: Sequence[str], table: str = "The table") -> SchemaError:
    """The error for a column that a table does not have; it names those that there are.

    >>> missing_column("sex", ["age:sex"]).args[0]
    "The table has no column 'sex'; it has age:sex. Its cells seem to be separated by ':': state \
delimiter = ':' in the [file] table of the schema."
    """
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    text = f"{table} has no column {name!r}; it has {listed}."
    only = names[0] if len(names) == 1 else ""
    marks = [mark for mark in ",;\t|:^~ #" if only.count(mark) and name in only.split(mark)]
    if marks:
        stated = "\\t" if marks[0] == "\t" else marks[0]
        return SchemaError(
            f"{text} Its cells seem to be separated by {marks[0]!r}: state delimiter = '{stated}' "
            "in the [file] table of the schema."
        )
    if name in [other.strip() for other in names]:
        return SchemaError(f"{text} The header has spaces around its names: remove them.")
    close = get_close_matches(str(name).strip().lower(), [n.strip().lower() for n in names], 1, 0.8)
    meant = [n for n in names if close and n.strip().lower() == close[0]]
    return SchemaError(f"{text} Did you mean {meant[0]!r}?" if meant else text)


def column_name(table: Any, column: str | int) -> str:
    """A column given by name or position, as a name of the table."""
    names = column_names(table)
    name = (
        names[int(column)]
        if isinstance(column, Integral) and -len(names) <= column < len(names)
        else column
    )
    if name not in names:
        raise missing_column(column, names)
    return str(name)


def take_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table, in the same container."""
    if _is_frame(table):
        return _frame(table)[rows].to_native()
    return _as_array(table)[rows]


def select_columns(table: Any, names: list[str]) -> Any:
    """Some columns of a data frame, in the same container."""
    return _frame(table).select(names).to_native()


def as_series(values: Any) -> Any:
    """A column of any library as a narwhals series; lists and arrays stay as they are."""
    import narwhals as nw

    return nw.from_native(values, series_only=True, pass_through=True)


def column_array(values: Any) -> NDArray[Any]:
    """One column as an array in which every value keeps its type."""
    if hasattr(values, "to_list"):
        # Converting a column with missing values to an array can round large integers, and
        # narwhals fills the gaps of a pyarrow dictionary.
        return _objects(values.to_list())
    array = plain_array(values)
    if array.dtype.kind in "SU":
        array = array.astype(object)
    elif array.ndim == 1 and isinstance(values, (list, tuple)) and _converted(array, values):
        array = _objects(values)
    if array.ndim != 1:
        raise InputError(f"Expected a column, got an array of {array.ndim} dimensions.")
    return array


def plain_array(values: Any) -> NDArray[Any]:
    """Any values as an array; the items of a list keep their types."""
    try:
        array = np.asarray(values)
    except Exception:  # items of several shapes, or that cannot be converted
        array = None
    if isinstance(values, (list, tuple)) and (array is None or array.dtype.kind in "SU"):
        # NumPy would have turned all items into text, or given up.
        return _objects(values) if array is None or array.ndim == 1 else array
    if array is None:
        raise InputError(f"Expected an array, got {type(values).__name__}.")
    return array


def _converted(array: NDArray[Any], items: Sequence[Any]) -> bool:
    """Whether NumPy changed some items to the type of others; a record must not change another."""
    types = set(map(type, items))
    plain = len(types) == 1 and types <= {bool, int, float}
    return not plain or (types == {int} and array.dtype.kind not in "iu")


def _as_array(table: Any) -> NDArray[Any]:
    if isinstance(table, NamedArray):
        return table.array
    if hasattr(table, "tocsr"):
        raise InputError("Sparse data is not supported: expected a table with all its cells.")
    if table is None or isinstance(table, (str, os.PathLike, Mapping)):
        hint = "; TableFiles.named reads files" if isinstance(table, (str, os.PathLike)) else ""
        raise InputError(f"Expected a table, got {type(table).__name__}{hint}.")
    array = plain_array(table)
    if isinstance(table, (list, tuple)) and (
        (array.dtype.kind in "OSU" and array.ndim in (1, 2))
        or (array.ndim == 2 and _converted(array, [cell for row in table for cell in row]))
    ):
        array = _matrix(table)
    if array.ndim != 2:
        raise _not_a_table(array.ndim)
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported.")
    return array


def _matrix(rows: Sequence[Any]) -> NDArray[Any]:
    """Rows of cells that keep their types."""
    if not all(isinstance(row, (list, tuple, np.ndarray)) for row in rows):
        raise _not_a_table(1)
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise InputError("Expected rows of one length.")
    [width] = widths
    matrix = np.empty((len(rows), width), dtype=object)
    for i, row in enumerate(rows):
        matrix[i] = _objects(row)
    return matrix


def _objects(items: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(items, dtype=object, count=len(items))


def _not_a_table(dimensions: int) -> InputError:
    return InputError(
        f"Expected 2D array, got {dimensions}D array instead. "
        "Reshape your data to rows and columns."
    )


def _frame(table: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(table, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("The table has two columns of the same name.") from None
    except TypeError:
        raise InputError(f"Expected a table in memory, got {type(table).__name__}.") from None


def _is_frame(table: Any) -> bool:
    # Look at the type only: reading the columns of a lazy frame would compute it.
    return hasattr(type(table), "__dataframe__") or hasattr(type(table), "columns")
