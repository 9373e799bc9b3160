"""How a column is read, cell by cell: slow and plain, to compare the library with."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np

from dpfair.data.containers import as_series, column_array
from dpfair.data.dates import day_number
from dpfair.data.file_form import USUAL_FILE
from dpfair.data.numerals import numeral
from dpfair.data.text import plain_text


def texts(values):
    array = column_array(as_series(values))
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] in {"ns", "ps", "fs", "as"}:
        array = array.astype(f"{array.dtype.kind}8[us]")
    if array.dtype.kind in "iu":
        return [str(v) for v in array.tolist()]
    return [word(v) for v in array.tolist()]


def numbers(values, file=USUAL_FILE):
    values = as_series(values)
    if hasattr(values, "to_numpy") and values.dtype.is_numeric() and not values.dtype.is_decimal():
        values = values.to_numpy()
    array = column_array(values)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    if array.dtype.kind in "mM":
        return np.full(len(array), np.nan)
    return np.array([number(v, file) for v in array.tolist()], dtype=np.float64)


def days(values, form):
    array = column_array(as_series(values))
    if array.dtype.kind == "M":
        whole = array.astype("datetime64[D]")
        return np.where(np.isnat(whole), np.nan, whole.astype(np.int64).astype(np.float64))
    return np.array([day(v, form) for v in array.tolist()], dtype=np.float64)


def word(value):
    if isinstance(value, str):
        return plain_text(str(value))
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < 400:
        whole = value == value.to_integral_value()
        return str(int(value)) if whole else str(value)
    if isinstance(value, (float, np.floating)):
        found = float(value)
        if math.isnan(found):
            return None
        return str(int(found)) if found.is_integer() else str(found)
    try:
        return None if value is None or value != value else plain_text(str(value))
    except Exception:
        return None


def number(value, file):
    if isinstance(value, str):
        if plain_text(value) in ("true", "false"):
            return float(plain_text(value) == "true")
        return numeral(str(value), file.decimal, file.thousands)
    if isinstance(value, np.ndarray) and value.ndim:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:
        return math.nan


def day(value, form):
    if isinstance(value, str):
        try:
            return day_number(dt.datetime.strptime(value.strip(), form))
        except (ValueError, OverflowError):
            return math.nan
    try:
        return day_number(value) if isinstance(value, dt.date) and value == value else math.nan
    except Exception:
        return math.nan
