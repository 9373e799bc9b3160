"""Compare one column with what the schema declares. **This is not private.**"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import WIDEST, Categorical, Column, Numeric
from dpfair.data.facts import number_text
from dpfair.data.file_form import FileForm
from dpfair.data.numbers import column_numbers
from dpfair.data.proposal.leaving_out import why_identifier
from dpfair.data.proposal.values import Values

__all__ = ["ColumnCheck", "check_column"]

_MANY = 0.02
_LISTED = 5
# In scales of the column; a median of the same records is within one.
_FAR = 10


@dataclass(frozen=True)
class ColumnCheck:
    """Shares of the records, by what is wrong with their value.

    ``outside`` are numbers beyond the bounds. ``unknown`` are values that are no number, date or
    category of the column.
    """

    name: str
    kind: str
    missing: float
    outside: float = 0.0
    unknown: float = 0.0

    @property
    def spoilt(self) -> bool:
        """Whether the column says nothing about most records that have a value."""
        return self.outside + self.unknown > 0.5 * (1 - self.missing) and self.missing < 1


def check_column(values: Values, column: Column, file: FileForm) -> tuple[ColumnCheck, list[str]]:
    """The shares, and what a person should look at."""
    if isinstance(column, Numeric):
        found, texts = _check_numbers(values, column, file)
    else:
        found, texts = _check_words(values, column)
    if not values.present:
        texts.append(f"{column.name!r} has no values.")
    reason = why_identifier(values)
    if reason and not (isinstance(column, Numeric) and column.date):
        texts.append(f"{column.name!r} looks {reason}, which is no feature.")
    return found, texts


def _check_numbers(
    values: Values, column: Numeric, file: FileForm
) -> tuple[ColumnCheck, list[str]]:
    numbers = column_numbers(values.raw, column, file)
    absent = np.array([text is None for text in values.texts])
    if column.missing and column.date is None:
        absent |= np.isin(values.numbers, column.missing)
    low, high = column.bounds
    readable = np.isfinite(numbers)
    outside = readable & ((numbers < low) | (numbers > high))
    unknown = ~readable & ~absent
    rows = max(len(numbers), 1)
    found = ColumnCheck(
        column.name, column.kind, *(float(x.sum()) / rows for x in (absent, outside, unknown))
    )
    texts = []
    if found.outside > _MANY:
        texts.append(f"{found.outside:.1%} of {column.name!r} are outside its bounds.")
    if found.unknown > _MANY:
        what = f"dates of the form {column.date}" if column.date else "numbers"
        shown = _examples([t for t, u in zip(values.texts, unknown, strict=True) if u and t])
        texts.append(f"{found.unknown:.1%} of {column.name!r} are no {what}, such as {shown}.")
    texts += _unit_errors(column, numbers[readable])
    return found, texts


def _unit_errors(column: Numeric, numbers: NDArray[np.float64]) -> list[str]:
    """Values of another unit lie beyond the bounds, or in a small part of them.

    Without declared bounds, they are far from the center that a fit found, if there is one.
    """
    if len(numbers) < 10 or column.date is not None:
        return []
    if column.bounds == WIDEST:
        return _far_from_found(column, float(np.median(numbers)))
    low, high = column.bounds
    median = float(np.median(numbers))
    for factor in (100, 1000):
        if not low <= median <= high and low <= median / factor <= high and median != 0:
            return [
                f"{column.name!r} has the median {number_text(median)}, beyond its bounds: values "
                f"divided by {factor} would fit. Is the unit right?"
            ]
    spread = float(np.quantile(numbers, 0.99) - np.quantile(numbers, 0.01))
    if spread < 0.01 * (high - low) and len(np.unique(numbers)) > 1:
        return [
            f"{column.name!r} fills less than a hundredth of its bounds: is the unit right, or "
            "are the bounds too wide?"
        ]
    return []


def _far_from_found(column: Numeric, median: float) -> list[str]:
    if column.center is None or column.scale is None:
        return []
    if abs(median - column.center) <= _FAR * column.scale:
        return []
    return [
        f"{column.name!r} has the median {number_text(median)}, far from the center "
        f"{number_text(column.center)} of the schema: is the unit right?"
    ]


def _check_words(values: Values, column: Categorical) -> tuple[ColumnCheck, list[str]]:
    known, marks = set(column.values), set(column.missing)
    absent = [text is None or text in marks for text in values.texts]
    # A word such as "?" is missing, unless it is declared as a category.
    others = [t for t, a in zip(values.texts, absent, strict=True) if not a and t not in known]
    if column.unbounded:  # fit finds the categories
        others = []
    rows = max(len(values.texts), 1)
    found = ColumnCheck(column.name, column.kind, sum(absent) / rows, 0.0, len(others) / rows)
    if found.unknown <= _MANY and not found.spoilt:
        return found, []
    text = f"{found.unknown:.1%} of {column.name!r} are no category: {_examples(others)}."
    plain = {value.strip().lower() for value in known}
    if others and sum(str(t).strip().lower() in plain for t in others) > 0.5 * len(others):
        text += " They differ from categories by spaces or capitals only."
    return found, [text]


def _examples(texts: list[str | None]) -> str:
    """The most frequent values with their counts."""
    counts: dict[str, int] = {}
    for text in texts:
        counts[str(text)] = counts.get(str(text), 0) + 1
    most = sorted(counts, key=lambda text: -counts[text])[:_LISTED]
    more = ", ..." if len(counts) > _LISTED else ""
    return ", ".join(f"{text[:40]!r} ({counts[text]:,})" for text in most) + more
