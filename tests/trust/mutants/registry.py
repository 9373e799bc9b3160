"""How a broken variant of the library is made and where it is listed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from trust.broken_noise import again

__all__ = ["MUTANTS", "Mutant", "again", "mutant", "patched"]


@dataclass(frozen=True)
class Mutant:
    """One broken promise."""

    name: str
    broken: Callable[[], Any]
    caught_by: tuple[str, ...]


MUTANTS: list[Mutant] = []


def mutant(
    name: str, *caught_by: str, instead_of: tuple[Any, str] | None = None
) -> Callable[[Callable[..., Any]], None]:
    """Register a context manager under which the library is broken.

    With ``instead_of``, the owner and the name of an attribute, the decorated function replaces
    that attribute. Collecting doctests reads a module a second time; its mutants are then
    registered already.
    """

    def register(broken: Callable[..., Any]) -> None:
        change = None if instead_of is None else (*instead_of, broken)
        context = contextmanager(broken) if change is None else lambda: patched(change)
        if all(name != known.name for known in MUTANTS):
            MUTANTS.append(Mutant(name, context, caught_by))

    return register


def patched(*changes: tuple[Any, str, Any]) -> ExitStack:
    """Several attributes replaced at once.

    What the sound code has computed must not hide the broken one, nor the other way round.
    """
    stack = ExitStack()
    _forget()
    stack.callback(_forget)
    for owner, name, value in changes:
        stack.enter_context(patch.object(owner, name, value))
    return stack


def _forget() -> None:
    for name in [n for n in sys.modules if n.startswith(("dpfair.fairness", "dpfair.privacy"))]:
        for value in list(vars(sys.modules[name]).values()):
            if hasattr(value, "cache_clear"):
                value.cache_clear()
