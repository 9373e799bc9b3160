"""Where a fit's schema comes from: a file, a shipped data set, or a proposal."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpfair.cli.output import say
from dpfair.errors import InputError, SchemaError

if TYPE_CHECKING:
    import polars as pl

    from dpfair.data.file_form import FileForm
    from dpfair.data.proposal import Proposal
    from dpfair.data.schema import Schema

__all__ = [
    "inferred",
    "proposed",
    "refuse_parts",
    "refuse_unreviewed",
    "say_notes",
    "stop_with",
    "with_columns",
]


def proposed(
    frame: pl.DataFrame,
    label: str | None,
    sensitive: str | None,
    *,
    accept: str | None = None,
    unit: str | None = None,
    file: FileForm | None = None,
) -> Proposal:
    """A proposal for a table; the options name its label and its groups."""
    from dpfair.data.file_form import USUAL_FILE
    from dpfair.data.proposal import propose

    for given, option in ((label, "--label"), (sensitive, "--sensitive")):
        if given is None:
            raise InputError(f"Without a schema, {option} must name a column.")
    assert label is not None
    assert sensitive is not None
    columns = _group_columns(sensitive, frame.columns)
    return propose(
        frame,
        label=label,
        sensitive=columns if len(columns) > 1 else columns[0],
        accept=accept,
        file=USUAL_FILE if file is None else file,
        leave_out=() if unit is None else (unit,),
    )


def inferred(proposal: Proposal) -> Schema:
    """The schema of a proposal that nobody has finished, for a model that is not private."""
    if proposal.other_labels:
        raise SchemaError(
            f"The label {proposal.schema.label.name!r} must have exactly two values, got "
            f"{2 + len(proposal.other_labels)}. The command dpfair schema propose shows them; "
            "declare the two that count in a schema."
        )
    say_notes(proposal)
    return proposal.schema


def stop_with(proposal: Proposal, source: str, *, as_json: bool) -> None:
    """Print the draft and stop: a person has to look at it."""
    if not as_json:
        print(proposal.to_toml(source))
    say_notes(proposal)
    raise InputError(
        "No schema given. The proposed one was read off the data, which is not private: save it "
        "(dpfair schema propose --out writes it to a file), correct it by what you know, write "
        "reviewed = true, and pass it with --schema, or accept the leak with --infer-schema."
    )


def refuse_parts(file: str, *, inferring: bool) -> None:
    """No schema is read off a table that is not in memory; say how to get one."""
    if inferring:
        raise InputError(
            "--infer-schema needs the table in memory: give one file and leave out --memory, or "
            "pass a schema with --schema."
        )
    raise InputError(
        "No schema given, and none is read off DATA that is read some rows at a time: propose one "
        f"from one file (dpfair schema propose {shlex.quote(file)} --label COLUMN --sensitive "
        "COLUMN --out schema.toml), correct it by what you know, write reviewed = true, and pass "
        "it with --schema."
    )


def refuse_unreviewed(schema: Schema, path: Path | None) -> None:
    """A ledger pays for private work only; say what is missing."""
    if schema.reviewed:
        return
    if path is None:
        raise InputError(
            "A ledger pays for private work only, and --infer-schema is not: pass a reviewed "
            "schema with --schema (dpfair schema propose drafts one)."
        )
    raise InputError(
        f"A ledger pays for private work only, and {path} says reviewed = false: correct the lines "
        "marked as read off the data by what is publicly known, then write reviewed = true."
    )


def say_notes(proposal: Proposal) -> None:
    """What a person should know about a proposal, on standard error."""
    for note in proposal.notes:
        say(f"dpfair: {note}")


def with_columns(schema: Schema, label: str | None, sensitive: str | None) -> Schema:
    """The schema with the groups where the options say; a fit without any warns of it."""
    if label is not None and label != schema.label.name:
        raise SchemaError(
            f"The schema declares the label in {schema.label.name!r}, not in {label!r}."
        )
    if sensitive is not None:
        known = [column.name for column in schema.columns]
        known += schema.sensitive.column_names if schema.sensitive else ()
        columns = _group_columns(sensitive, known)
        schema = schema.with_sensitive(columns if len(columns) > 1 else columns[0])
    return schema


def _group_columns(text: str, known: Sequence[str]) -> list[str]:
    """One column, or several with commas between them."""
    return [text] if text in known else [name.strip() for name in text.split(",")]
