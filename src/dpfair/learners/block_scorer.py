"""A trained linear scorer with corrections for the cells of pairs and triples of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.detail import MAX_BLOCKS, MOST
from dpfair.learners.features import coarse_sizes
from dpfair.learners.grouping import Block, Grouping
from dpfair.learners.protocols import Tensors
from dpfair.learners.scorer import LinearScorer, in_parts, probabilities

__all__ = ["BlockScorer"]

Float64 = NDArray[np.float64]

_NO_COLUMN = -1


@dataclass(frozen=True)
class BlockScorer:
    """The log-odds of a linear scorer plus one number per block, by the record's cell.

    Without a grouping it has no blocks: the linear scorer alone.
    """

    linear: LinearScorer
    grouping: Grouping | None = None
    blocks: tuple[Block, ...] = ()
    values: tuple[Float64, ...] = ()

    @classmethod
    def from_tensors(cls, schema: Schema, features: str, tensors: Tensors) -> BlockScorer:
        """The scorer of a file."""
        linear = LinearScorer.from_tensors(
            schema, features, {k: v for k, v in tensors.items() if k not in _TENSORS}
        )
        if _TENSORS.isdisjoint(tensors):
            return cls(linear)
        if not tensors.keys() >= _TENSORS:
            raise InputError("It does not hold all numbers of its blocks.")
        sizes = [*coarse_sizes(schema).values()]
        ends = np.cumsum(sizes)[:-1]
        most = {"pair_groups": MOST.pair_groups, "triple_groups": MOST.triple_groups}
        pairs, triples = (
            tuple(np.split(_whole(tensors[k], (sum(sizes),), 0, n - 1, "groups of bins"), ends))
            for k, n in most.items()
        )
        grouping = Grouping(schema, pairs, triples)
        blocks = _read_blocks(tensors["blocks"], len(sizes))
        last = np.cumsum([grouping.size(block) for block in blocks])
        cells = tensors["cells"]
        if cells.shape != (last[-1],) or not np.isfinite(cells).all():
            raise InputError(f"Expected {last[-1]} finite numbers for the cells of its blocks.")
        return cls(linear, grouping, blocks, tuple(np.split(cells, last[:-1])))

    @property
    def form(self) -> tuple[str, Schema]:
        """That of the linear scorer."""
        return self.linear.form

    def tensors(self) -> Tensors:
        """The linear weights; the group of every bin, the columns of every block, its cells."""
        if self.grouping is None:
            return self.linear.tensors()
        padded = [(*block, _NO_COLUMN)[:3] for block in self.blocks]
        return {
            **self.linear.tensors(),
            "pair_groups": np.concatenate(self.grouping.pairs).astype(np.float64),
            "triple_groups": np.concatenate(self.grouping.triples).astype(np.float64),
            "blocks": np.array(padded, dtype=np.float64),
            "cells": np.concatenate(self.values),
        }

    def scores(self, records: Records) -> Float64:
        """The estimated probability of the positive label, per record."""
        return probabilities(in_parts(self._odds, records))

    def _odds(self, records: Records) -> Float64:
        odds = self.linear.log_odds(records)
        if self.grouping is not None:
            for block, values in zip(self.blocks, self.values, strict=True):
                odds += values.take(self.grouping.cells(block, records))
        return odds


_TENSORS = frozenset({"pair_groups", "triple_groups", "blocks", "cells"})


def _read_blocks(tensor: Float64, columns: int) -> tuple[Block, ...]:
    """The columns of every block: two or three different ones, in increasing order."""
    if not 1 <= len(tensor) <= MAX_BLOCKS:
        raise InputError(f"Expected 1 to {MAX_BLOCKS} blocks.")
    whole = _whole(tensor, (len(tensor), 3), _NO_COLUMN, columns - 1, "columns of blocks")
    blocks = [tuple(row[:2] if row[2] == _NO_COLUMN else row) for row in whole.tolist()]
    if not all(block[0] > _NO_COLUMN and list(block) == sorted(set(block)) for block in blocks):
        raise InputError("Expected blocks of two or three columns in increasing order.")
    return tuple(blocks)


def _whole(
    tensor: Float64, shape: tuple[int, ...], low: int, high: int, what: str
) -> NDArray[np.int64]:
    # Comparisons are written so that NaN fails them.
    if tensor.shape != shape or not ((tensor >= low) & (tensor <= high)).all():
        raise InputError(f"Expected {what} from {low} to {high}, of shape {shape}.")
    whole = tensor.astype(np.int64)
    if (whole != tensor).any():
        raise InputError(f"Expected {what} to be whole numbers.")
    return whole
