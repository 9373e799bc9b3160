"""A linear model that gets corrections, block after block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.learners.block_scorer import BlockScorer
from dpfair.learners.grouping import Block, Grouping
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.visits import CellSums, Interaction, visit
from dpfair.privacy.events import step_event
from dpfair.privacy.ledger import Receipt

__all__ = ["BlockFit"]

_SCREEN_RATE = 0.3

# The part of the draws for the first visits, and how many blocks are visited once more.
_FIRST_PART, _REVISITED = 0.64, 12


class BlockFit:
    """The log-odds of the records being trained on, and the released corrections so far.

    Attributes
    ----------
    found
        What the screened pairs have shown.
    values
        The corrections of every visited block, in the order of the first visits.
    """

    def __init__(
        self, linear: LinearScorer, grouping: Grouping, records: Records, receipt: Receipt
    ) -> None:
        assert records.labels is not None
        self.found: dict[Block, Interaction] = {}
        self.values: dict[Block, NDArray[np.float64]] = {}
        self._linear, self._grouping, self._receipt = linear, grouping, receipt
        # Private: nothing of these may be used but through a visit.
        self._labels, self._codes = records.labels, grouping.codes(records)
        self._odds = linear.log_odds(records)

    def screen(self, pairs: Sequence[Block], multiplier: float) -> None:
        """Visit each pair by one draw, with careful corrections."""
        for pair in pairs:
            sums = self._visit(pair, 1, multiplier, _SCREEN_RATE)
            rows, columns = self._grouping.shape(pair)
            self.found[pair] = sums.interaction((rows, columns))

    def visit_all(self, blocks: Sequence[Block], draws: int, multiplier: float) -> None:
        """Visit all blocks, and the best of them once more, with exactly this many draws."""
        each, left, gains = max(1, int(_FIRST_PART * draws) // len(blocks)), draws, {}
        for block in blocks[:draws]:
            gains[block] = self._visit(block, each, multiplier).gain()
            left -= each
        best = sorted(gains, key=lambda block: -gains[block])[:_REVISITED]
        for place, block in enumerate(best):
            # Equal parts of what is left; the first ones get what cannot be divided.
            if part := left // len(best) + (place < left % len(best)):
                self._visit(block, part, multiplier)

    def scorer(self) -> BlockScorer:
        """The model with the corrections so far."""
        blocks, values = tuple(self.values), tuple(self.values.values())
        return BlockScorer(self._linear, self._grouping, blocks, values)

    def _visit(self, block: Block, draws: int, multiplier: float, rate: float = 1.0) -> CellSums:
        """Correct the cells of a block by so many draws of its sums."""
        event = step_event(multiplier, 1.0, exact=True)
        cells, size = self._grouping.cells(block, self._codes), self._grouping.size(block)
        paid = [self._receipt.draw(event) for _ in range(draws)]
        sums = visit(paid, multiplier, cells, size, self._labels, self._odds)
        moved = sums.move(rate)
        self.values[block] = self.values.get(block, 0.0) + moved
        self._odds = self._odds + moved[cells]
        return sums
