"""Numbers as text: decimal comma, separated thousands, currency and percent signs."""

from __future__ import annotations

import math
import re
from functools import lru_cache

__all__ = ["CURRENCIES", "numeral"]

CURRENCIES = "$€£¥₹₩₽"
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2019": "'"})
_SIGNED = re.compile(rf"\s*([+-]?)\s*[{CURRENCIES}]?\s*([+-]?)(.*?)\s*[{CURRENCIES}%]?\s*", re.S)


def numeral(text: str, decimal: str = ".", thousands: str = "") -> float:
    """The number that a text states, NaN if it states none.

    A currency sign on either side and a percent sign at the end do not count: 5 % is 5. Separators
    of thousands must have three digits behind the last one, and two or three behind the others.

    >>> numeral("-$1,234.50", thousands=","), numeral("1.234,5 €", ",", "."), numeral("7.5%")
    (-1234.5, 1234.5, 7.5)
    >>> numeral("1,5", thousands=","), numeral("1.5", ",")
    (nan, nan)
    """
    plain = decimal == "." and not thousands
    if plain:
        try:
            return float(text)
        except ValueError:
            pass
    if len(text) > 400:  # no number is that long, and the patterns would take their time
        return math.nan
    found = _SIGNED.fullmatch(text.translate(_SPACES))
    if found is None or (found[1] and found[2]):
        return math.nan
    digits = found[3]
    if not _pattern(decimal, thousands).fullmatch(digits):
        return math.nan
    digits = digits.replace(thousands, "") if thousands else digits
    return float(f"{found[1]}{found[2]}{digits.replace(decimal, '.')}")


@lru_cache(maxsize=64)
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    whole = "[0-9]+"
    if thousands:
        mark = re.escape(thousands)
        whole = rf"(?:[0-9]{{1,3}}(?:{mark}[0-9]{{2,3}})*{mark}[0-9]{{3}}|[0-9]+)"
    point = re.escape(decimal)
    return re.compile(rf"(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]{{1,4}})?")
