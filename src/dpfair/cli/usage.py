"""What is wrong with the words that were typed, in one plain sentence."""

from __future__ import annotations

import re
from typing import Any

from dpfair.validate import did_you_mean

__all__ = ["usage_sentence"]

_KINDS = {"float": "a number", "int": "a whole number", "integer": "a whole number"}


def usage_sentence(error: Any) -> str:
    """The sentence for one of typer's usage errors."""
    if (option := getattr(error, "option_name", None)) is not None and error.ctx is not None:
        known = [name for param in error.ctx.command.params for name in param.opts]
        return f"There is no option {option}{did_you_mean(option, known)}."
    param, found = getattr(error, "param", None), _kind_and_value(error)
    if param is not None and found is not None:
        kind, value = found
        return f"Expected {param.opts[0]} to be {kind}, got {value!r}."
    said = str(error.format_message())
    pattern = " Patterns and names with spaces need quotes." if "extra arg" in said else ""
    return f"{said}{pattern}"


def _kind_and_value(error: Any) -> tuple[str, str] | None:
    """What an option has to be and what it was, if it had to be a number.

    Newer versions of typer read values by pydantic, older ones by click.
    """
    if hasattr(error.__cause__, "errors"):
        [first, *_] = error.__cause__.errors()
        kind, value = first["type"].split("_")[0], str(first["input"])
    elif said := re.match(r"'(.*)' is not a valid (float|integer)\.", error.message or ""):
        value, kind = said.groups()
    else:
        return None
    return (_KINDS[kind], value) if kind in _KINDS else None
