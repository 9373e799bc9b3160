"""Which blocks are visited: a function of released numbers and of the number of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpfair.learners.detail import MAX_PAIRS, MOST, Detail
from dpfair.learners.grouping import Block
from dpfair.learners.visits import Interaction

__all__ = [
    "EFFECT",
    "LARGE_EFFECT",
    "best_blocks",
    "candidate_pairs",
    "importance",
    "interacts",
    "pair_count",
]

# Triples are made of this many columns.
_COLUMNS = 12

# A pair whose columns act jointly in a way that matters: a smaller effect is not worth the noise
# of the blocks. With a large one, blocks are worth more than further linear steps. Both were chosen
# on tables that no reported figure uses.
EFFECT, LARGE_EFFECT = 0.0005, 0.003

Float64 = NDArray[np.float64]


def pair_count(columns: int) -> int:
    """The number of pairs that are screened.

    >>> pair_count(8), pair_count(100)
    (28, 66)
    """
    return min(MAX_PAIRS, comb(columns, 2))


def importance(masses: Sequence[Float64], weights: Sequence[Float64]) -> Float64:
    """The standard deviation of the linear weight of every column, by noisy masses of its bins."""
    deviations = []
    for mass, weight in zip(masses, weights, strict=True):
        positive = np.maximum(mass, 0)
        part = positive / max(positive.sum(), 1.0)
        deviations.append(np.sqrt(max((part * weight**2).sum() - (part * weight).sum() ** 2, 0)))
    return np.array(deviations)


def candidate_pairs(importances: Float64) -> list[Block]:
    """The pairs with the largest product of importances, the most important first.

    >>> candidate_pairs(np.array([1.0, 3.0, 2.0]))
    [(1, 2), (0, 1), (0, 2)]
    """
    # A pair with a later column is behind as many pairs as columns are before that one.
    columns = np.argsort(-importances, kind="stable")[: MAX_PAIRS + 1].tolist()
    pairs = [(min(pair), max(pair)) for pair in combinations(columns, 2)]
    ranked = sorted(pairs, key=lambda pair: -importances[pair[0]] * importances[pair[1]])
    return list(ranked[:MAX_PAIRS])


def interacts(found: Mapping[Block, Interaction], evidence: float, effect: float = EFFECT) -> bool:
    """Whether one of the pairs has an interaction that is clear and large enough."""
    return any(pair.score > evidence and pair.effect > effect for pair in found.values())


def best_blocks(found: Mapping[Block, Interaction], detail: Detail = MOST) -> list[Block]:
    """The pairs with the largest gains, and triples whose pairs have large gains.

    A triple is ranked by the smallest gain of its pairs plus a part of the other two: columns that
    act together in threes mostly show it in all three pairs, and sometimes in two.

    >>> gains = {(0, 1): 2.0, (0, 2): 3.0, (1, 2): 0.0}
    >>> best_blocks({pair: Interaction(gain) for pair, gain in gains.items()})
    [(0, 2), (0, 1), (1, 2), (0, 1, 2)]
    """
    gains = {pair: interaction.gain for pair, interaction in found.items()}
    pairs = sorted(gains, key=lambda pair: -gains[pair])
    columns = list(dict.fromkeys(column for pair in pairs for column in pair))[:_COLUMNS]

    def rank(triple: Block) -> float:
        low, middle, high = sorted(gains.get(pair, 0.0) for pair in combinations(triple, 2))
        return -(low + 0.3 * (middle + high))

    triples = sorted(combinations(sorted(columns), 3), key=rank)
    return [*pairs[: detail.pairs], *triples[: detail.triples]]
