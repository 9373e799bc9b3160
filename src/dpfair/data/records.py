"""Rows of a table, encoded by a schema: what the rest of dpfair computes with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Records"]


@dataclass(frozen=True)
class Records:
    """Rows encoded by a schema.

    ``numeric`` holds clamped numbers with NaN for missing; ``codes`` the position of the
    category, or one past the last for *other*. ``irregular`` marks the records with a value that
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

    def identities(self) -> list[bytes]:
        """Bytes that identify each record: its person, or else its encoded features and group.

        Records without an identifier of their person do not all share one identity.
        """
        own = self._encoded()
        if self.units is None:
            return own
        return [
            repr(unit).encode() if unit else record
            for unit, record in zip(self.units.tolist(), own, strict=True)
        ]

    def _encoded(self) -> list[bytes]:
        if not len(self):
            return []
        numeric = np.where(np.isnan(self.numeric), np.nan, self.numeric + 0.0)  # -0.0 is 0.0
        parts = [
            np.ascontiguousarray(numeric.astype("<f8")).view(np.uint8).reshape(len(self), -1),
            np.ascontiguousarray(self.codes.astype("<i4")).view(np.uint8).reshape(len(self), -1),
            self.groups.astype("<i8").reshape(-1, 1).view(np.uint8),
        ]
        return [row.tobytes() for row in np.concatenate(parts, axis=1)]
