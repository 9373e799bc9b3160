"""``dpfair methods``: what can be trained, and what can be set."""

from __future__ import annotations

import inspect
from textwrap import wrap
from typing import Annotated, Any

import typer

from dpfair.cli.looks import print_table
from dpfair.cli.meanings import meanings, plain_words
from dpfair.cli.options import AsJson
from dpfair.cli.output import print_json
from dpfair.errors import InputError
from dpfair.validate import did_you_mean

__all__ = ["described", "methods"]

WIDTH, INDENT = 88, " " * 8
"""Of the meanings in plain text."""


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A method or a learner of the list.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods and learners; with NAME, its settings and their defaults."""
    from dpfair.cli.settings import either, methods_from_tables
    from dpfair.learners import LEARNERS
    from dpfair.methods import METHODS

    if name is not None and name not in {**METHODS, **LEARNERS}:
        raise InputError(
            f"Expected the method {either(METHODS)} or the learner {either(LEARNERS)}, "
            f"got {name!r}{did_you_mean(name, {**METHODS, **LEARNERS})}."
        )
    able = methods_from_tables()
    found = {
        "methods": [
            {**described(n, kind), "command_line": n in able}
            for n, kind in METHODS.items()
            if name in (None, n)
        ],
        "learners": [described(n, kind) for n, kind in LEARNERS.items() if name in (None, n)],
    }
    if as_json:
        print_json(found)
        return
    if name is None:
        _print_overview(found)
    else:
        _print_details(found)


def described(name: str, kind: type[Any]) -> dict[str, Any]:
    """A method or a learner in a few words, with its settings."""
    from dpfair.cli.settings import settings_of

    first, model = (inspect.getdoc(kind) or "").partition("\n")[0], kind()
    settings, known = settings_of(model), meanings(model)
    return {
        "name": name,
        "description": plain_words(first),
        "class": kind.__name__,
        "settings": {s.name: s.default for s in settings.values()},
        "meanings": {setting: known.get(setting, "") for setting in settings},
    }


def _print_overview(found: dict[str, Any]) -> None:
    for option, rows in (("--method", found["methods"]), ("--learner", found["learners"])):
        cells = [
            (
                row["name"],
                row["description"] + ("" if row.get("command_line", True) else " (Python only)"),
            )
            for row in rows
        ]
        title = f"{option} of dpfair fit"
        plain = [title, *(f"  {name:<15} {text}" for name, text in cells), ""]
        print_table(("name", "what it is"), cells, plain, title=title)
    print("dpfair methods NAME shows the settings of one.")


def _print_details(found: dict[str, Any]) -> None:
    for what, rows in (("method", found["methods"]), ("learner", found["learners"])):
        for row in rows:
            print(f"The {what} {row['name']}, in Python {row['class']}")
            print(f"  {row['description']}")
            if not row.get("command_line", True):
                print("  It needs a classifier of yours, so it is used from Python.")
            _print_settings(row["settings"], row["meanings"])


def _print_settings(settings: dict[str, Any], known: dict[str, str]) -> None:
    """The defaults and their meaning, in a table for every group of settings."""
    groups: dict[str, list[str]] = {}
    for name in settings:
        groups.setdefault(name.rpartition("__")[0], []).append(name)
    for group, names in groups.items():
        title = f"settings of the {group}:" if group else "settings (--set name=value):"
        rows = [(n.rpartition("__")[2], _text(settings[n]), known[n]) for n in names]
        plain = [f"  {title}"]
        for short, default, meaning in rows:
            plain.append(f"    {short:<18} {default}")
            plain += wrap(meaning, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
        print_table(("setting", "default", "meaning"), rows, [*plain, ""], title=title)


def _text(value: Any) -> str:
    """A default as it would be typed.

    >>> _text((1.0, 5.0)), _text(None), _text(True)
    ('1,5', 'none', 'true')
    """
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
