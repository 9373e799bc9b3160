"""Look at all columns of a table, and propose its schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpfair.data.columns import Levels
from dpfair.data.containers import (
    as_series,
    column_names,
    get_column,
    missing_column,
    row_count,
)
from dpfair.data.encode import level_codes
from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.numerals import numeral
from dpfair.data.proposal.columns import Found, find_column
from dpfair.data.proposal.forms import find_number_form
from dpfair.data.proposal.leaving_out import (
    GIVES_AWAY,
    decides_label,
    gives_label_away,
)
from dpfair.data.proposal.levels import find_groups, find_label
from dpfair.data.proposal.proposal import LeftOut, Proposal
from dpfair.data.proposal.values import MISSING_WORDS, Values
from dpfair.data.schema import Schema
from dpfair.errors import SchemaError

__all__ = ["infer_schema", "propose"]

_SMALL_GROUP = 100


def propose(
    table: Any,
    *,
    label: str,
    sensitive: str | Sequence[str],
    accept: str | None = None,
    file: FileForm = USUAL_FILE,
    leave_out: Iterable[str] = (),
) -> Proposal:
    """Propose the schema of a table. This is not private; a person must finish it.

    ``accept`` is the label value that means accepted. ``sensitive`` names the column of the
    groups, or several. ``leave_out`` names columns that are no features, such as that of a person.
    """
    names = column_names(table)
    groups = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    for name in (label, *groups):
        if name not in names:
            raise missing_column(name, names)
    file = _with_number_form(table, names, file)
    columns = {name: Values(name, get_column(table, name), file) for name in names}
    outcome, accepted, others = find_label(columns[label], accept)
    codes = level_codes(columns[label].texts, outcome)
    notes = _notes_on_names(names)
    if others:
        listed = ", ".join(f"{value} ({count:,})" for value, count in others.items())
        notes.append(f"Other values of the label {label!r} are not used: {listed}.")
    found = []
    for name in names:
        if name in (label, *leave_out) or (len(groups) == 1 and name == groups[0]):
            continue
        one = find_column(columns[name], identifiers=name not in groups)
        if one.column is not None and name not in groups and gives_label_away(columns[name], codes):
            one = Found(name, None, reason=GIVES_AWAY)
        elif one.column is not None and (value := decides_label(columns[name], codes)):
            notes.append(
                f"All records with {value!r} in {name!r} have the same label: delete the column if "
                "it is not known before the decision."
            )
        found.append(one)
    alone = find_groups(columns[groups[0]]) if len(groups) == 1 else None
    schema = _schema(found, outcome, alone, file)
    if alone is None:
        schema = schema.with_sensitive(groups)
    for name in groups:
        counts = columns[name].counts
        small = [f"{v} ({counts[v]:,})" for v in counts if counts[v] < _SMALL_GROUP]
        if small:
            notes.append(f"Groups of {name!r} with few records: {', '.join(small)}.")
        absent = len(columns[name].texts) - columns[name].present
        if absent:
            notes.append(f"{absent:,} records have no value of {name!r}, and are not used.")
    proposal = Proposal(
        schema,
        accepted,
        tuple(LeftOut(one.name, one.reason) for one in found if one.column is None),
        {one.name: one.remark for one in found if one.column is not None and one.remark},
        other_labels=others,
        rows=row_count(table),
    )
    return replace(proposal, notes=(*_notes_on_choices(proposal), *notes))


def _notes_on_choices(proposal: Proposal) -> list[str]:
    """What was chosen: the accepted label value, and the columns that are left out."""
    accepted = proposal.accepted
    mark = "" if accepted.sure else "ASSUMED: "
    name = proposal.schema.label.name
    return [
        f"{mark}{name} = {accepted.value} means accepted: {accepted.why}.",
        *(f"left out ({why}): {', '.join(names)}." for why, names in proposal.reasons().items()),
    ]


def _notes_on_names(names: Sequence[str]) -> list[str]:
    """A first line of numbers is no header, but a record."""
    if sum(numeral(name) == numeral(name) for name in names) <= len(names) / 2:
        return []
    return ["The first line looks like a record: a file needs a header with the names of columns."]


def infer_schema(
    table: Any,
    label: Levels,
    sensitive: Levels | None,
    *,
    leave_out: frozenset[str] = frozenset(),
) -> Schema:
    """Describe every usable column of a table whose label and groups are given.

    The columns are what the caller wants to use, so only those are left out that a model cannot
    use: constant ones and texts with too many values.
    """
    used = {label.name, *leave_out} | ({sensitive.name} if sensitive else set())
    found = [
        find_column(Values(name, get_column(table, name)), identifiers=False)
        for name in column_names(table)
        if name not in used
    ]
    return _schema(found, label, sensitive, USUAL_FILE)


def _schema(
    found: Sequence[Found], label: Levels, sensitive: Levels | None, file: FileForm
) -> Schema:
    columns = tuple(one.column for one in found if one.column is not None)
    if not columns:
        raise SchemaError("No column of the table can be used as a feature.")
    return Schema(columns=columns, label=label, sensitive=sensitive, reviewed=False, file=file)


def _with_number_form(table: Any, names: Sequence[str], file: FileForm) -> FileForm:
    """The form of the file with the marks within its numbers, unless they are stated."""
    if (file.decimal, file.thousands) != (USUAL_FILE.decimal, USUAL_FILE.thousands):
        return file
    texts = []
    for name in names:
        column = as_series(get_column(table, name))
        some = column.to_list() if hasattr(column, "to_list") else np.asarray(column).tolist()
        words = [text for text in some[:5000] if isinstance(text, str)]
        texts.append([text for text in words if text not in MISSING_WORDS])
    decimal, thousands = find_number_form(texts)
    return replace(file, decimal=decimal, thousands=thousands)
