"""Schemas as TOML or JSON files and as plain data, by the tables of facts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfair.data.columns import COLUMN_KINDS, MAX_CATEGORIES, Categorical, Column, Levels
from dpfair.data.facts import column_name, items, known_entries
from dpfair.errors import SchemaError
from dpfair.validate import did_you_mean

if TYPE_CHECKING:
    from dpfair.data.schema import Schema

__all__ = ["from_dict", "from_toml", "load", "read_groups", "to_dict", "to_toml"]


def load(schema: type[Schema], path: Path) -> Schema:
    """Read a TOML or JSON file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SchemaError(f"There is no schema file {path}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"Cannot read {path}.") from error
    try:
        if path.suffix == ".json":
            return from_dict(schema, json.loads(text))
        return from_toml(schema, text)
    except json.JSONDecodeError as error:
        raise SchemaError(f"The schema file {path} is not valid JSON: {error}.") from error
    except RecursionError as error:
        raise SchemaError(f"The schema file {path} is nested too deeply.") from error


def from_toml(schema: type[Schema], text: str) -> Schema:
    """Read a schema from TOML text."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"The schema is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise SchemaError("The schema is nested too deeply.") from error
    return from_dict(schema, data)


def from_dict(schema: type[Schema], data: dict[str, Any]) -> Schema:
    """Build a schema from plain data."""
    try:
        _refuse_old_entries(data)
        known_entries(data, ("columns", *(fact.name for fact in schema.facts)), "schema")
        if len(data["columns"]) > MAX_CATEGORIES:
            raise SchemaError(f"The schema has more than {MAX_CATEGORIES} columns.")
        columns = tuple(_column(c) for c in data["columns"])
        found = _facts(schema, data)
        if isinstance(found.get("sensitive"), tuple):
            found["sensitive"] = _intersection(found["sensitive"], columns)
        return schema(columns=columns, **found)
    except KeyError as error:
        raise SchemaError(f"The schema lacks {error.args[0]!r}.") from error
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError("The schema does not have the documented form.") from error


def read_groups(data: dict[str, Any] | None, where: str) -> Levels | tuple[str, ...] | None:
    """Read the groups of one column, or the names of several columns that are combined."""
    if data is None:
        return None
    if "columns" not in data:
        return Levels.from_dict(data, where)
    known_entries(data, ("columns",), where)
    return tuple(map(column_name, items(data["columns"], "columns")))


def to_dict(schema: Schema) -> dict[str, Any]:
    """The schema as plain data."""
    return _entries(schema) | {
        "columns": [{"name": c.name, "kind": c.kind, **_entries(c)} for c in schema.columns]
    }


def to_toml(schema: Schema) -> str:
    """The schema as TOML: plain entries first, then file, label and groups, then the columns."""
    data = to_dict(schema)
    columns = data.pop("columns")
    nested = {name: value for name, value in data.items() if isinstance(value, dict)}
    blocks = [_toml_lines({name: v for name, v in data.items() if name not in nested})]
    blocks += [f"[{name}]\n{_toml_lines(value)}" for name, value in nested.items()]
    blocks += [f"[[columns]]\n{_toml_lines(column)}" for column in columns]
    return "\n".join(block for block in blocks if block)


def _refuse_old_entries(data: dict[str, Any]) -> None:
    if isinstance(data, dict) and "inferred" in data:
        raise SchemaError("The entry 'inferred = true' is now 'reviewed = false'.")


def _column(data: dict[str, Any]) -> Column:
    kind, name = data["kind"], column_name(data["name"])
    for known in COLUMN_KINDS:
        if known.kind == kind:
            known_entries(data, ("name", "kind", *(fact.name for fact in known.facts)), name)
            return known(name, **_facts(known, data))
    kinds = [known.kind for known in COLUMN_KINDS]
    raise SchemaError(
        f"Column {name!r} must be of kind {' or '.join(kinds)}, got {kind!r}"
        f"{did_you_mean(kind, kinds)}."
    )


def _intersection(names: tuple[str, ...], columns: Sequence[Column]) -> Levels:
    found = {c.name: c for c in columns if isinstance(c, Categorical)}
    if len(names) < 2 or len(set(names)) != len(names) or not set(names) <= set(found):
        raise SchemaError("Groups by several columns need at least two categorical ones.")
    return Levels.intersection([Levels(name, found[name].values) for name in names])


def _facts(kind: type[Schema] | type[Column], data: dict[str, Any]) -> dict[str, Any]:
    stated = [fact for fact in kind.facts if fact.name in data or fact.required(kind)]
    return {fact.name: fact.read(data[fact.name], fact.name) for fact in stated}


def _entries(owner: Schema | Column) -> dict[str, Any]:
    return {fact.name: fact.entry(owner) for fact in owner.facts if fact.declared(owner)}


def _toml_lines(data: dict[str, Any]) -> str:
    # JSON numbers, lists and strings are valid TOML values, but for pairs of surrogates (so no \u
    # escapes) and the character DEL.
    lines = (f"{name} = {json.dumps(v, ensure_ascii=False)}\n" for name, v in data.items())
    return "".join(lines).replace("\x7f", "\\u007f")
