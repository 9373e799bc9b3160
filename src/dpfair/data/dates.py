"""Dates as numbers: days since 1970-01-01."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.containers import as_series, column_array
from dpfair.data.distinct import distinct
from dpfair.errors import SchemaError

__all__ = ["check_date_format", "day_number", "days", "iso_date", "read_date"]

_EPOCH = dt.date(1970, 1, 1).toordinal()
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST = 60


def day_number(date: dt.date) -> float:
    """Days since 1970-01-01; the time of the day does not count.

    >>> day_number(dt.date(1970, 1, 2)), day_number(dt.datetime(1969, 12, 31, 23, 59))
    (1.0, -1.0)
    """
    return float(date.toordinal() - _EPOCH)


def iso_date(day: float) -> str | float:
    """The date of a day as text; a number that is no date stays a number.

    >>> iso_date(1.0), iso_date(0.5)
    ('1970-01-02', 0.5)
    """
    if float(day).is_integer() and 1 <= day + _EPOCH <= dt.date.max.toordinal():
        return dt.date.fromordinal(int(day) + _EPOCH).isoformat()
    return day


def read_date(value: object) -> float | None:
    """The day of a date or of its ISO text; None for anything else."""
    if isinstance(value, str) and _ISO.fullmatch(value):
        try:
            return day_number(dt.date.fromisoformat(value))
        except ValueError:
            return None
    return day_number(value) if isinstance(value, dt.date) else None


def check_date_format(form: object, column: str) -> None:
    """Refuse a format that ``strptime`` cannot use, or one without a year."""
    sound = isinstance(form, str) and len(form) <= _LONGEST and ("%Y" in form or "%y" in form)
    if sound:
        assert isinstance(form, str)
        try:
            sample = dt.datetime(2001, 2, 3, 4, 5, 6, tzinfo=dt.UTC).strftime(form)
            sound = dt.datetime.strptime(sample, form).year == 2001
        except Exception:  # also the errors of the regular expression that a format becomes
            sound = False
    if not sound:
        raise SchemaError(
            f"Column {column!r} needs a date format such as '%d.%m.%Y', with the year as %Y or %y."
        )


def days(values: Any, form: str) -> NDArray[np.float64]:
    """A column of dates, or of texts in this form, as days; NaN for anything else."""
    if not hasattr(as_series(values), "to_native"):
        values = column_array(values)
        if values.dtype.kind == "M":
            whole = values.astype("datetime64[D]")
            return np.where(np.isnat(whole), np.nan, whole.astype(np.int64).astype(np.float64))
    found = distinct(values)
    return np.array([_day(v, form) for v in found.values], dtype=np.float64).take(found.places)


def _day(value: Any, form: str) -> float:
    if isinstance(value, str):
        try:
            return day_number(dt.datetime.strptime(value.strip(), form))
        except (ValueError, OverflowError):
            return math.nan
    try:
        return day_number(value) if isinstance(value, dt.date) and value == value else math.nan
    except Exception:  # such as pandas.NaT, which is a date without a day
        return math.nan
