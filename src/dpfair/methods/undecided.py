"""Records that have no decision, because no declared group is theirs.

A rule has a threshold for every declared group and none for any other. The functions below are for
prediction only. There the records belong to whoever asks, so that their number may be stated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import Levels
from dpfair.data.containers import get_column, take_rows
from dpfair.data.encode import group_codes_of
from dpfair.data.words import as_words
from dpfair.errors import InputError

__all__ = [
    "BLANK",
    "OTHER",
    "REASONS",
    "Undecided",
    "refuse_undecided",
    "undecided_reasons",
]

BLANK = "the group is blank"
OTHER = "the group is not declared"

REASONS = ("", BLANK, OTHER)
"""Why a record has no decision, by the codes that :class:`Undecided` counts."""

_BLANK, _OTHER = 1, 2
_LISTED = 5
# When so many different values are known, no further table is looked at for more.
_MOST_WORDS = 100_000


def undecided_reasons(table: Any, sensitive: Levels, groups: Any = None) -> NDArray[Any]:
    """Why each record has no declared group; an empty text if it has one.

    ``groups`` are those given apart from the table. A blank is a missing value or nothing but
    space, in any of the columns that form the groups.
    """
    unknown = group_codes_of(table, sensitive, groups) < 0
    codes = _codes(table, sensitive, unknown, groups)
    reasons: NDArray[Any] = np.array(REASONS, dtype=object)[codes]
    return reasons


def refuse_undecided(reasons: NDArray[Any], sensitive: Levels) -> None:
    """Raise ``InputError`` if a record has no declared group, without naming its group."""
    blank, other = int((reasons == BLANK).sum()), int((reasons == OTHER).sum())
    Undecided(sensitive, len(reasons), blank, other).refuse()


@dataclass
class Undecided:
    """How many of some records have no decision.

    Parameters
    ----------
    rows, blank, other
        How many records there are, and how many have a blank and an undeclared group.
    first
        The places of the first ones.
    groups
        How often each undeclared value occurs, for every column that forms the groups; no more are
        counted when there are very many.
    """

    sensitive: Levels
    rows: int = 0
    blank: int = 0
    other: int = 0
    first: list[int] = field(default_factory=list)
    groups: list[Counter[str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many have no decision."""
        return self.blank + self.other

    def add(self, table: Any, unknown: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Count the records of a table that follows; the reason of each, by its place."""
        codes = _codes(table, self.sensitive, unknown)
        places = np.flatnonzero(unknown)
        if len(places):
            some = take_rows(table, places)
            parts = self.sensitive.parts or (self.sensitive,)
            self.groups = self.groups or [Counter[str]() for _ in parts]
            for found, part in zip(self.groups, parts, strict=True):
                if len(found) < _MOST_WORDS:
                    found.update(_undeclared(some, part))
        self.first += [self.rows + place for place in places[:_LISTED].tolist()]
        self.rows += len(codes)
        self.blank += int((codes == _BLANK).sum())
        self.other += int((codes == _OTHER).sum())
        return codes

    def refuse(self, advice: str = "") -> None:
        """Raise ``InputError`` if a record has no declared group, without naming its group."""
        if not self.count:
            return
        found = [f"{self.blank} are blank"] if self.blank else []
        found += [f"{self.other} have another value"] if self.other else []
        listed = ", ".join(self.sensitive.values[:20])
        raise InputError(
            f"{self.count} of {self.rows} records have a group that the schema does not declare: "
            f"{' and '.join(found)}; it declares {listed}.{advice}"
        )

    def __str__(self) -> str:
        """What somebody is told whose records these are."""
        listed = ", ".join(str(place + 1) for place in self.first[:_LISTED])
        values = sum(self.groups, Counter[str]()).most_common(3)
        such = f", such as {', '.join(repr(text) for text, _ in values)}" if values else ""
        return (
            f"{self.count} of {self.rows} records have no decision (rows {listed}"
            f"{', ...' if self.count > _LISTED else ''}): of their groups {self.blank} are blank "
            f"and {self.other} are not declared{such}. Rows are counted from 1, without the header;"
        )


def _codes(
    table: Any, sensitive: Levels, unknown: NDArray[np.bool_], groups: Any = None
) -> NDArray[np.uint8]:
    codes = unknown * np.uint8(_OTHER)
    if unknown.any():
        names = sensitive.column_names
        for column in [get_column(table, n) for n in names] if groups is None else [groups]:
            words = as_words(column)
            blank = np.array([*(not word.strip() for word in words.words), True])
            codes[unknown & blank[words.places]] = _BLANK
    return codes


def _undeclared(table: Any, part: Levels) -> dict[str, int]:
    """How often values occur that are not declared and not blank."""
    words = as_words(get_column(table, part.name))
    counts = np.bincount(words.places, minlength=len(words.words)).tolist()
    return {
        word: count
        for word, count in zip(words.words, counts, strict=False)
        if word.strip() and word not in part.values
    }
