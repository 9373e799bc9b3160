"""Records in several parts, of which one at a time is looked at.

A part may be in memory or in temporary files. Sums of whole numbers do not
depend on how records are divided, and coins follow from the place of a record in the whole table,
so a fit gives the same model for any division, to the last bit.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Protocol, Self

from dpfair.data.records import Addends, Records
from dpfair.data.workspace import Workspace

__all__ = ["InParts", "Part", "added"]


_PART = 1 << 17
"""What the files of a part take beside the records: their ends, and their folders."""


class Part(Protocol):
    """Some of the records, wherever they are."""

    def __len__(self) -> int:
        """The number of records."""

    def total(self, measure: Callable[[Records], Addends]) -> Addends:
        """What the measure says about these records."""

    def map(self, change: Callable[[Records], Records]) -> Part:
        """The records after a change."""

    def forget(self) -> None:
        """Drop what was kept."""


@dataclass(frozen=True)
class InParts:
    """Records in parts."""

    parts: Sequence[Part]
    place: Workspace | None = field(default=None, compare=False, repr=False)
    """Where the temporary files are that the parts are in, if they are."""

    # A person may have records in several parts; nobody looks for them.
    units: None = None

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __sizeof__(self) -> int:
        """What the parts take, so that a cluster does not move them lightly."""
        return sum(map(sys.getsizeof, self.parts))

    def total(self, measure: Callable[[Records], Addends]) -> Addends:
        """Sums over all records."""
        return added(part.total(measure) for part in self.parts)

    def map(self, change: Callable[[Records], Records]) -> Self:
        """The records after a change of each of them alone."""
        return replace(self, parts=[part.map(change) for part in self.parts])

    def declared(self) -> Self:
        """The records of a declared group and label."""
        return self.map(Records.declared)

    def forget(self) -> None:
        """Drop what was kept."""
        for part in self.parts:
            part.forget()

    def check_room(self, each: int) -> None:
        """Refuse if there is no room for so many bytes more of every record."""
        if self.place is not None:
            # The number of records is not shown.
            why = f"this fit, which may write {each} bytes more for every record"
            self.place.check_room(each * len(self) + _PART * len(self.parts), why)

    def close(self) -> None:
        """Remove the temporary files."""
        if self.place is not None:
            self.place.close()


def added(found: Iterable[Addends]) -> Addends:
    """The sums of what was found in every part.

    >>> added([[1, 10], [2, 20]])
    [3, 30]
    """

    def plus(one: Any, two: Any) -> Any:
        return [_plus(a, b) for a, b in zip(one, two, strict=True)]

    total: Addends = reduce(plus, found)
    return total


def _plus(one: Any, two: Any) -> Any:
    if not isinstance(one, Counter):
        return one + two
    one.update(two)  # a sum would be a copy of all that was counted before
    return one
