"""What a contender prepares, and what is measured of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Call", "Command", "repeated"]


@dataclass(frozen=True)
class Call:
    """A call in this process, and the units of work that it does (steps, rows, bytes)."""

    run: Callable[[], Any]
    units: float = 1


@dataclass(frozen=True)
class Command:
    """A command in a process of its own, and the units of work that it does."""

    arguments: Sequence[str]
    units: float = 1


def repeated(run: Callable[[], Any], units: float, times: int = 20) -> Call:
    """A short call so often that the clock is fine enough for it."""

    def often() -> None:
        for _ in range(times):
            run()

    return Call(often, times * units)
