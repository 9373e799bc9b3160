"""Smoothed masses of noisy counts."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair.discovery.density import smooth_masses


def test_noise_alone_is_empty():
    rng = np.random.default_rng(1)
    masses = [smooth_masses(rng.normal(0, 50, 400), 50.0).sum() for _ in range(50)]
    assert np.mean(np.array(masses) > 0) < 0.1


def test_a_step_is_found_where_it_is():
    rng = np.random.default_rng(2)
    true = np.repeat([0.0, 300.0, 100.0, 0.0], [50, 20, 60, 70])
    masses = smooth_masses(true + rng.normal(0, 30, 200), 30.0)
    assert abs(masses - true).mean() < 6
    assert masses.sum() == pytest.approx(true.sum(), rel=0.05)


def test_a_single_high_cell_remains():
    counts = np.zeros(100)
    counts[40] = 500
    assert smooth_masses(counts, 20.0).nonzero()[0].tolist() == [40]


def test_no_mass_is_negative():
    rng = np.random.default_rng(3)
    assert (smooth_masses(rng.normal(-20, 30, 300), 30.0) >= 0).all()
