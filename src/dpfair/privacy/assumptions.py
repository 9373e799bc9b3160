"""Exact facts about the records that a method takes as public.

Such a fact is a number of records, counted by some parts of a record. It is a function of those
parts and of the membership of the records: their number, the scope that a record's coin assigns it
to, and whether its group and its label are declared, because undeclared ones are left out.

The text of a fact in a certificate is derived from the parts, so it always names all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from dpfair import validate

__all__ = ["GROUP_SIZES", "MEMBERSHIP", "NO_FACTS", "PARTS", "Assumption", "Facts"]

MEMBERSHIP = "membership"
"""The membership of the records; every assumption depends on it."""

PARTS = ("group", "label")


@dataclass(frozen=True)
class Assumption:
    """The number of records by some of :data:`PARTS`, among the records of a scope.

    Examples
    --------
    >>> Assumption().text
    'the number of records'
    >>> Assumption(("group", "label"), "release").text
    'the number of records of each group and label in the release scope'
    """

    by: tuple[str, ...] = ()
    scope: str = ""

    def __post_init__(self) -> None:
        for part in self.by:
            validate.one_of(PARTS, by=part)

    @property
    def text(self) -> str:
        """The fact as certificates list it."""
        each = f" of each {' and '.join(self.by)}" if self.by else ""
        where = f" in the {self.scope} scope" if self.scope else ""
        return f"the number of records{each}{where}"


GROUP_SIZES = Assumption(("group",), "release")
"""The fact that the paper takes as public about the records its rates are estimated on."""

Facts = Mapping[Assumption, NDArray[Any]]
"""Assumed facts with their exact values."""

NO_FACTS: Facts = MappingProxyType({})
