"""One column of a table as a person would look at it: its texts, its numbers, what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.numbers import numbers
from dpfair.data.words import Words, as_words

__all__ = ["MISSING_WORDS", "Values", "sort_key", "sorted_values"]

MISSING_WORDS = frozenset(
    ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "?", ".", "-", "#N/A", "#NV"]
)
"""What files write in the place of a missing value."""

_LARGEST = 1e300


@dataclass(frozen=True, eq=False)
class Values:
    """The values of one column, read in the form of the file.

    ``kept`` are words that are values although they look like missing ones.
    """

    name: str
    raw: Any
    file: FileForm = USUAL_FILE
    kept: frozenset[str] = frozenset()

    @cached_property
    def texts(self) -> list[str | None]:
        """Every value as text; None if it is missing."""
        missing = MISSING_WORDS - self.kept
        return [None if text in missing else text for text in self.words.texts()]

    @cached_property
    def counts(self) -> Counter[str]:
        """How often every value occurs; missing ones do not count."""
        missing, words = MISSING_WORDS - self.kept, self.words.words
        counts = np.bincount(self.words.places, minlength=len(words)).tolist()
        return Counter({w: n for w, n in zip(words, counts, strict=False) if w not in missing})

    @cached_property
    def words(self) -> Words:
        """Every value as a word, also those that mean a missing one."""
        return as_words(self.raw)

    @cached_property
    def present(self) -> int:
        """The number of values that are not missing."""
        return self.counts.total()

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Every value as a number; NaN if it is none."""
        return numbers(self.raw, self.file)

    @cached_property
    def finite(self) -> NDArray[np.float64]:
        """The values that are numbers, of a size that bounds may have."""
        return self.numbers[np.abs(self.numbers) < _LARGEST]

    @property
    def are_numbers(self) -> bool:
        """Whether nearly all values are numbers."""
        return bool(self.present) and len(self.finite) >= 0.95 * self.present

    @cached_property
    def whole(self) -> bool:
        """Whether all numbers are whole."""
        return bool(np.all(self.finite == np.round(self.finite)))


def sorted_values(values: Iterable[str]) -> tuple[str, ...]:
    """Numbers by value, then text."""
    return tuple(sorted(values, key=sort_key))


def sort_key(word: str) -> tuple[int, float, str]:
    """Numbers by value, then text."""
    try:
        return (0, float(word), word)
    except ValueError:
        return (1, 0.0, word)
