"""Categories that have an order."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["ordered"]

_SCALES = (
    ("none", "very low", "low", "small", "medium", "moderate", "middle", "average", "mid"),
    ("normal", "large", "high", "very high", "extreme"),
)
_SIZES = {word: place for place, word in enumerate(word for scale in _SCALES for word in scale)}
_MORE = (
    ("never", "rarely", "sometimes", "often", "usually", "always"),
    ("very bad", "bad", "poor", "fair", "good", "very good", "excellent"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("primary", "secondary", "tertiary"),
    ("bronze", "silver", "gold", "platinum"),
    ("child", "young", "adult", "middle-aged", "old", "senior"),
)
_SCALE_PLACES = (_SIZES, *({word: i for i, word in enumerate(scale)} for scale in _MORE))
_NUMBERED = re.compile(r"\s*(<=?|>=?|under|below|over|less than|more than)?\s*[$€£]?(\d+)", re.I)


def ordered(values: Iterable[str]) -> tuple[str, ...]:
    """The values in their order, if they look like the steps of a scale; else nothing.

    >>> ordered(["high", "low", "medium"]), ordered(["B", "A", "C"]), ordered(["red", "blue"])
    (('low', 'medium', 'high'), ('A', 'B', 'C'), ())
    >>> ordered(["10+ years", "2 years", "< 1 year"])
    ('< 1 year', '2 years', '10+ years')
    """
    listed = list(values)
    if len(listed) < 3:
        return ()
    for places in _SCALE_PLACES:
        if all(value.strip().lower() in places for value in listed):
            return tuple(sorted(listed, key=lambda v: places[v.strip().lower()]))
    if _are_grades(listed):
        return tuple(sorted(listed))
    found = {value: _first_number(value) for value in listed}
    if None not in found.values() and len(set(found.values())) == len(listed):
        return tuple(sorted(listed, key=lambda v: found[v] or 0.0))
    return ()


def _are_grades(values: list[str]) -> bool:
    """Letters from A on, without gaps, each with the same digits if any: A..G or A1..G5."""
    letters = sorted({value[:1] for value in values})
    if any(not re.fullmatch("[A-H][1-9]?", value) for value in values):
        return False
    return letters == [chr(ord("A") + i) for i in range(len(letters))] and len(letters) >= 3


def _first_number(value: str) -> float | None:
    found = _NUMBERED.match(value)
    if found is None or (value[found.end() :].strip() == "" and not found[1]):
        return None  # a plain number is a code, and sorted as such anyway
    sign = (found[1] or "").lower()
    shift = -0.5 if sign in ("<", "<=", "under", "below", "less than") else 0.5 if sign else 0.0
    return float(found[2]) + shift
