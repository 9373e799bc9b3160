"""What one column is: a number, a date, categories, or nothing that a model should read."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import Categorical, Column, Numeric
from dpfair.data.containers import as_series
from dpfair.data.dates import day_number, days
from dpfair.data.numerals import CURRENCIES
from dpfair.data.proposal.forms import find_date_format
from dpfair.data.proposal.leaving_out import (
    CONSTANT,
    EMPTY,
    FREE_TEXT,
    MANY_VALUES,
    SOME_NUMBERS,
    why_identifier,
)
from dpfair.data.proposal.orders import ordered
from dpfair.data.proposal.ranges import mark_of_missing, round_outwards, whole_years
from dpfair.data.proposal.values import Values, sorted_values

__all__ = ["Found", "find_column"]

# A column with fewer distinct numbers than this is a list of codes, unless they look like amounts.
_FEW = 12
# Fewer distinct numbers than this are always codes.
_FEW_AMOUNTS = 5
# A column of text with more distinct values than this is an identifier or free text.
_MAX_WORDS = 100
# With so many numbers, a column is not one of text: the others may be marks or other spellings.
_MANY_NUMBERS = 0.5
# From 1800 to 2200.
_LIKELY_DAYS = (day_number(dt.date(1800, 1, 1)), day_number(dt.date(2200, 1, 1)))
_MAX_MARKS = 5


@dataclass(frozen=True)
class Found:
    """A column and a remark about it, or why it is left out."""

    name: str
    column: Column | None
    remark: str = ""
    reason: str = ""


def find_column(values: Values, *, identifiers: bool = True) -> Found:
    """Look at one column; with ``identifiers``, one that names people or rows is left out."""
    name, counts = values.name, values.counts
    if len(counts) < 2:
        return Found(name, None, reason=CONSTANT if counts else EMPTY)
    if found := _dates(values):
        return found
    reason = why_identifier(values) if identifiers else ""
    if reason:
        return Found(name, None, reason=reason)
    if values.are_numbers and (found := _numbers(values)):
        return found
    if len(counts) > _MAX_WORDS:
        words = np.mean([len(text.split()) for text in list(counts)[:200]])
        if len(values.finite) >= _MANY_NUMBERS * values.present:
            return Found(name, None, reason=SOME_NUMBERS)
        return Found(name, None, reason=FREE_TEXT if words > 2.5 else MANY_VALUES)
    return _categories(values)


def _dates(values: Values) -> Found | None:
    form, other = "", ""
    if _is_temporal(values.raw):
        form = "%Y-%m-%d"
    elif not (values.are_numbers and "." in "".join(list(values.counts)[:20])):
        form, other = find_date_format(values.name, list(values.counts))
    if not form:
        return None
    found = days(values.raw, form)
    likely = (found >= _LIKELY_DAYS[0]) & (found < _LIKELY_DAYS[1])
    if len(np.unique(found[likely])) < 2:
        return None
    # Such as 9999-12-31, which means that there is no such date.
    marks = np.unique(found[np.isfinite(found) & ~likely]).tolist()
    missing = tuple(marks) if len(marks) <= _MAX_MARKS else ()
    bounds = whole_years(float(found[likely].min()), float(found[likely].max()))
    remark = f"a date; {other} fits as well: check which one is meant" if other else "a date"
    return Found(values.name, Numeric(values.name, bounds, date=form, missing=missing), remark)


def _numbers(values: Values) -> Found | None:
    missing = mark_of_missing(values.finite)
    kept = values.finite[~np.isin(values.finite, missing)]
    distinct = np.unique(kept)
    if len(distinct) < _FEW and not _are_amounts(distinct):
        return None
    low, high = round_outwards(float(distinct[0]), float(distinct[-1]))
    remarks = []
    if any(sign in text for text in list(values.counts)[:50] for sign in CURRENCIES):
        remarks.append("an amount of money")
    if len(distinct) < _FEW:
        remarks.append("few different numbers: if they are codes, use kind categorical")
    if missing:
        remarks.append("check that the missing values are not real")
    column = Numeric(values.name, (low, high), missing=missing)
    return Found(values.name, column, "; ".join(remarks))


def _are_amounts(distinct: NDArray[np.float64]) -> bool:
    """Counts from 0 on, numbers with gaps or decimals; 1, 2, 3 ... are as likely to be codes."""
    if len(distinct) < _FEW_AMOUNTS:
        return False
    decimals = bool(np.any(distinct != np.round(distinct)))
    gaps = distinct[-1] - distinct[0] > 2 * len(distinct)
    return decimals or gaps or distinct[0] == 0


def _categories(values: Values) -> Found:
    steps = ordered(values.counts)
    listed = steps or sorted_values(values.counts)
    marks = tuple(v for v in listed if v.lower() in _UNKNOWN)
    kept = tuple(v for v in listed if v not in marks)
    if len(kept) < 2:
        kept, marks = listed, ()
    remark = f"ordered? {' < '.join(_short(kept))}" if steps else ""
    if values.are_numbers and len(kept) > 2:
        remark = "codes? if the numbers count something, use kind numeric"
    if {v.lower() for v in kept} in _YES_OR_NO:
        remark = "yes or no"
    return Found(values.name, Categorical(values.name, kept, missing=marks), remark)


def _short(words: tuple[str, ...]) -> tuple[str, ...]:
    return words if len(words) <= 5 else (*words[:2], "...", words[-1])


def _is_temporal(raw: Any) -> bool:
    dtype = getattr(as_series(raw), "dtype", None)
    return getattr(dtype, "kind", "") == "M" or bool(getattr(dtype, "is_temporal", bool)())


_UNKNOWN = {"unknown", "missing", "not available", "not stated", "unk", "unspecified", "n.a."}
_YES_OR_NO = ({"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"}, {"0", "1"})
