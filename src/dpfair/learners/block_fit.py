"""A linear model that gets corrections, block after block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.learners.block_scorer import BlockScorer
from dpfair.learners.design import chunks
from dpfair.learners.detail import MOST
from dpfair.learners.exact import Grid
from dpfair.learners.grouping import Block, Grouping
from dpfair.learners.leaf_sums import SENSITIVITY, whole_leaf_sums
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.visits import CellSums, Interaction, visit
from dpfair.privacy.events import step_event
from dpfair.privacy.ledger import Receipt

__all__ = ["BlockFit", "VisitSums"]

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

_SCREEN_RATE = 0.3

# The pairs that are asked a second time, the part of the draws for each of them, and the part of
# the others for the first visits of all blocks.
_CONFIRMED, _CONFIRMING_PART, _FIRST_PART = 4, 0.02, 0.64


@dataclass(frozen=True, eq=False)
class VisitSums:
    """The exact sums of a block's cells, by the log-odds that follow from all corrections so far.

    The log-odds are kept with the records, and moved by the corrections that they do not have yet.
    They are made anew where they are lost, or have more corrections than are asked for: a computer
    of a cluster may be replaced, and may answer a question again after a later one.
    """

    fit: str
    linear: LinearScorer
    grouping: Grouping
    moves: tuple[tuple[Block, Float64], ...]
    block: Block
    unit: float

    def __call__(self, records: Records) -> tuple[Int64]:
        assert records.labels is not None
        drawer = records.kept.drawer("odds", self.fit)
        if drawer.note is None or drawer.note[0] > len(self.moves):
            drawer.note = None
            drawer.empty("odds", (len(records),), np.float64)[:] = self.linear.log_odds(records)
            drawer.empty("cells", (len(records),), np.uint16)
            drawer.note = 0, None  # corrections, and the block of the cells
        odds, cells = drawer.arrays["odds"], drawer.arrays["cells"]
        (done, held), drawer.note = drawer.note, None
        for block, moved in self.moves[done:]:
            if block != held:
                cells[:] = self.grouping.cells(block, records)
                held = block
            for chunk in chunks(len(cells)):
                odds[chunk] += moved.take(cells[chunk])
        if self.block != held:
            cells[:] = self.grouping.cells(self.block, records)
        drawer.note = len(self.moves), self.block
        size = self.grouping.size(self.block)
        return (whole_leaf_sums(cells, records.labels, odds, size, self.unit),)


class BlockFit:
    """The released corrections so far, of records that are asked for sums only.

    Parameters
    ----------
    draws, multiplier
        How many draws there are after the screen, and their noise.

    Attributes
    ----------
    found
        What the pairs have shown, when they were asked last.
    left
        The number of draws that were not used.
    """

    def __init__(
        self,
        linear: LinearScorer,
        grouping: Grouping,
        records: Any,
        receipt: Receipt,
        draws: int,
        multiplier: float,
    ) -> None:
        self.found: dict[Block, Interaction] = {}
        self.left = draws
        self._draws, self._multiplier, self._receipt = draws, multiplier, receipt
        self._linear, self.grouping, self._records = linear, grouping, records
        self._values: dict[Block, NDArray[np.float64]] = {}
        self._gains: dict[Block, float] = {}
        self._moves: list[tuple[Block, Float64]] = []
        self._name = uuid4().hex

    def screen(self, pairs: Sequence[Block], multiplier: float) -> None:
        """Visit each pair by one draw of its own noise, with careful corrections."""
        for pair in pairs:
            sums = self._corrected(pair, 1, multiplier, _SCREEN_RATE)
            self.found[pair] = sums.interaction(self._pair_shape(pair))

    def confirm(self, pairs: Sequence[Block]) -> None:
        """Ask the first pairs again, by some of the draws."""
        each = max(1, int(_CONFIRMING_PART * self._draws))
        self.found = {
            pair: self._visit(pair, each).interaction(self._pair_shape(pair))
            for pair in pairs[:_CONFIRMED]
        }

    def visit_all(self, blocks: Sequence[Block], again: int = MOST.pairs) -> None:
        """Visit the blocks, and the best of them ``again``, by all draws that are left."""
        each = max(1, int(_FIRST_PART * self.left) // len(blocks))
        for block in blocks[: self.left]:
            self._visit(block, each)
        best = sorted(self._gains, key=lambda block: -self._gains[block])[:again]
        # Equal parts of what is left; the first ones get what cannot be divided.
        part, more = divmod(self.left, len(best))
        for place, block in enumerate(best):
            if draws := part + (place < more):
                self._visit(block, draws)

    def scorer(self) -> BlockScorer:
        """The model with the corrections so far."""
        blocks, values = tuple(self._values), tuple(self._values.values())
        return BlockScorer(self._linear, self.grouping, blocks, values)

    def _pair_shape(self, pair: Block) -> tuple[int, int]:
        rows, columns = self.grouping.shape(pair)
        return rows, columns

    def _visit(self, block: Block, draws: int) -> CellSums:
        self.left -= draws
        sums = self._corrected(block, draws, self._multiplier, 1.0)
        self._gains[block] = sums.gain()
        return sums

    def _corrected(self, block: Block, draws: int, multiplier: float, rate: float) -> CellSums:
        """The sums of a block by so many draws, by which its cells were corrected."""
        event = step_event(multiplier, 1.0, exact=True)
        paid = [self._receipt.draw(event) for _ in range(draws)]
        unit = Grid.of(SENSITIVITY, multiplier).cell
        moves = tuple(self._moves)
        asked = VisitSums(self._name, self._linear, self.grouping, moves, block, unit)

        def whole() -> Int64:
            [sums] = self._records.total(asked)
            return np.asarray(sums)

        sums = visit(paid, multiplier, whole, self.grouping.size(block))
        moved = sums.move(rate)
        self._values[block] = self._values.get(block, 0.0) + moved
        self._moves.append((block, moved))
        return sums
