"""Checks of public parameters, in one form: what was expected, what came.

Every check is written so that NaN fails it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from dpfair.errors import InputError

__all__ = ["at_least", "did_you_mean", "in_open_interval", "one_of", "positive", "within"]


def positive(**parameters: float) -> None:
    """Each parameter is a finite number greater than zero.

    >>> positive(epsilon=-1)
    Traceback (most recent call last):
    dpfair.errors.InputError: Expected epsilon > 0 and finite, got -1.
    """
    for name, value in parameters.items():
        if not (value > 0 and math.isfinite(value)):
            raise InputError(f"Expected {name} > 0 and finite, got {value}.")


def at_least(bound: int, **parameters: int) -> None:
    """Each parameter is a whole number not below the bound."""
    for name, value in parameters.items():
        if not (math.isfinite(value) and value >= bound and value == int(value)):
            raise InputError(f"Expected {name} to be a whole number >= {bound}, got {value}.")


def in_open_interval(low: float, high: float, **parameters: float) -> None:
    """Each parameter lies strictly between the two bounds."""
    for name, value in parameters.items():
        if not low < value < high:
            raise InputError(f"Expected {low} < {name} < {high}, got {value}.")


def within(low: float, high: float, **parameters: float) -> None:
    """Each parameter lies between the two bounds or is one of them.

    >>> within(1, 2, norm=3)
    Traceback (most recent call last):
    dpfair.errors.InputError: Expected 1 <= norm <= 2, got 3.
    """
    for name, value in parameters.items():
        if not low <= value <= high:
            raise InputError(f"Expected {low:g} <= {name} <= {high:g}, got {value}.")


def one_of(allowed: Collection[str], **parameters: str) -> None:
    """Each parameter is one of the allowed words."""
    for name, value in parameters.items():
        if value not in allowed:
            raise InputError(
                f"Expected {name} to be one of {', '.join(allowed)}, got {value!r}"
                f"{did_you_mean(value, allowed)}."
            )


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A question in parentheses that names the known word nearest to a misspelt one, if any.

    >>> did_you_mean("bound", ["bounds", "values"]), did_you_mean("colour", ["bounds"])
    (" (did you mean 'bounds'?)", '')
    """
    close = get_close_matches(word, list(known), 1) if isinstance(word, str) else []
    return f" (did you mean {close[0]!r}?)" if close else ""
