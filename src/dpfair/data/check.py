"""Compare a table with its schema. **This is not private**: the numbers are exact and internal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpfair.data.check_columns import ColumnCheck, check_column
from dpfair.data.columns import Categorical, Levels
from dpfair.data.containers import column_names, get_column, missing_column, row_count
from dpfair.data.encode import group_codes_of, level_codes
from dpfair.data.facts import listing
from dpfair.data.proposal.accepted import looks_reversed
from dpfair.data.proposal.leaving_out import GIVES_AWAY, gives_label_away
from dpfair.data.proposal.values import Values
from dpfair.data.schema import Schema
from dpfair.data.words import Words

__all__ = ["LevelsCheck", "Problem", "TableCheck", "check_table"]

_FEW_IN_GROUP = 100
_MANY = 0.02
# A fit on the other records would be about another table.
_TOO_MANY = 0.2
# Records times epsilon from which a default fit is better than a constant rule, on Adult and Credit
# Card with kinds of columns only. Above the largest epsilon, privacy is judged weak.
_ENOUGH = 3000
_LARGEST_EPSILON = 10


@dataclass(frozen=True)
class Problem:
    """Something that a person should look at; ``serious`` if it would spoil a fit."""

    text: str
    serious: bool = False


@dataclass(frozen=True)
class LevelsCheck:
    """How many records have each value of the label, or are in each group."""

    name: str
    declared: Mapping[str, int]
    undeclared: Mapping[str, int]

    @property
    def undeclared_share(self) -> float:
        """The share of records without a declared value."""
        known, unknown = sum(self.declared.values()), sum(self.undeclared.values())
        return unknown / max(known + unknown, 1)


@dataclass(frozen=True)
class TableCheck:
    """What was found. None of these numbers is private.

    ``lines`` counts those with too few and with too many cells, if the table is a text file.
    """

    rows: int
    label: LevelsCheck | None
    groups: LevelsCheck | None
    columns: Sequence[ColumnCheck] = ()
    duplicates: int = 0
    lines: tuple[int, int] | None = None
    problems: Sequence[Problem] = field(default_factory=list)

    @property
    def spoilt(self) -> bool:
        """Whether something is wrong that would spoil a fit."""
        return any(problem.serious for problem in self.problems)


def check_table(
    table: Any,
    schema: Schema,
    widths: tuple[int, Sequence[int]] | None = None,
    *,
    training: bool = True,
) -> TableCheck:
    """Compare a table with its schema; ``widths`` are those of the lines of its file.

    Without ``training`` its records are to be decided about: they need no label, and may be few.
    """
    names = column_names(table)
    problems = _few_records(row_count(table)) if training else []
    if training and not schema.reviewed:
        problems.append(
            Problem(
                "The schema is not reviewed, so that a model is not private and no ledger pays for "
                "it: correct the lines marked as read off the data, then write reviewed = true."
            )
        )
    features = [column for column in schema.columns if column.name in names]
    wanted = [column.name for column in schema.columns]
    wanted += [schema.label.name] if training or schema.label.name in names else []
    wanted += schema.sensitive.column_names if schema.sensitive else ()
    lacking = [name for name in dict.fromkeys(wanted) if name not in names]
    if lacking:
        others = f" Neither has it {', '.join(map(repr, lacking[1:]))}." if lacking[1:] else ""
        problems.append(Problem(f"{missing_column(lacking[0], names)}{others}", serious=True))
    kept = _declared_words(schema)
    values = {
        name: Values(name, get_column(table, name), schema.file, kept.get(name, frozenset()))
        for name in wanted
        if name in names
    }
    problems += _encoding_problems(values, schema.file.encoding)
    label = _levels(values, schema.label, problems, "label")
    groups = _groups(table, values, schema.sensitive, problems)
    if label is not None:
        problems += _label_problems(values[schema.label.name], schema.label)
    columns = []
    codes = level_codes(values[schema.label.name].texts, schema.label) if label else None
    for column in features:
        found, texts = check_column(values[column.name], column, schema.file)
        columns.append(found)
        problems += [Problem(text, serious=found.spoilt) for text in texts]
        if codes is not None and gives_label_away(values[column.name], codes):
            problems.append(Problem(f"{column.name!r} {GIVES_AWAY}."))
    duplicates = _duplicates([found.words for found in values.values()])
    if duplicates > _MANY * row_count(table):
        problems.append(
            Problem(f"{duplicates:,} records equal an earlier one: is the table a copy of itself?")
        )
    lines = None if widths is None else _ragged(widths, problems)
    return TableCheck(row_count(table), label, groups, columns, duplicates, lines, tuple(problems))


def _encoding_problems(values: Mapping[str, Values], encoding: str) -> list[Problem]:
    """Columns with characters that could not be read."""
    spoilt = [name for name, found in values.items() if any("\ufffd" in t for t in found.counts)]
    if not spoilt:
        return []
    return [
        Problem(
            f"Characters of {listing(spoilt, most=3)} are not in the encoding {encoding}: state "
            "that of the file in [file] of the schema."
        )
    ]


def _few_records(rows: int) -> list[Problem]:
    """What epsilon the number of records asks for, if it is more than 1."""
    if rows >= _ENOUGH:
        return []
    needed = _ENOUGH / max(rows, 1)
    return [
        Problem(
            f"{rows:,} records are few: as a rule of thumb, a fit needs epsilon {needed:.2g} or "
            f"more to learn something from them (records times epsilon of {_ENOUGH:,}).",
            serious=needed >= _LARGEST_EPSILON,
        )
    ]


def _declared_words(schema: Schema) -> dict[str, frozenset[str]]:
    """What the schema declares as values, also if it is a word such as NA."""
    levels = [schema.label, *((schema.sensitive,) if schema.sensitive else ())]
    owners: list[Levels | Categorical] = [*levels, *schema.categorical]
    return {owner.name: frozenset(owner.values) for owner in owners}


def _levels(
    values: Mapping[str, Values], levels: Levels, problems: list[Problem], what: str
) -> LevelsCheck | None:
    if levels.name not in values:
        return None
    texts = values[levels.name].words.texts()
    counts = Counter(text if text and text.strip() else "(missing)" for text in texts)
    declared = {value: counts.pop(value, 0) for value in levels.values}
    found = LevelsCheck(levels.name, declared, dict(counts.most_common()))
    _undeclared(found, problems, what)
    return found


def _groups(
    table: Any, values: Mapping[str, Values], levels: Levels | None, problems: list[Problem]
) -> LevelsCheck | None:
    if levels is None or any(name not in values for name in levels.column_names):
        return None
    if levels.parts:
        codes = group_codes_of(table, levels)
        declared = {value: int((codes == i).sum()) for i, value in enumerate(levels.values)}
        rest = int((codes < 0).sum())
        found = LevelsCheck(levels.name, declared, {"(other combinations)": rest} if rest else {})
        _undeclared(found, problems, "group")
    else:
        only = _levels(values, levels, problems, "group")
        assert only is not None
        found = only
    small = [f"{v} ({n:,})" for v, n in found.declared.items() if 0 < n < _FEW_IN_GROUP]
    if small:
        problems.append(
            Problem(f"Small groups, for which no useful gap can be certified: {', '.join(small)}.")
        )
    empty = [v for v, n in found.declared.items() if n == 0]
    if empty:
        problems.append(Problem(f"Groups without records: {', '.join(empty)}."))
    return found


def _undeclared(found: LevelsCheck, problems: list[Problem], what: str) -> None:
    share = found.undeclared_share
    if not sum(found.declared.values()):
        values = ", ".join(map(repr, list(found.undeclared)[:5]))
        text = f"No record has a declared {what} in {found.name!r}; the table has {values}."
        problems.append(Problem(text, serious=True))
    elif share > _MANY:
        text = f"{share:.1%} of the records have an undeclared {what} in {found.name!r}."
        problems.append(Problem(text, serious=share >= _TOO_MANY))
    plain = {value.strip().casefold(): value for value in found.declared}
    for text, count in found.undeclared.items():
        if (meant := plain.get(text.strip().casefold())) is not None:
            said = f"{text!r} of {count:,} records is another spelling of the {what} {meant!r}."
            problems.append(Problem(said))


def _label_problems(values: Values, label: Levels) -> list[Problem]:
    rejected, accepted = label.values
    if looks_reversed(label.name, (rejected, accepted)):
        return [
            Problem(
                f"The second label value {accepted!r} means accepted, but reads like the bad "
                f"outcome of {label.name!r}: swap the two values if it is."
            )
        ]
    return []


def _duplicates(columns: Sequence[Words]) -> int:
    import polars as pl

    rows = pl.DataFrame({str(i): column.places for i, column in enumerate(columns)})
    return rows.height - rows.n_unique() if columns else 0


def _ragged(widths: tuple[int, Sequence[int]], problems: list[Problem]) -> tuple[int, int]:
    expected, found = widths[0], np.asarray(widths[1], dtype=np.int64)
    short, long = int((found < expected).sum()), int((found > expected).sum())
    if short or long:
        problems.append(
            Problem(
                f"{short:,} lines have fewer cells than the header and {long:,} have more: missing "
                "cells count as missing values, and surplus ones are ignored.",
                serious=short + long >= _TOO_MANY * len(found),
            )
        )
    return short, long
