"""Columns that should not be features: constant, identifiers, free text, the label in disguise."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from dpfair.data.proposal.values import Values

__all__ = [
    "CONSTANT",
    "EMPTY",
    "FREE_TEXT",
    "GIVES_AWAY",
    "IDENTIFIER",
    "MANY_VALUES",
    "SOME_NUMBERS",
    "decides_label",
    "gives_label_away",
    "why_identifier",
]

EMPTY = "no values"
CONSTANT = "the same value everywhere"
IDENTIFIER = "like an identifier"
FREE_TEXT = "free text"
MANY_VALUES = "too many different values for categories"
SOME_NUMBERS = "mostly numbers, but too many values that are none"
GIVES_AWAY = "gives the label away (is it known before the decision?)"

_ID_NAMES = re.compile(
    r"(^|[_\W])(id|ids|key|uuid|guid|no|nr|number|index|rownames?|row|unnamed\W*\d*|ssn|email|"
    r"phone)$|[a-z](Id|ID|No|Nr)$|^(X|V1|)$",
    re.IGNORECASE,
)
_FEWEST = 20
_MOST_LISTED = 100
_BY_CHANCE = 1e-6
_SMALL_PART = 0.02


def why_identifier(values: Values) -> str:
    """Why a column names people or rows rather than describing them; empty if it does not."""
    distinct, present = len(values.counts), values.present
    if present < _FEWEST or distinct < 0.99 * present:
        return ""
    if values.are_numbers:
        if not values.whole:
            return ""
        in_a_row = len(np.unique(np.diff(values.finite[:1000]))) == 1
        return IDENTIFIER if in_a_row or _ID_NAMES.search(values.name) else ""
    words = np.mean([len(text.split()) for text in list(values.counts)[:200]])
    return FREE_TEXT if words > 2.5 else IDENTIFIER


def gives_label_away(values: Values, labels: NDArray[np.int64]) -> bool:
    """Whether the label follows from the column alone, but for a twentieth of the rarer label.

    Numbers are split at the best threshold, and other values by their own majority.
    """
    known = labels >= 0
    rarer = min(int((labels[known] == 0).sum()), int((labels[known] == 1).sum()))
    if rarer < 5:
        return False
    allowed = 0.05 * rarer
    codes = {text: i for i, text in enumerate(values.counts)}
    if len(codes) + 1 <= max(2, known.sum() / _FEWEST):
        cells = np.array([-1 if t is None else codes[t] for t in values.texts])[known] + 1
        tables = [np.bincount(cells[labels[known] == y], minlength=len(codes) + 1) for y in (0, 1)]
        if np.minimum(*tables).sum() <= allowed:
            return True
    return values.are_numbers and _threshold_errors(values.numbers[known], labels[known]) <= allowed


def decides_label(values: Values, labels: NDArray[np.int64]) -> str:
    """A value whose records all have one label, which chance does not explain; empty if none.

    Chance has as many tries as there are values. A value of few records is no leak, whatever
    explains it.
    """
    known = labels >= 0
    rate = float(labels[known].mean()) if known.any() else 0.0
    if len(values.counts) > _MOST_LISTED:
        return ""
    fewest = max(_FEWEST, _SMALL_PART * known.sum())
    texts = np.array(["" if t is None else t for t in values.texts], dtype=object)
    for value in values.counts:
        own = labels[known & (texts == value)]
        alike = rate if own.all() else 1 - rate if not own.any() else 1.0
        if len(own) >= fewest and alike ** len(own) * len(values.counts) < _BY_CHANCE:
            return str(value)
    return ""


def _threshold_errors(numbers: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The fewest errors of a threshold on the numbers, with missing ones apart."""
    there = np.isfinite(numbers)
    absent = min(int((labels[~there] == y).sum()) for y in (0, 1))
    order = np.argsort(numbers[there], kind="stable")
    ones = labels[there][order]
    ends = np.append(np.diff(numbers[there][order]) > 0, True)
    left_ones, left = np.cumsum(ones)[ends], (np.arange(len(ones)) + 1)[ends]
    if not len(left):
        return float(absent)
    right_ones = ones.sum() - left_ones
    right = len(ones) - left
    up = left_ones + (right - right_ones)
    down = (left - left_ones) + right_ones
    return float(min(up.min(), down.min()) + absent)
