"""A visit of a block: its noise, the move of its cells, and the evidence for an interaction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from dpfair.learners.exact import Grid
from dpfair.learners.leaf_sums import SENSITIVITY, whole_leaf_sums
from dpfair.learners.visits import CellSums, visit
from dpfair.privacy.draw import Draw
from dpfair.privacy.events import step_event
from dpfair.privacy.noise import Noise


def visited(draws, multiplier, cells, size, labels, odds, seed=0):
    noise, event = Noise(seed), step_event(multiplier, 1.0, exact=True)
    paid = [Draw(event, noise) for _ in range(draws)]
    unit = Grid.of(SENSITIVITY, multiplier).cell
    return visit(paid, multiplier, lambda: whole_leaf_sums(cells, labels, odds, size, unit), size)


@pytest.mark.parametrize("draws", [1, 4])
def test_the_noise_has_the_stated_deviation(draws):
    nobody = np.zeros(0, dtype=np.int64)
    sums = visited(draws, 3.0, nobody, 20_000, nobody, np.zeros(0))
    assert sums.deviation == pytest.approx(3 * SENSITIVITY / math.sqrt(draws))
    assert sums.gradients.std() == pytest.approx(sums.deviation, rel=0.03)
    assert kstest(sums.gradients / sums.deviation, "norm").pvalue > 1e-3
    assert sums.hessians.min() == 1


def test_the_sums_are_residuals_and_hessians():
    cells, labels = np.array([0, 0, 0, 2] * 100), np.array([1, 1, 0, 0] * 100)
    sums = visited(1, 1e-6, cells, 3, labels, np.zeros(400))
    np.testing.assert_allclose(sums.gradients, [50, 0, -50], atol=1e-4)
    np.testing.assert_allclose(sums.hessians, [75, 1, 25], atol=1e-4)


def test_a_move_is_the_posterior_mean():
    sums = CellSums(np.array([30.0, -30.0]), np.array([100.0, 100.0]), 5.0)
    spread = (2 * 900 - 2 * 125) / (2 * 100**2)
    expected = 100 * 30 / (100**2 + 125 / spread)
    np.testing.assert_allclose(sums.move(1.0), [expected, -expected])
    np.testing.assert_allclose(sums.move(0.3), [0.3 * expected, -0.3 * expected])
    assert sums.gain() == pytest.approx((2 * 900 - 2 * 125) / 200)


def test_cells_of_noise_hardly_move_and_clear_ones_move_all_the_way():
    rng = np.random.default_rng(0)
    noise = CellSums(20 * rng.normal(size=36), np.full(36, 30.0), 20.0)
    assert np.abs(noise.move(1.0)).max() < 0.3
    clear = CellSums(np.array([1000.0, -1000.0]), np.array([2000.0, 2000.0]), 1.0)
    np.testing.assert_allclose(clear.move(1.0), [0.5, -0.5], rtol=0.01)


@pytest.mark.parametrize("deviation", [1e-30, 1.0, 1e30])
def test_moves_and_evidence_are_finite_for_all_sizes_of_noise(deviation):
    gradients = deviation * np.random.default_rng(0).normal(size=36)
    sums = CellSums(gradients, np.maximum(2 * np.abs(gradients), 1), deviation)
    found = sums.interaction((6, 6))
    assert np.isfinite([*sums.move(1.0), sums.gain(), found.gain, found.effect, found.score]).all()


def pair_sums(rng, effect, shape=(5, 6), deviation=8.0):
    hessians = rng.uniform(20, 400, size=shape)
    chance = rng.normal(size=shape) * np.sqrt(hessians + deviation**2)
    return CellSums((hessians * effect + chance).ravel(), hessians.ravel(), deviation)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (5, 6)])
def test_the_score_of_no_interaction_is_standard_normal_however_large_the_columns_are(shape):
    rng = np.random.default_rng(0)
    rows, columns = np.arange(shape[0])[:, None], np.arange(shape[1]) ** 2 / 5
    scores = [
        pair_sums(rng, 0.7 * rows - columns, shape).interaction(shape).score for _ in range(2000)
    ]
    assert abs(np.mean(scores)) < 0.15
    assert 0.85 < np.std(scores) < 1.15
    # Ten of a thousand are expected, were the approximation exact.
    assert np.mean(np.array(scores) > 2.33) < 0.02


def test_an_interaction_is_found_behind_its_columns():
    rng = np.random.default_rng(0)
    joint = np.where(np.arange(5)[:, None] % 2 == np.arange(6) % 2, 0.5, -0.5)
    found = pair_sums(rng, joint + np.arange(6)).interaction((5, 6))
    assert found.score > 8
    assert found.gain > 0
    assert found.effect > 0.004


def test_a_column_with_one_group_has_no_interaction():
    found = CellSums(np.arange(4.0), np.full(4, 9.0), 1.0).interaction((1, 4))
    assert (found.gain, found.score) == (0, 0)
