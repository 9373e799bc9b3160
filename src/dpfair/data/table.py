"""Any table in, one form out: pandas, polars, pyarrow, numpy or a file.

What the rest of dpfair sees of a table is a :class:`Records` object: clamped numbers, category
codes, group codes and label codes, all by the schema. It does not depend on the container that
the table came in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.lines import read_lines
from dpfair.data.schema import Categorical, Levels, Numeric, Schema, plain_text
from dpfair.errors import InputError, SchemaError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Records",
    "as_texts",
    "column_names",
    "encode",
    "get_column",
    "group_codes_of",
    "level_codes",
    "plain_array",
    "read_table",
    "row_count",
    "row_identities",
    "select_columns",
    "sound_table",
    "take_rows",
]


@dataclass(frozen=True)
class Records:
    """Rows encoded by a schema.

    ``numeric`` holds clamped numbers with NaN for missing; ``codes`` the position of the
    category, or one past the last for *other*. ``irregular`` tells which records had a value that
    is missing, out of bounds or undeclared.
    """

    numeric: NDArray[np.float64]
    codes: NDArray[np.int32]
    groups: NDArray[np.int64]
    labels: NDArray[np.int64] | None = None
    irregular: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.groups)

    def take(self, rows: NDArray[Any] | slice) -> Records:
        """The chosen rows."""
        labels = None if self.labels is None else self.labels[rows]
        irregular = None if self.irregular is None else self.irregular[rows]
        return Records(self.numeric[rows], self.codes[rows], self.groups[rows], labels, irregular)

    def with_labels(self, labels: NDArray[np.int64]) -> Records:
        """The same rows with label codes."""
        return replace(self, labels=labels)

    def in_first_group(self) -> Records:
        """The same rows, those of no declared group as if in the first one."""
        return replace(self, groups=np.maximum(self.groups, 0))

    def declared(self) -> Records:
        """The rows of a declared group and, if labels are known, a declared label."""
        known = self.groups >= 0
        return self.take(known if self.labels is None else known & (self.labels >= 0))

    def identities(self) -> list[bytes]:
        """What tells one record from another: its encoded features and group."""
        if not len(self):
            return []
        numeric = np.where(np.isnan(self.numeric), np.nan, self.numeric + 0.0)  # -0.0 is 0.0
        parts = [
            np.ascontiguousarray(numeric.astype("<f8")).view(np.uint8).reshape(len(self), -1),
            np.ascontiguousarray(self.codes.astype("<i4")).view(np.uint8).reshape(len(self), -1),
            self.groups.astype("<i8").reshape(-1, 1).view(np.uint8),
        ]
        return [row.tobytes() for row in np.concatenate(parts, axis=1)]


def encode(table: Any, schema: Schema, groups: Any = None) -> Records:
    """Encode a table's features and groups by the schema; total, never raises on a value.

    ``groups`` replaces the sensitive column when it is given apart from the table.
    """
    n = row_count(table)
    numeric, codes, irregular = [], [], np.zeros(n, dtype=bool)
    for column in schema.numeric:
        values = numbers(get_column(table, column.name))
        numeric.append(_clamped(values, column))
        irregular |= ~(values == numeric[-1])  # also NaN
    for category in schema.categorical:
        codes.append(_codes(as_texts(get_column(table, category.name)), category))
        irregular |= codes[-1] == len(category.values)
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
    )


def group_codes_of(table: Any, sensitive: Levels, groups: Any = None) -> NDArray[np.int64]:
    """The group of every row, -1 for none of the declared; from one column or a combination."""
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


def row_count(table: Any) -> int:
    """The number of rows of any table."""
    if hasattr(table, "shape"):
        return int(table.shape[0])
    try:
        return len(table)
    except TypeError:
        raise InputError(f"Expected a table in memory, got {type(table).__name__}.") from None


def sound_table(table: Any) -> Any:
    """A data frame as it is, anything else as an array of two dimensions; or an ``InputError``."""
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
    return [f"x{i}" for i in range(_as_array(table).shape[1])]


def get_column(table: Any, name: str) -> Any:
    """One column as an array or a series."""
    names = column_names(table)
    if name not in names:
        listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise SchemaError(f"The table has no column {name!r}; it has {listed}.")
    if _is_frame(table):
        frame = _frame(table)
        return frame.get_column(frame.columns[names.index(name)])
    return _as_array(table)[:, names.index(name)]


def take_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table, in the same container."""
    if _is_frame(table):
        return _frame(table)[rows].to_native()
    return _as_array(table)[rows]


def select_columns(table: Any, names: list[str]) -> Any:
    """Some columns of a data frame, in the same container."""
    return _frame(table).select(names).to_native()


def row_identities(table: Any, groups: NDArray[np.int64]) -> list[bytes]:
    """What tells one row of any table from another, whatever the container."""
    columns = [as_texts(get_column(table, name)) for name in column_names(table)]
    rows = zip(*columns, groups.tolist(), strict=True)
    return [repr(row).encode() for row in rows]


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a CSV file (every value as text, every line as one record) or Parquet."""
    import polars as pl

    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    try:
        if path.suffix.lower() not in {".parquet", ".pq"}:
            return read_lines(path)
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        # Without its cause, which may quote a record.
        raise InputError(f"The file {path} is not a readable table.") from None
    if frame.height == 0:
        raise InputError(f"The file {path} has no rows.")
    return frame


def numbers(values: Any) -> NDArray[np.float64]:
    """A column as floats; what is not a number is NaN."""
    values = _series(values)
    if hasattr(values, "to_numpy") and values.dtype.is_numeric() and not values.dtype.is_decimal():
        values = values.to_numpy()
    array = _column(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind in "mM":
        return np.full(len(array), np.nan)
    return np.fromiter((_number(v) for v in array.tolist()), np.float64, len(array))


def as_texts(values: Any) -> list[str | None]:
    """A column as text; 1, 1.0 and "1" are one word, missing values are None."""
    array = _column(_series(values))
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] in {"ns", "ps", "fs", "as"}:
        array = array.astype(f"{array.dtype.kind}8[us]")  # finer ones would become plain integers
    if array.dtype.kind in "iu":
        return [str(v) for v in array.tolist()]
    return [_word(v) for v in array.tolist()]


def _clamped(values: NDArray[np.float64], column: Numeric) -> NDArray[np.float64]:
    return np.clip(values, *column.bounds)


def _codes(values: Sequence[str | None], column: Categorical) -> NDArray[np.int32]:
    places: dict[str | None, int] = {v: i for i, v in enumerate(column.values)}
    other = len(column.values)
    return np.fromiter((places.get(v, other) for v in values), np.int32, len(values))


def _number(value: Any) -> float:
    if isinstance(value, str) and plain_text(value) in ("true", "false"):
        return float(plain_text(value) == "true")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # whatever a foreign object raises, the value is not a number
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
    except Exception:  # pandas.NA, an array, an integer of 5000 digits: nothing that is a word
        return None


def _column(values: Any) -> NDArray[Any]:
    if hasattr(values, "to_list"):
        # Converting a column with missing values to an array can round large integers, and
        # narwhals fills the gaps of a pyarrow dictionary.
        return _objects(values.to_list())
    array = plain_array(values)
    if array.dtype.kind in "SU":
        array = array.astype(object)
    if array.ndim != 1:
        raise InputError(f"Expected a column, got an array of {array.ndim} dimensions.")
    return array


def plain_array(values: Any) -> NDArray[Any]:
    """An array of anything; items of lists keep their types, whatever they are."""
    try:
        array = np.asarray(values)
    except Exception:  # items of several shapes, or that resist
        array = None
    if isinstance(values, (list, tuple)) and (array is None or array.dtype.kind in "SU"):
        # NumPy would have turned all items into text, or given up.
        return _objects(values) if array is None or array.ndim == 1 else array
    if array is None:
        raise InputError(f"Expected an array, got {type(values).__name__}.")
    return array


def _objects(items: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(items, dtype=object, count=len(items))


def _as_array(table: Any) -> NDArray[Any]:
    if hasattr(table, "tocsr"):
        raise InputError("Sparse data is not supported: expected a table with all its cells.")
    array = plain_array(table)
    if array.dtype.kind in "OSU" and isinstance(table, (list, tuple)) and array.ndim in (1, 2):
        array = _matrix(table)
    if array.ndim != 2:
        raise _not_a_table(array.ndim)
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported.")
    return array


def _not_a_table(dimensions: int) -> InputError:
    return InputError(
        f"Expected 2D array, got {dimensions}D array instead. "
        "Reshape your data to rows and columns."
    )


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


def _frame(table: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(table, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise SchemaError("The table has two columns of the same name.") from None
    except TypeError:
        raise InputError(f"Expected a table in memory, got {type(table).__name__}.") from None


def _series(values: Any) -> Any:
    """A column of any library as a narwhals series; lists and arrays stay as they are."""
    import narwhals as nw

    return nw.from_native(values, series_only=True, pass_through=True)


def _is_frame(table: Any) -> bool:
    # Asked of the type: a lazy frame would have to be computed to tell its columns.
    return hasattr(type(table), "__dataframe__") or hasattr(type(table), "columns")
