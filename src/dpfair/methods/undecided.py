"""Records that have no decision, because no declared group is theirs.

A rule has a threshold for every declared group and none for any other. The functions below are for
prediction only. There the records belong to whoever asks, so that their number may be stated.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import Levels
from dpfair.data.containers import get_column
from dpfair.data.encode import group_codes_of
from dpfair.data.words import as_words
from dpfair.errors import InputError

__all__ = ["BLANK", "OTHER", "refuse_undecided", "undecided_reasons", "undeclared_groups"]

BLANK = "the group is blank"
OTHER = "the group is not declared"


def undecided_reasons(table: Any, sensitive: Levels, groups: Any = None) -> NDArray[Any]:
    """Why each record has no declared group; an empty text if it has one.

    ``groups`` are those given apart from the table. A blank is a missing value or nothing but
    space, in any of the columns that form the groups.
    """
    unknown = group_codes_of(table, sensitive, groups) < 0
    reasons = np.full(len(unknown), "", dtype=object)
    if unknown.any():
        reasons[unknown] = OTHER
        names = sensitive.column_names
        for column in [get_column(table, n) for n in names] if groups is None else [groups]:
            words = as_words(column)
            blank = np.array([*(not word.strip() for word in words.words), True])
            reasons[unknown & blank[words.places]] = BLANK
    return reasons


def undeclared_groups(table: Any, sensitive: Levels, most: int = 3) -> list[str]:
    """The most frequent values of the sensitive columns that are not declared and not blank."""
    found: Counter[str] = Counter()
    for part in sensitive.parts or (sensitive,):
        words = as_words(get_column(table, part.name))
        counts = np.bincount(words.places, minlength=len(words.words)).tolist()
        found.update(
            {
                word: count
                for word, count in zip(words.words, counts, strict=False)
                if word.strip() and word not in part.values
            }
        )
    return [text for text, _ in found.most_common(most)]


def refuse_undecided(reasons: NDArray[Any], sensitive: Levels) -> None:
    """Raise ``InputError`` if a record has no declared group, without naming its group."""
    blank, other = int((reasons == BLANK).sum()), int((reasons == OTHER).sum())
    if not blank + other:
        return
    found = [f"{blank} are blank"] if blank else []
    found += [f"{other} have another value"] if other else []
    listed = ", ".join(sensitive.values[:20])
    raise InputError(
        f"{blank + other} of {len(reasons)} records have a group that the schema does not declare: "
        f"{' and '.join(found)}; it declares {listed}."
    )
