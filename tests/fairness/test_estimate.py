"""Consistent counts and estimated shares: post-processing that neither lies nor drifts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.fairness.estimate import (
    consistent_counts,
    estimated_masses,
    labelled_counts,
    middles,
)
from dpfair.fairness.release import Release


def release_of(counts, noise=1.0, edges=None) -> Release:
    counts = np.array(counts)
    edges = np.arange(1, counts.shape[2]) / counts.shape[2] if edges is None else edges
    return Release(tuple("abcd"[: len(counts)]), edges, counts, (noise,) * len(counts), None, "")


def noisy(exact, t, draws, seed=0):
    rng, p = np.random.default_rng(seed), -math.expm1(-t)
    shape = (draws, *exact.shape)
    return exact + rng.geometric(p, shape) - rng.geometric(p, shape)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=12))
def test_counts_become_possible(row):
    counts = consistent_counts(release_of([[row]]))[0, 0]
    assert (counts >= 0).all()
    if min(row) >= 0:
        assert counts.tolist() == row  # nothing to repair
    # No monotone curve is closer to all running sums at once.
    sums = np.maximum(np.cumsum(row), 0)
    worst = max((sums[i] - sums[j] for i in range(len(row)) for j in range(i, len(row))), default=0)
    assert np.abs(np.cumsum(counts) - sums).max() == pytest.approx(worst / 2)


def test_tail_sums_are_nearly_unbiased():
    """A table with many empty cells: setting negative counts to zero would add 0.5 per cell."""
    exact = np.zeros((1, 1, 60), dtype=int)
    exact[0, 0, ::6] = 40
    tables = noisy(exact, 0.5, 1000)
    true = np.cumsum(exact[0, 0, ::-1])[::-1]
    repaired = np.array([consistent_counts(release_of(t, 0.5))[0, 0] for t in tables])
    errors = (np.cumsum(repaired[:, ::-1], axis=1)[:, ::-1] - true).mean(axis=0)
    naive = np.maximum(tables[:, 0, 0], 0)
    naive_errors = (np.cumsum(naive[:, ::-1], axis=1)[:, ::-1] - true).mean(axis=0)
    assert np.abs(errors).max() < 8  # of 400 records; the noise of the sum has sd 21
    assert np.abs(naive_errors).max() > 40


def test_rows_are_repaired_one_by_one():
    counts = [[[5, -2, 3], [1, 1, 1]], [[-9, 0, 2], [0, 0, 0]]]
    got = consistent_counts(release_of(counts))
    for a in range(2):
        for y in range(2):
            np.testing.assert_array_equal(
                got[a, y], consistent_counts(release_of([[counts[a][y]]]))[0, 0]
            )


def test_the_share_of_positives_grows_with_the_score():
    rng = np.random.default_rng(0)
    for seed in range(20):
        counts = noisy(rng.integers(0, 30, (3, 2, 15)), 0.7, 1, seed)[0]
        masses = estimated_masses(release_of(counts, 0.7))
        assert (masses >= 0).all()
        sizes = masses.sum(axis=1)
        for size, positive in zip(sizes, masses[:, 1], strict=True):
            shares = positive[size > 0] / size[size > 0]
            assert (np.diff(shares) >= -1e-12).all()
            assert shares.min() >= 0
            assert shares.max() <= 1
        repaired = consistent_counts(release_of(counts, 0.7)).sum(axis=1)
        np.testing.assert_allclose(sizes, repaired)


def test_plentiful_exact_counts_decide():
    positive = np.array([10, 40, 45, 80]) * 10_000
    counts = np.stack([100 * 10_000 - positive, positive])[None]
    masses = estimated_masses(release_of(counts, math.inf))
    np.testing.assert_allclose(
        masses[0, 1] / masses[0].sum(axis=0), [0.1, 0.4, 0.45, 0.8], atol=1e-3
    )


def test_a_fall_is_pooled_and_the_number_of_positives_stays():
    counts = np.array([[[90, 60, 80, 10], [10, 40, 20, 90]]])
    masses = estimated_masses(release_of(counts, math.inf))
    np.testing.assert_allclose(masses[0, 1] / 100, [0.1, 0.3, 0.3, 0.9])


def test_positives_are_not_pulled_towards_the_scores():
    """A scorer whose scores are far too high, counted in many small cells."""
    rng = np.random.default_rng(0)
    size = rng.integers(1, 8, 120)
    positive = rng.binomial(size, np.linspace(0, 0.3, 120))
    for draw in noisy(np.stack([size - positive, positive])[None], 3.0, 20):
        masses = estimated_masses(release_of(draw, 3.0))
        counts = consistent_counts(release_of(draw, 3.0))
        assert masses[0, 1].sum() == pytest.approx(counts[0, 1].sum())
        assert masses[0, 1].sum() == pytest.approx(positive.sum(), abs=12)


def test_without_labels_the_score_is_taken():
    release = release_of([[[10, 20, 30, 40]]])
    masses = estimated_masses(release)
    np.testing.assert_allclose(
        masses[0, 1], np.array([10, 20, 30, 40]) * [0.125, 0.375, 0.625, 0.875]
    )
    np.testing.assert_array_equal(labelled_counts(release), masses)
    labelled = release_of([[[10, -5, 30, 40], [1, 2, 3, 4]]])
    np.testing.assert_array_equal(labelled_counts(labelled), consistent_counts(labelled))


def test_empty_tables():
    masses = estimated_masses(release_of(np.zeros((2, 2, 4), dtype=int)))
    assert not masses.any()
    assert not estimated_masses(release_of(np.full((1, 2, 4), -3))).any()


def test_middles():
    assert middles(np.array([[0.2, 0.4], [0.5, 0.9]])).round(9).tolist() == [
        [0.1, 0.3, 0.7],
        [0.25, 0.7, 0.95],
    ]
