"""A linear model that gets corrections, block after block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.learners.block_scorer import BlockScorer
from dpfair.learners.design import chunks
from dpfair.learners.grouping import Block, Grouping
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.visits import CellSums, Interaction, visit
from dpfair.privacy.events import step_event
from dpfair.privacy.ledger import Receipt

__all__ = ["BlockFit"]

_SCREEN_RATE = 0.3

# The pairs that are asked a second time, the part of the draws for each of them, the part of the
# others for the first visits of all blocks, and how many blocks are then visited once more.
_CONFIRMED, _CONFIRMING_PART, _FIRST_PART, _REVISITED = 4, 0.02, 0.64, 12


class BlockFit:
    """The log-odds of the records being trained on, and the released corrections so far.

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
        records: Records,
        receipt: Receipt,
        draws: int,
        multiplier: float,
    ) -> None:
        assert records.labels is not None
        self.found: dict[Block, Interaction] = {}
        self.left = draws
        self._draws, self._multiplier, self._receipt = draws, multiplier, receipt
        self._linear, self.grouping = linear, grouping
        self._values: dict[Block, NDArray[np.float64]] = {}
        self._gains: dict[Block, float] = {}
        # Private: nothing of these may be used but through a visit.
        self._labels, self._bins = records.labels, grouping.bins(records)
        self._odds = linear.log_odds(records)

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

    def visit_all(self, blocks: Sequence[Block]) -> None:
        """Visit the blocks, and the best of them once more, by all draws that are left."""
        each = max(1, int(_FIRST_PART * self.left) // len(blocks))
        for block in blocks[: self.left]:
            self._visit(block, each)
        best = sorted(self._gains, key=lambda block: -self._gains[block])[:_REVISITED]
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
        cells, size = self.grouping.cells(block, self._bins), self.grouping.size(block)
        paid = [self._receipt.draw(event) for _ in range(draws)]
        sums = visit(paid, multiplier, cells, size, self._labels, self._odds)
        moved = sums.move(rate)
        self._values[block] = self._values.get(block, 0.0) + moved
        for chunk in chunks(len(cells)):
            self._odds[chunk] += moved.take(cells[chunk])
        return sums
