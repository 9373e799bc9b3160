"""How a column of a table becomes two outcomes: a label, or two groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["Above", "Outcome", "Words", "plain_words"]


@dataclass(frozen=True)
class Words:
    """Two outcomes by the words of a column.

    ``second`` lists the words of the second outcome and ``first`` those of the first one; without
    ``first`` every other word means the first outcome. Records that have none of the words, or no
    word at all, have no outcome.
    """

    column: str
    names: tuple[str, str]
    second: tuple[str, ...]
    first: tuple[str, ...] | None = None

    def of(self, frame: pd.DataFrame) -> NDArray[np.object_]:
        """The outcome of every record by its name; None without one."""
        words = plain_words(frame[self.column])
        is_second = words.isin(self.second)
        is_first = ~is_second if self.first is None else words.isin(self.first)
        return _named(self.names, is_first & words.notna(), is_second)


@dataclass(frozen=True)
class Above:
    """The second outcome if the number of a column is above ``cut``, else the first one."""

    column: str
    names: tuple[str, str]
    cut: float

    def of(self, frame: pd.DataFrame) -> NDArray[np.object_]:
        """The outcome of every record by its name; None if the number is missing."""
        numbers = frame[self.column]
        return _named(self.names, numbers <= self.cut, numbers > self.cut)


Outcome = Words | Above


def plain_words(column: pd.Series) -> pd.Series:
    """The values of a column as words; whole numbers lose their point, missing values stay so."""
    present = column.notna()
    if pd.api.types.is_float_dtype(column) and (column[present] % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype("str").astype(object).where(present, None)


def _named(names: tuple[str, str], first: pd.Series, second: pd.Series) -> NDArray[np.object_]:
    found = np.full(len(first), None, dtype=object)
    found[first.to_numpy(dtype=bool)] = names[0]
    found[second.to_numpy(dtype=bool)] = names[1]
    return found
