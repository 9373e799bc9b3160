"""What cells, columns and labels may hold: ordinary values, odd ones and a secret of every kind."""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import math
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["GROUPS", "KINDS", "LABELS", "NAMES", "SECRET_NUMBER", "SECRET_WORD", "Stubborn"]

# What a record may hold and no text may show; trust.watching looks for it.
SECRET_WORD = "xyzzy-secret"
SECRET_NUMBER = 918273645
SECRET_DAY = dt.date(2093, 11, 27)


class Stubborn:
    """An object that refuses everything that may be asked of it."""

    def _refuse(self, *_: Any) -> Any:
        raise RuntimeError(SECRET_WORD)

    __eq__ = __ne__ = __lt__ = __bool__ = __str__ = __float__ = __int__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "Stubborn()"


WORDS = ["a", "b", "f", "m", "yes", "no", "0", "1", "true", "other", SECRET_WORD]
ODD_WORDS = [
    *("", " ", "nan", "NaN", "None", "1.0", "1e5", "-0", "True", "😀", "مرحبا", "\u202e", "\0"),
    *("e\u0301", "²", "١٢", "1_000", "0x10", "inf", "a" * 3000, "a\nb", "'\"", "--1"),
]
NUMBERS = [0.0, 1.0, -1.5, 37.0, 12.25, float(SECRET_NUMBER)]
ODD_NUMBERS = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 2.0**63, 1e308, -1e308, 1 + 2**-52]
WHOLE = [0, 1, 2, 40, -7, SECRET_NUMBER]
ODD_WHOLE = [2**63 - 1, -(2**63), 2**53 + 1]
DAYS = [dt.date(2000, 1, 1), SECRET_DAY, dt.date.min, dt.date.max]
TIMES = [dt.datetime(2000, 1, 1, 12), dt.datetime(2093, 11, 27), dt.datetime(1969, 12, 31)]
AMOUNTS = [decimal.Decimal("1.50"), decimal.Decimal(SECRET_NUMBER), decimal.Decimal(0)]
ODD_AMOUNTS = [decimal.Decimal(x) for x in ("NaN", "sNaN", "Infinity", "-0", "1E+400")]
MIXED = [
    *(WORDS[0], SECRET_WORD, 1, 1.5, True, None, math.nan, b"a", SECRET_DAY, TIMES[0]),
    *(10**400, -(10**400), fractions.Fraction(1, 3), 1 + 2j, (1, 2), [SECRET_NUMBER], {"a": 1}),
    *(np.float16(2), np.array([1, 2]), np.array([7.5]), np.datetime64("NaT"), pd.NaT, pd.NA),
    *(pd.Timestamp("2093-11-27"), "\ud800", Stubborn(), object, print, *ODD_AMOUNTS),
]

KINDS: dict[str, list[Any]] = {
    "words": WORDS + ODD_WORDS,
    "plain words": WORDS,
    "numbers": NUMBERS + ODD_NUMBERS,
    "plain numbers": NUMBERS,
    "whole numbers": WHOLE + ODD_WHOLE,
    "truth values": [True, False],
    "days": DAYS,
    "times": TIMES,
    "durations": [dt.timedelta(0), dt.timedelta(days=SECRET_NUMBER // 10**5), dt.timedelta(-1)],
    "amounts": AMOUNTS,
    "bytes": [b"a", b"", SECRET_WORD.encode(), b"\xff\xfe"],
    "lists": [[1, 2], [], [SECRET_NUMBER]],
    "structs": [{"a": 1}, {"a": SECRET_NUMBER}],
    "nothing": [None],
    "mixed": MIXED,
}

NAMES = [
    *(
        "age",
        "job",
        "sex",
        "id",
        "",
        " ",
        "😀",
        "مرحبا",
        "\u202exyz",
        "a" * 300,
        "a b",
        "0",
        "x\ny",
    ),
    *("'", '"', "{}", "%s", "<b>", "label", "x0", "ä", "e\u0301", "\u0000", "constant", "None"),
]

GROUPS = ("f", "m", "1")
LABELS = ("0", "1")
