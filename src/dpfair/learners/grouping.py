"""The bins of every column in a few groups, so that pairs and triples have few cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.design import chunks
from dpfair.learners.detail import MOST, Detail
from dpfair.learners.features import coarse_column, coarse_sizes

__all__ = ["Block", "Grouping"]

Block = tuple[int, ...]
"""The positions of two or three columns, in increasing order."""

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Grouping:
    """Which group of its column every bin or category belongs to, by released numbers alone.

    Columns are in the order of :func:`~dpfair.learners.features.coarse_sizes`. ``pairs`` are the
    groups of a column in pairs, ``triples`` the fewer ones in triples.
    """

    schema: Schema
    pairs: tuple[Int64, ...]
    triples: tuple[Int64, ...]

    def __post_init__(self) -> None:
        sizes = [*coarse_sizes(self.schema).values()]
        for columns, most in (
            (self.pairs, MOST.pair_groups),
            (self.triples, MOST.triple_groups),
        ):
            if [len(groups) for groups in columns] != sizes:
                raise InputError("Expected a group for every bin of this schema.")
            if not all(((g >= 0) & (g < most)).all() for g in columns):
                raise InputError(f"Expected groups from 0 to {most - 1}.")

    @classmethod
    def by_mass(
        cls,
        schema: Schema,
        masses: Sequence[Float64],
        weights: Sequence[Float64],
        detail: Detail = MOST,
    ) -> Grouping:
        """Groups of about equal mass.

        Parameters
        ----------
        masses
            The noisy number of records of every bin.
        weights
            The linear weight of every bin: categories that are next to each other by weight share
            a group. The bins of a number keep their order.
        detail
            How many groups a column has at most.
        """
        numeric = len(schema.numeric)
        orders = [
            np.arange(len(weight)) if i < numeric else np.argsort(weight, kind="stable")
            for i, weight in enumerate(weights)
        ]
        pairs, triples = (
            tuple(_grouped(m, order, most) for m, order in zip(masses, orders, strict=True))
            for most in (detail.pair_groups, detail.triple_groups)
        )
        return cls(schema, pairs, triples)

    @cached_property
    def _counts(self) -> dict[int, list[int]]:
        """The number of groups of every column, by the number of columns of a block."""
        counted = {2: self.pairs, 3: self.triples}
        return {k: [int(groups.max()) + 1 for groups in v] for k, v in counted.items()}

    def shape(self, block: Block) -> tuple[int, ...]:
        """The numbers of groups of the columns of a block."""
        return tuple(self._counts[len(block)][column] for column in block)

    def size(self, block: Block) -> int:
        """The number of cells of a block."""
        return math.prod(self.shape(block))

    def cells(self, block: Block, records: Records) -> Codes:
        """The cell of every record in a block."""
        groups = self.pairs if len(block) == 2 else self.triples
        columns, step = [], self.size(block)
        for column, count in zip(block, self.shape(block), strict=True):
            step //= count
            codes, meaning = coarse_column(self.schema, records, column)
            columns.append((codes, (step * groups[column]).astype(np.uint16).take(meaning)))
        cells = np.empty(len(records), dtype=np.uint16)  # at most 8^3 of them
        for chunk in chunks(len(records)):
            cells[chunk] = sum(places.take(codes[chunk]) for codes, places in columns)
        return cells


def _grouped(masses: Float64, order: Int64, most: int) -> Int64:
    """Bins in this order, cut where the mass before their middle passes equal parts of it."""
    size = len(masses)
    if size <= most:
        return np.arange(size)
    mass = np.maximum(masses[order], 0)
    mass = mass if mass.sum() > 0 else np.ones(size)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    part = np.empty(size, dtype=np.int64)
    part[order] = np.minimum((most * middle).astype(np.int64), most - 1)
    # A large bin may leave a part empty; the others are numbered without a gap.
    return np.unique(part, return_inverse=True)[1].astype(np.int64)
