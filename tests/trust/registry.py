"""Where detectors are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

__all__ = ["DETECTORS", "detector"]

DETECTORS: dict[str, Callable[[int], list[str]]] = {}


def detector(name: str) -> Callable[[Callable[[int], Iterator[str]]], None]:
    """Register a detector that yields what is wrong."""

    def register(look: Callable[[int], Iterator[str]]) -> None:
        DETECTORS[name] = lambda seed: list(look(seed))

    return register
