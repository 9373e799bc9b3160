"""``dpfair methods``: what can be trained, and what can be set."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from dpfair.cli.options import AsJson
from dpfair.cli.output import print_json
from dpfair.errors import InputError
from dpfair.validate import did_you_mean

__all__ = ["described", "methods"]


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
    lines = _overview(found) if name is None else _details(found)
    print("\n".join(lines))


def described(name: str, kind: type[Any]) -> dict[str, Any]:
    """A method or a learner in a few words, with its settings."""
    from dpfair.cli.settings import settings_of

    first = (inspect.getdoc(kind) or "").partition("\n")[0]
    return {
        "name": name,
        "description": re.sub(r":\w+:|[`*]", "", first),  # without the marks of the docs
        "class": kind.__name__,
        "settings": {s.name: s.default for s in settings_of(kind()).values()},
    }


def _overview(found: dict[str, Any]) -> Iterator[str]:
    for option, rows in (("--method", found["methods"]), ("--learner", found["learners"])):
        yield f"{option} of dpfair fit"
        for row in rows:
            python = "" if row.get("command_line", True) else " (Python only)"
            yield f"  {row['name']:<15} {row['description']}{python}"
        yield ""
    yield "dpfair methods NAME shows the settings of one."


def _details(found: dict[str, Any]) -> Iterator[str]:
    for what, rows in (("method", found["methods"]), ("learner", found["learners"])):
        for row in rows:
            yield f"The {what} {row['name']}, in Python {row['class']}"
            yield f"  {row['description']}"
            if not row.get("command_line", True):
                yield "  It needs a classifier of yours, so it is used from Python."
            yield from _settings(row["settings"].items())
            yield ""


def _settings(settings: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """One line each, under the name of the group."""
    seen = None
    for name, default in settings:
        group, _, short = name.rpartition("__")
        if group != seen:
            yield f"  settings of the {group}:" if group else "  settings (--set name=value):"
            seen = group
        yield f"    {short:<18} {_text(default)}"


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
