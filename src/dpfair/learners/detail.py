r"""How fine blocks are, and how many: what the noise of a screened pair allows.

A block of c cells has n / c records per cell on average. With many cells the noise hides what a
cell shows, and with many blocks each of them gets few draws. Both numbers follow from the ratio r
of the number of records to the standard deviation of the sum of a cell, as the screen draws it: a
pair has at most r / 5 cells and a triple r / 3, within limits.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MAX_BLOCKS", "MAX_PAIRS", "MOST", "Detail"]


@dataclass(frozen=True)
class Detail:
    """The groups of a column in a pair and in a triple, and the pairs and triples, at most.

    >>> Detail.of(400.0)
    Detail(pair_groups=8, triple_groups=5, pairs=10, triples=10)
    """

    pair_groups: int
    triple_groups: int
    pairs: int
    triples: int

    @classmethod
    def of(cls, ratio: float) -> Detail:
        """What a ratio of records to noise allows."""
        ratio = min(max(ratio, 1.0), 1e6)
        return cls(
            pair_groups=_within(FEWEST.pair_groups, (ratio / 5) ** (1 / 2), MOST.pair_groups),
            triple_groups=_within(FEWEST.triple_groups, (ratio / 3) ** (1 / 3), MOST.triple_groups),
            pairs=_within(FEWEST.pairs, ratio / 40, MOST.pairs),
            triples=_within(FEWEST.triples, ratio / 40, MOST.triples),
        )


FEWEST, MOST = Detail(6, 4, 6, 4), Detail(12, 8, 12, 20)

MAX_PAIRS = 66
"""So many pairs are screened at most: those of twelve columns."""

MAX_BLOCKS = MAX_PAIRS + MOST.triples
"""So many blocks a model has at most."""


def _within(least: int, wanted: float, most: int) -> int:
    return min(max(int(wanted), least), most)
