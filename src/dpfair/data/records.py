"""Rows of a table, encoded by a schema: what the rest of dpfair computes with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.privacy.identities import text_rows
from dpfair.privacy.siphash import Rows

__all__ = ["Records"]


@dataclass(frozen=True)
class Records:
    """Rows encoded by a schema.

    ``numeric`` holds clamped numbers with NaN for missing; ``codes`` the position of the
    category, one past the last for *other*, and further on the buckets of words that are not
    listed, if the column is ``hashed``. ``irregular`` marks the records with a value that
    is missing, out of bounds or undeclared. ``units`` has the person that each record belongs to.

    A column without bounds has all numbers of the grid that they are counted on. A column without
    categories has the places of its ``words``, by the name of the column: all that occur, so they
    are private.
    """

    numeric: NDArray[np.float64]
    codes: NDArray[np.int32]
    groups: NDArray[np.int64]
    labels: NDArray[np.int64] | None = None
    irregular: NDArray[np.bool_] | None = None
    units: NDArray[Any] | None = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.groups)

    def take(self, rows: NDArray[Any] | slice) -> Records:
        """The chosen rows."""
        columns = {p.name: getattr(self, p.name) for p in fields(self) if p.name != "words"}
        return replace(self, **{k: v[rows] for k, v in columns.items() if v is not None})

    def with_labels(self, labels: NDArray[np.int64]) -> Records:
        """The same rows with label codes."""
        return replace(self, labels=labels)

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
        cells = self.groups if labels is None else labels * groups + self.groups
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
        n, numbers, categories = len(self), self.numeric.shape[1], self.codes.shape[1]
        rows = np.zeros((n, numbers + (categories + 1) // 2 + 1), dtype="<u8")
        # All kinds of NaN are one, and -0.0 is 0.0.
        rows[:, :numbers] = np.where(np.isnan(self.numeric), np.nan, self.numeric + 0.0).view("u8")
        rows[:, numbers:-1].view("<i4")[:, :categories] = self.codes
        rows[:, -1] = self.groups.astype(np.int64).view(np.uint64)
        return rows
