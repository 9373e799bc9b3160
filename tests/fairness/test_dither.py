"""Dithered scores keep their grain, and grids are narrow where a cut is expected."""

import numpy as np
import pytest
from fairness.tables import window

from dpfair.fairness.dither import GRAIN, MAX_PLACED_BINS, dithered, placement_grid
from dpfair.fairness.lottery import Choice
from dpfair.fairness.release import score_grid


def test_counted_and_decided_shares_agree():
    """From raw scores to counts and from the rule back: the same share of every score."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([np.arange(0, 101) / 100, rng.random(50), [0.29, 0.57, 0.58]])
    edges = placement_grid([window(0.26, 0.31)], 3.0)
    coins = (np.arange(4000) + 0.5) / 4000
    nothing = np.zeros((1, 2, 1))
    for threshold in range(edges.shape[1] + 2):
        lottery = np.zeros((1, edges.shape[1] + 2))
        lottery[0, threshold] = 1
        rule = Choice(lottery, nothing, nothing, edges, GRAIN).rule()
        decided = rule.probabilities(np.zeros(len(scores), dtype=int), scores)
        cut = np.array([-1.0, *edges[0], 2.0])[threshold]
        counted = (dithered(scores[:, None], coins) >= cut).mean(axis=1)
        np.testing.assert_allclose(decided, counted, atol=1 / 2000)


def test_a_dithered_score_keeps_its_grain():
    grid = np.arange(0, 101) / 100
    for coin in (0.0, 0.5, 1 - 1e-9):
        kept = np.searchsorted(grid, dithered(grid, np.full(101, coin)), side="right") - 1
        assert kept.tolist() == [*range(100), 99]
    assert dithered(np.array([-0.5, 1.5]), np.array([0.5, 0.5])).tolist() == [0.005, 0.995]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_grids_are_narrow_in_the_window(epsilon):
    ends = [(0.30, 0.36), (0.5, 0.5), (0.97, 1.2), (-1, 0.01), (0, 1)]
    windows = [window(*row, mass=0.4, size=20_000.0) for row in ends]
    grid = placement_grid(windows, epsilon)
    assert grid.shape[0] == 5
    assert grid.shape[1] < MAX_PLACED_BINS
    assert (np.diff(grid, axis=1) > 1e-9).all()
    assert grid.min() > 0
    assert grid.max() < 1
    inside = grid[0][(grid[0] >= 0.30) & (grid[0] <= 0.36)]
    assert np.diff(inside).max() < 0.6 / GRAIN
    wide = np.round(np.array(score_grid(epsilon)) * GRAIN)
    for row in grid:
        assert set(wide) <= set(np.round(row * GRAIN, 9))
