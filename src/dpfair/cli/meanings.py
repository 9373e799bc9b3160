"""What every parameter of a method or a learner means, read from the docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["meanings", "plain_words"]


def meanings(model: Any) -> dict[str, str]:
    """The meaning of every documented setting of a method or a learner, by full name."""
    found = _own(type(model))
    groups: dict[str, Any] = model.nested() if hasattr(model, "nested") else {}
    for group, settings in groups.items():
        found |= {f"{group}__{name}": text for name, text in _own(type(settings)).items()}
    return found


def plain_words(text: str) -> str:
    """A docstring's text without the marks of the docs.

    >>> plain_words('``"merge"`` or a :class:`~dpfair.methods.settings.FairRule`, **not** both')
    '"merge" or a FairRule, not both'
    """
    text = re.sub(r",? see :\w+:`[^`]*`", "", text)  # a page that is not at hand
    text = re.sub(r":\w+:`~?([\w.]*\.)?(\w+)`", r"\2", text)
    text = re.sub(r":\w+:`([^`]*)`", r"\1", text)
    return re.sub(r"``|\*\*", "", text)


def _own(kind: type[Any]) -> dict[str, str]:
    """The parameters of a class; where it says "as in" another class, what that one says."""
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        for name, text in _documented(owner):
            found[name] = _followed(name, text)
    return {name: plain_words(text) for name, text in found.items()}


def _followed(name: str, text: str) -> str:
    as_in = re.match(r"As in :class:`[~\w.]*?(\w+)`", text)
    if as_in is None:
        return text
    other = dict(_documented(_classes()[as_in[1]])).get(name)
    return text if other is None else _followed(name, other)


def _classes() -> dict[str, type[Any]]:
    """The classes that docstrings refer to, by name."""
    from dpfair.learners import LEARNERS
    from dpfair.methods import METHODS
    from dpfair.methods.settings import Division, FairRule

    kinds = (*METHODS.values(), *LEARNERS.values(), Division, FairRule)
    return {owner.__name__: owner for kind in kinds for owner in kind.__mro__}


def _documented(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """(parameter, text) of the section "Parameters" of the class's own docstring."""
    own = vars(kind).get("__doc__")
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", inspect.cleandoc(own or ""), re.M | re.S
    )
    if section is None:
        return
    entries = re.finditer(r"((?:^\S.*\n)+)((?:^ .*(?:\n|\Z)|^\n)+)", section[1], re.M)
    for entry in entries:
        text = " ".join(entry[2].split())
        for name in entry[1].replace("\n", " ").split(","):
            yield name.strip(), text
