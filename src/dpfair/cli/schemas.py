"""Where a fit's schema comes from: a file, a shipped data set, or a proposal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpfair.cli.output import say
from dpfair.data.schema import Schema
from dpfair.errors import InputError, SchemaError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["inferred", "propose", "with_columns"]


def inferred(
    frame: pl.DataFrame, label: str | None, sensitive: str | None, unit: str | None
) -> Schema:
    from dpfair.data.infer import infer_levels, infer_schema
    from dpfair.methods.inputs import MAX_GROUPS

    for given, option in ((label, "--label"), (sensitive, "--sensitive")):
        if given is None:
            raise InputError(f"Without a schema, {option} must name a column.")
    assert label is not None
    assert sensitive is not None
    columns = _group_columns(sensitive, frame.columns)
    for name in (label, *columns):
        if name not in frame.columns:
            listed = ", ".join(frame.columns[:20])
            raise SchemaError(f"The table has no column {name!r}; it has {listed}.")
    outcome = infer_levels(label, frame[label], what="label", most=2)
    leave_out = frozenset() if unit is None else frozenset([unit])
    if len(columns) > 1:
        return infer_schema(frame, outcome, None, leave_out=leave_out).with_sensitive(columns)
    [name] = columns
    groups = infer_levels(name, frame[name], what="sensitive column", most=MAX_GROUPS)
    return infer_schema(frame, outcome, groups, leave_out=leave_out)


def propose(schema: Schema, frame: pl.DataFrame, *, as_json: bool) -> None:
    """Print the draft and stop: a person has to look at it."""
    if not as_json:
        print(schema.to_toml())
    known = {c.name for c in schema.columns} | {schema.label.name}
    known |= set(schema.sensitive.column_names) if schema.sensitive else set()
    left = [c for c in frame.columns if c not in known]
    if left:
        say(f"dpfair: left out (constant, or like an identifier): {', '.join(left)}.")
    raise InputError(
        "No schema given. The proposed one was read off the data, which is not private: correct it "
        "by what you know, delete the line 'inferred = true', save it and pass it with --schema, "
        "or accept the leak with --infer-schema."
    )


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
