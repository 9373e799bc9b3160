"""Tables of classes by name. A class is imported when it is first looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["Registry"]

T = TypeVar("T", bound=type[Any])


class Registry(MutableMapping[str, T]):
    """Classes by the names that files and the command line use.

    Commands that only need a name, or one of the classes, do not wait for the others: scikit-learn
    and the accountants take longer to import than most commands take.

    Parameters
    ----------
    package, homes
        ``"module:Class"`` by name, the module relative to the package.

    Examples
    --------
    >>> kinds = Registry("dpfair.data", {"schema": "schema:Schema"})
    >>> list(kinds), kinds["schema"].__name__
    (['schema'], 'Schema')
    """

    def __init__(self, package: str, homes: Mapping[str, str]) -> None:
        self._package = package
        self._homes: dict[str, str | T] = dict(homes)

    def __getitem__(self, name: str) -> T:
        home = self._homes[name]
        if isinstance(home, str):
            module, _, found = home.partition(":")
            home = self._homes[name] = getattr(import_module(f"{self._package}.{module}"), found)
        return home

    def __setitem__(self, name: str, kind: T) -> None:
        self._homes[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._homes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes  # without an import
