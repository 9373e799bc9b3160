"""Which pairs are screened, when blocks are used, and which are visited."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpfair.learners.detail import MAX_BLOCKS, Detail
from dpfair.learners.screening import (
    LARGE_EFFECT,
    best_blocks,
    candidate_pairs,
    importance,
    interacts,
    pair_count,
)
from dpfair.learners.visits import Interaction


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 6, 12, 13, 80, 300])
def test_the_numbers_of_blocks_depend_on_the_number_of_columns_alone(columns):
    rng, counts = np.random.default_rng(columns), set()
    for _ in range(5):
        pairs = candidate_pairs(rng.random(columns))
        assert len(pairs) == pair_count(columns)
        blocks = best_blocks({pair: Interaction(rng.normal()) for pair in pairs})
        assert len(set(blocks)) == len(blocks)
        assert all(list(block) == sorted(set(block)) for block in blocks)
        assert len({*pairs, *blocks}) <= MAX_BLOCKS
        counts.add((len(pairs), len(blocks)))
    assert len(counts) == 1
    wanted = {1: (0, 0), 2: (1, 1), 3: (3, 4), 6: (15, 32), 13: (66, 32), 300: (66, 32)}
    assert columns not in wanted or counts == {wanted[columns]}


@pytest.mark.parametrize("largest", [1, 100])
def test_pairs_with_the_largest_products_are_screened(largest):
    importances = np.random.default_rng(1).random(100)
    importances[3] *= largest
    every = sorted(
        combinations(range(100), 2), key=lambda p: -importances[p[0]] * importances[p[1]]
    )
    assert candidate_pairs(importances) == every[:66]


def test_importance_is_the_deviation_of_the_weights_by_mass():
    masses = [np.array([50.0, 50.0, -9.0]), np.array([100.0, 0.0]), np.zeros(2)]
    weights = [np.array([1.0, 3.0, 77.0]), np.array([1.0, 9.0]), np.array([1.0, 9.0])]
    np.testing.assert_allclose(importance(masses, weights), [1, 0, 0])


def test_blocks_are_used_for_an_interaction_that_is_clear_and_large():
    small = {(0, 1): Interaction(1.0, effect=0.0001, score=9.0)}
    unclear = {(0, 2): Interaction(1.0, effect=0.1, score=2.0)}
    clear = {(1, 2): Interaction(1.0, effect=0.1, score=4.0)}
    assert not interacts(small | unclear, 3.2)
    assert interacts(small | unclear | clear, 3.2)
    assert not interacts(clear, 5.0)
    assert interacts(clear, 3.2, LARGE_EFFECT)
    assert not interacts({(1, 2): Interaction(1.0, effect=0.002, score=9.0)}, 3.2, LARGE_EFFECT)


def test_triples_follow_the_gains_of_their_pairs():
    gains = dict.fromkeys(combinations(range(8), 2), 0.0)
    gains |= {(1, 4): 5.0, (1, 6): 4.0, (4, 6): 3.0, (0, 2): 9.0}
    blocks = best_blocks({pair: Interaction(gain) for pair, gain in gains.items()})
    assert blocks[:4] == [(0, 2), (1, 4), (1, 6), (4, 6)]
    assert [len(block) for block in blocks] == [2] * 12 + [3] * 20
    assert blocks[12] == (1, 4, 6)


def test_less_detail_means_fewer_blocks():
    pairs = {pair: Interaction(1.0) for pair in combinations(range(8), 2)}
    blocks = best_blocks(pairs, Detail(pair_groups=6, triple_groups=4, pairs=7, triples=5))
    assert [len(block) for block in blocks] == [2] * 7 + [3] * 5


def test_two_strong_pairs_outweigh_three_weak_ones():
    gains = dict.fromkeys(combinations(range(6), 2), 0.0)
    gains |= {(0, 1): 5.0, (0, 2): 5.0, (1, 2): 1.0, (3, 4): 1.2, (3, 5): 1.3, (4, 5): 1.4}
    blocks = best_blocks({pair: Interaction(gain) for pair, gain in gains.items()})
    assert blocks[12] == (0, 1, 2)
