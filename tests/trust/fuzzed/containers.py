"""How a table of columns, or one column, is built in every container. Some cannot hold some kinds.

A column is its kind, of :data:`trust.fuzzed.values.KINDS`, with its cells.
"""

from __future__ import annotations

import decimal
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import assume

__all__ = [
    "CONTAINERS",
    "NAMELESS",
    "SERIES",
    "Columns",
    "built",
    "deeper",
    "objects",
    "pandas_table",
    "row_count",
]

Columns = dict[str, tuple[str, list[Any]]]


def objects(values: list[Any]) -> np.ndarray:
    """An array whose items are left alone."""
    return np.fromiter(values, dtype=object, count=len(values))


def row_count(columns: Columns) -> int:
    """The number of rows of a table."""
    return len(next(iter(columns.values()))[1]) if columns else 0


def pandas_table(columns: Columns, dtype: Any = None) -> pd.DataFrame:
    """A data frame; pandas would make arrays of lists."""
    made = {
        name: pd.Series(objects(values) if kind in ("mixed", "lists") else values, dtype=dtype)
        for name, (kind, values) in columns.items()
    }
    return pd.DataFrame(made)


def _polars(columns: Columns) -> dict[str, pl.Series]:
    return {
        name: pl.Series(values, dtype=pl.Object)
        if kind == "mixed"
        else pl.Series(values, strict=False)
        for name, (kind, values) in columns.items()
    }


def _arrow(columns: Columns) -> dict[str, pa.Array]:
    return {
        name: pa.array([None if kind == "mixed" else value for value in values])
        for name, (kind, values) in columns.items()
    }


def _cells(columns: Columns) -> list[list[Any]]:
    return [values for _, values in columns.values()]


def _matrix(columns: Columns) -> np.ndarray:
    matrix = np.empty((row_count(columns), len(columns)), dtype=object)
    for i, values in enumerate(_cells(columns)):
        matrix[:, i] = objects(values)
    return matrix


CONTAINERS: dict[str, Callable[[Columns], Any]] = {
    "polars": lambda columns: pl.DataFrame(_polars(columns)),
    "polars text": lambda columns: pl.DataFrame(
        {n: pl.Series([None if v is None else str(v) for v in c]) for n, (_, c) in columns.items()}
    ),
    "polars categorical": lambda columns: pl.DataFrame(
        {n: s.cast(pl.String).cast(pl.Categorical) for n, s in _polars(columns).items()}
    ),
    "pandas": pandas_table,
    "pandas object": lambda columns: pandas_table(columns, object),
    "pandas nullable": lambda columns: pandas_table(columns).convert_dtypes(),
    "pandas arrow": lambda columns: pandas_table(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas categorical": lambda columns: pandas_table(columns).astype("category"),
    "pandas index": lambda columns: pandas_table(columns).set_index(
        pd.Index([7] * row_count(columns))
    ),
    "pyarrow": lambda columns: pa.table(_arrow(columns)),
    "pyarrow dictionary": lambda columns: pa.table(
        {n: array.dictionary_encode() for n, array in _arrow(columns).items()}
    ),
    "numpy": _matrix,
    "numpy numbers": lambda columns: np.array(_cells(columns), dtype=float).T,
    "numpy text": lambda columns: np.array([[str(v) for v in c] for c in _cells(columns)]).T,
    "lists": lambda columns: [list(row) for row in zip(*_cells(columns), strict=True)],
}
NAMELESS = ("numpy", "numpy numbers", "numpy text", "lists")


def _object_type(values: list[Any]) -> Any:
    """Polars panics over decimals among other things."""
    kinds = {type(v) for v in values}
    return pl.Object if decimal.Decimal in kinds and len(kinds) > 1 else None


SERIES: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": objects,
    "pandas": lambda values: pd.Series(objects(values), name="group"),
    "polars": lambda values: pl.Series("group", values, _object_type(values), strict=False),
    "pyarrow": pa.array,
}


def built(make: Callable[..., Any], *arguments: Any) -> Any:
    """A container; what cannot be built is the business of its library."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(*arguments)
    except (Exception, pl.exceptions.PanicException):
        assume(False)


def deeper(values: Any, dimensions: int) -> bool:
    """Lists with equally long lists for all items have one more dimension, which is their form."""
    try:
        return isinstance(values, (list, tuple)) and np.ndim(values) > dimensions
    except Exception:
        return False
