"""Rows of a table, encoded by a schema: what the rest of dpfair computes with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpfair.data.compact import Numbers
from dpfair.data.kept import Kept
from dpfair.privacy.identities import text_rows
from dpfair.privacy.siphash import Rows

__all__ = ["Addends", "Codes", "Records", "number_words", "smallest"]

Codes = NDArray[np.unsignedinteger[Any]]

Addends = TypeVar("Addends", bound=Sequence[Any])
"""Whole numbers that are added up: a sequence of integer arrays or of counters."""


@dataclass(frozen=True, repr=False)  # a log of a cluster may show what a task was called with
class Records:
    """Rows encoded by a schema, in columns of the smallest type.

    ``numeric`` holds clamped numbers with NaN for missing; ``codes`` the position of the
    category, one past the last for *other*, and further on the buckets of words that are not
    listed, if the column is ``hashed``. ``irregular`` marks the records with a value that
    is missing, out of bounds or undeclared. ``units`` has the person that each record belongs to.
    Groups and labels have the code -1 if they are undeclared.

    A column without bounds has all numbers of the grid that they are counted on. A column without
    categories has the places of its ``words``, by the name of the column: all that occur, so they
    are private.

    ``first`` is the place of the first record in the whole table, and ``offsets`` are the places
    behind it of chosen records. Coins of a record follow from its place, wherever it is held.
    ``kept`` holds what was derived from the records and is needed again.
    """

    numeric: Sequence[Numbers]
    codes: Sequence[Codes]
    groups: NDArray[np.signedinteger[Any]]
    labels: NDArray[np.int8] | None = None
    irregular: NDArray[np.bool_] | None = None
    units: NDArray[Any] | None = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    first: int = 0
    offsets: NDArray[np.uint32] | None = field(default=None, compare=False)
    kept: Kept = field(default_factory=Kept, init=False, compare=False, repr=False)

    @classmethod
    def of_arrays(
        cls, numeric: Any, codes: Any, groups: Any, labels: Any = None, **more: Any
    ) -> Records:
        """Records from arrays [record, column].

        >>> Records.of_arrays([[0.5], [1.0]], [[3], [2]], [0, 1]).groups.dtype
        dtype('int8')
        """
        return cls(
            tuple(Numbers.compact(column) for column in np.asarray(numeric, np.float64).T),
            tuple(map(smallest, np.asarray(codes, np.int64).T)),
            np.asarray(groups, dtype=np.int8),
            None if labels is None else np.asarray(labels, dtype=np.int8),
            **more,
        )

    def __len__(self) -> int:
        return len(self.groups)

    def __sizeof__(self) -> int:
        """What the columns take, so that a cluster does not move them lightly."""
        numbers = (c.values if c.codes is None else c.codes for c in self.numeric)
        rest = (self.groups, self.labels, self.irregular, self.offsets)
        arrays = (*numbers, *self.codes, *(array for array in rest if array is not None))
        return sum(array.nbytes for array in arrays)

    def take(self, rows: NDArray[Any] | slice) -> Records:
        """The chosen rows."""
        others = {n: getattr(self, n) for n in ("labels", "irregular", "units")}
        return replace(
            self,
            numeric=tuple(column.take(rows) for column in self.numeric),
            codes=tuple(column[rows] for column in self.codes),
            groups=self.groups[rows],
            **self._placed(rows),
            **{name: column[rows] for name, column in others.items() if column is not None},
        )

    def _placed(self, rows: NDArray[Any] | slice) -> dict[str, Any]:
        """The first place and the offsets of the chosen rows."""
        if self.offsets is not None:
            return {"offsets": self.offsets[rows]}
        if isinstance(rows, slice) and rows.indices(len(self))[2] == 1:
            return {"first": self.first + rows.indices(len(self))[0]}
        return {"offsets": np.arange(len(self), dtype=np.uint32)[rows]}

    @property
    def places(self) -> NDArray[np.uint64]:
        """The place of every record in the whole table."""
        first = np.uint64(self.first)
        if self.offsets is None:
            return first + np.arange(len(self), dtype=np.uint64)
        return first + self.offsets.astype(np.uint64)

    def total(self, measure: Callable[[Records], Addends]) -> Addends:
        """Sums over the records: of whole numbers, so the same however records are divided."""
        return measure(self)

    def map(self, change: Callable[[Records], Records]) -> Records:
        """The records after a change of each of them alone."""
        return change(self)

    def keeping(self, kept: Kept) -> Records:
        """These records, with another place for what is derived from them."""
        object.__setattr__(self, "kept", kept)
        return self

    def forget(self) -> None:
        """Drop what was kept."""
        self.kept.clear()

    def with_labels(self, labels: NDArray[Any]) -> Records:
        """The same rows with label codes."""
        return replace(self, labels=labels.astype(np.int8, copy=False))

    def in_first_group(self) -> Records:
        """The same rows, with rows of an undeclared group moved to the first group."""
        return replace(self, groups=np.maximum(self.groups, 0))

    def declared(self) -> Records:
        """The rows of a declared group and, if labels are known, a declared label."""
        known = self.groups >= 0
        if self.labels is not None:
            known &= self.labels >= 0
        return self if known.all() else self.take(known)

    def counts(self, by: Sequence[str], groups: int) -> NDArray[np.int64]:
        """How many records there are, by ``"group"`` and ``"label"`` (labels first), or in all."""
        if not by:
            return np.array([len(self)])
        labels = self.labels if "label" in by else None
        cells = self.groups if labels is None else labels * np.int64(groups) + self.groups
        return np.bincount(cells, minlength=groups * (1 if labels is None else 2))

    def identities(self) -> Rows:
        """Words that identify each record: its person, or else its encoded features and group.

        Records without an identifier of their person do not all share one identity.
        """
        if self.units is None:
            return self._encoded()
        named = self.units.astype(bool)  # not None, and no empty text
        own = self.take(~named)._encoded()
        rows = np.zeros((len(self), 1 + max(own.shape[1], 2)), dtype=np.uint64)
        rows[:, 0] = named  # so that no record can pass for a person
        rows[named, 1:3] = text_rows(self.units[named].tolist())
        rows[~named, 1 : 1 + own.shape[1]] = own
        return rows

    def _encoded(self) -> Rows:
        n, numbers, categories = len(self), len(self.numeric), len(self.codes)
        rows = np.zeros((n, numbers + (categories + 1) // 2 + 1), dtype="<u8")
        for i, column in enumerate(self.numeric):
            rows[:, i] = number_words(column)
        halves = rows[:, numbers:-1].view("<i4")
        for i, codes in enumerate(self.codes):
            halves[:, i] = codes
        rows[:, -1] = self.groups.astype(np.int64).view(np.uint64)
        return rows


def number_words(column: Numbers) -> NDArray[np.uint64]:
    """The bits of every number; all kinds of NaN are one, and -0.0 is 0.0."""
    words: NDArray[np.uint64] = column.map(
        lambda values: np.where(np.isnan(values), np.nan, values + 0.0).view("<u8")
    )
    return words


def smallest(codes: NDArray[np.integer[Any]], most: int | None = None) -> Codes:
    """Codes of at most ``most`` (their largest, by default) in the smallest type."""
    most = int(codes.max(initial=0)) if most is None else most
    return codes.astype(np.min_scalar_type(most), copy=False)
