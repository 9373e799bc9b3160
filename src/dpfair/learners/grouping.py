"""The bins of every column in at most six groups, so that pairs and triples have few cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.features import coarse_codes, coarse_sizes

__all__ = ["MAX_GROUPS", "Block", "Grouping"]

MAX_GROUPS = 6

Block = tuple[int, ...]
"""The positions of two or three columns, in increasing order."""

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Codes = NDArray[np.uint8]


@dataclass(frozen=True)
class Grouping:
    """Which group of its column every bin or category belongs to, by released numbers alone.

    Columns are in the order of :func:`~dpfair.learners.features.coarse_sizes`.
    """

    schema: Schema
    groups: tuple[Int64, ...]

    def __post_init__(self) -> None:
        found = [len(groups) for groups in self.groups]
        if found != [*coarse_sizes(self.schema).values()]:
            raise InputError("Expected a group for every bin of this schema.")
        if not all(((g >= 0) & (g < MAX_GROUPS)).all() for g in self.groups):
            raise InputError(f"Expected groups from 0 to {MAX_GROUPS - 1}.")

    @classmethod
    def by_mass(
        cls, schema: Schema, masses: Sequence[Float64], weights: Sequence[Float64]
    ) -> Grouping:
        """Groups of about equal mass.

        Parameters
        ----------
        masses
            The noisy number of records of every bin.
        weights
            The linear weight of every bin: categories that are next to each other by weight share
            a group. The bins of a number keep their order.
        """
        numeric = len(schema.numeric)
        return cls(
            schema,
            tuple(
                _grouped(
                    mass, np.arange(len(mass)) if i < numeric else np.argsort(weight, kind="stable")
                )
                for i, (mass, weight) in enumerate(zip(masses, weights, strict=True))
            ),
        )

    @cached_property
    def counts(self) -> list[int]:
        """The number of groups of every column."""
        return [int(groups.max()) + 1 for groups in self.groups]

    def shape(self, block: Block) -> tuple[int, ...]:
        """The numbers of groups of the columns of a block."""
        return tuple(self.counts[column] for column in block)

    def size(self, block: Block) -> int:
        """The number of cells of a block."""
        return math.prod(self.shape(block))

    def codes(self, records: Records) -> list[Codes]:
        """The group of every record, per column."""
        bins = coarse_codes(self.schema, records).values()
        small = [groups.astype(np.uint8) for groups in self.groups]
        return [groups[code] for groups, code in zip(small, bins, strict=True)]

    def cells(self, block: Block, codes: Sequence[Codes]) -> Codes:
        """The cell of every record in a block: at most 6^3 of them, so one byte is enough."""
        cells = codes[block[0]].copy()
        for column, groups in zip(block[1:], self.shape(block)[1:], strict=True):
            cells *= np.uint8(groups)
            cells += codes[column]
        return cells


def _grouped(masses: Float64, order: Int64) -> Int64:
    """Bins in this order, cut where the mass before their middle passes a sixth of the total."""
    size = len(masses)
    if size <= MAX_GROUPS:
        return np.arange(size)
    mass = np.maximum(masses[order], 0)
    mass = mass if mass.sum() > 0 else np.ones(size)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    part = np.empty(size, dtype=np.int64)
    part[order] = np.minimum((MAX_GROUPS * middle).astype(np.int64), MAX_GROUPS - 1)
    # A large bin may leave a part empty; the others are numbered without a gap.
    return np.unique(part, return_inverse=True)[1].astype(np.int64)
