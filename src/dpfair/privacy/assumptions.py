"""Exact facts about the records that a method takes as public.

Such a fact is a number of records, counted by some parts of a record. It is a function of those
parts and of which records there are: of their number, of the scope that a record's coin sends it to
and of whether its group and its label are declared, because undeclared ones are left out.

The words in which a certificate lists a fact are derived from the parts, so they cannot
say less than the fact uses.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpfair import validate

__all__ = ["MEMBERSHIP", "PARTS", "Assumption"]

MEMBERSHIP = "membership"
"""Which records there are; every assumption depends on it."""

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
