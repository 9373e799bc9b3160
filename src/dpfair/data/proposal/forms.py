"""The form of numbers and dates, found by trying all usual ones."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Sequence

from dpfair.data.numerals import numeral

__all__ = ["DATE_FORMATS", "find_date_format", "find_number_form"]

# Decimal mark and separator of thousands, the usual forms first.
_NUMBER_FORMS = [
    *((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " ")),
    *((".", "'"), (",", "'")),
]
DATE_FORMATS = (
    *("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d"),
    *("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%SZ", "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%y"),
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M"),
    *("%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y"),
    *("%b-%Y", "%b-%y", "%b %Y", "%Y-%m", "%m/%Y"),
)
"""The formats that are tried; where two fit, the first one counts."""

_NAMES_OF_DATES = re.compile(r"date|day|dob|birth|born|datum|_dt$|_at$", re.IGNORECASE)
_SAMPLE, _FIRST, _MOST = 1000, 20, 0.95


def find_number_form(columns: Iterable[Sequence[str]]) -> tuple[str, str]:
    """Decimal mark and thousands separator in which most columns of texts are numbers.

    >>> find_number_form([["0,5", "1,25"], ["1.234,5", "7"]])
    (',', '.')
    """
    scores = [0] * len(_NUMBER_FORMS)
    for texts in columns:
        some = [t for t in texts[:_SAMPLE] if any(c.isdigit() for c in t)]
        if len(some) < _MOST * len(texts[:_SAMPLE]) or not some:
            continue
        for place, form in enumerate(_NUMBER_FORMS):
            scores[place] += _share(numeral(t, *form) == numeral(t, *form) for t in some) >= _MOST
    return _NUMBER_FORMS[scores.index(max(scores))]


def find_date_format(name: str, texts: Sequence[str]) -> tuple[str, str]:
    """The format of dates, empty if these are none, and a second format that fits as well.

    >>> find_date_format("x", ["31.12.2020", "01.02.2021"]), find_date_format("x", ["7", "8"])
    (('%d.%m.%Y', ''), ('', ''))
    """
    some = list(dict.fromkeys(texts))[:_SAMPLE]
    if not some or not all(any(c.isdigit() for c in t) for t in some[:_FIRST]):
        return "", ""
    tried = [form for form in DATE_FORMATS if _fits(some[:_FIRST], form)]
    if _NAMES_OF_DATES.search(name) and _fits(some[:_FIRST], "%Y%m%d"):
        tried.append("%Y%m%d")
    found = [form for form in tried if _fits(some, form)]
    return (*found, "", "")[0], (*found, "", "")[1]


def _fits(texts: Sequence[str], form: str) -> bool:
    return _share(_is_date(text, form) for text in texts) >= _MOST


def _is_date(text: str, form: str) -> bool:
    if form == "%Y%m%d" and len(text) != 8:
        return False
    try:
        return 1800 <= dt.datetime.strptime(text.strip(), form).year <= 2200
    except ValueError:
        return False


def _share(answers: Iterable[bool]) -> float:
    one, other = itertools.tee(answers)
    return sum(one) / max(sum(1 for _ in other), 1)
