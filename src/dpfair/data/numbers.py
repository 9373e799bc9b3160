"""A column as numbers, whatever holds them: a typed column, text in the form of a file, objects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import Numeric
from dpfair.data.containers import as_series, column_array
from dpfair.data.dates import days
from dpfair.data.distinct import distinct, polars_texts
from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.numerals import numeral
from dpfair.data.text import plain_text

if TYPE_CHECKING:
    import polars as pl

__all__ = ["column_numbers", "numbers"]


def column_numbers(values: Any, column: Numeric, file: FileForm) -> NDArray[np.float64]:
    """The numbers of a column as its schema reads them, before they are moved into the bounds."""
    found = numbers(values, file) if column.date is None else days(values, column.date)
    if column.missing:
        found = np.where(np.isin(found, column.missing), np.nan, found)
    return found


def numbers(values: Any, file: FileForm = USUAL_FILE) -> NDArray[np.float64]:
    """A column as floats; what is not a number is NaN. ``file`` says how text writes numbers."""
    return _numbers(values, file) + 0.0  # -0.0 is 0.0, as equal values are looked at once


def _numbers(values: Any, file: FileForm) -> NDArray[np.float64]:
    series, texts = as_series(values), polars_texts(values)
    if texts is not None:
        return _parsed(texts, file)
    if hasattr(series, "to_native"):
        if not series.dtype.is_numeric() or series.dtype.is_decimal():
            return _each(series, file)
        values = series.to_numpy()
    array = column_array(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind in "mM":
        return np.full(len(array), np.nan)
    return _each(array, file)


def _parsed(texts: pl.Series, file: FileForm) -> NDArray[np.float64]:
    """The numbers of texts. What polars reads as a finite number, Python reads as the same one."""
    import polars as pl

    if file.decimal != "." or file.thousands:
        return _each(texts, file)
    found = np.array(texts.cast(pl.Float64, strict=False).to_numpy(), dtype=np.float64)
    others = ~np.isfinite(found)
    if others.any():
        found[others] = _each(texts.filter(pl.Series(others)), file)
    return found


def _each(values: Any, file: FileForm) -> NDArray[np.float64]:
    found = distinct(values)
    return np.array([_number(v, file) for v in found.values], dtype=np.float64).take(found.places)


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
