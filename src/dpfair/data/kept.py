"""Arrays that were derived from records and are needed again, as long as a fit needs them."""

from __future__ import annotations

import threading
from collections.abc import MutableMapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Drawer", "Kept"]


class Drawer:
    """Arrays that were made for one purpose, by name.

    Attributes
    ----------
    key
        What they were made for.
    note
        A small object that belongs to them, None at first. While they are changed it has to be
        None, so that a change that breaks off is not taken for a finished one.
    """

    def __init__(self, key: object) -> None:
        self.key = key
        self.note: Any = None
        self.arrays: MutableMapping[str, NDArray[Any]] = {}

    def close(self) -> None:
        """Free what the arrays take."""
        self.arrays.clear()

    def empty(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """A new array, to be filled."""
        self.arrays[name] = np.empty(shape, dtype)
        return self.arrays[name]


class Kept:
    """What is kept of some records: a drawer for every purpose.

    A copy in another process keeps nothing: all of it can be derived again.

    Attributes
    ----------
    lock
        To be held by whoever looks at the records where several threads may do so.
    """

    def __init__(self) -> None:
        self._drawers: dict[str, Drawer] = {}
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()

    def drawer(self, purpose: str, key: object) -> Drawer:
        """The drawer of a purpose; an empty one if the last was filled for another key."""
        found = self._drawers.get(purpose)
        if found is None or found.key != key:
            if found is not None:
                found.close()  # before there is another one
            found = self._drawers[purpose] = self.new_drawer(purpose, key)
        return found

    def new_drawer(self, purpose: str, key: object) -> Drawer:
        """An empty drawer."""
        return Drawer(key)

    def clear(self) -> None:
        """Keep nothing."""
        for drawer in self._drawers.values():
            drawer.close()
        self._drawers.clear()
