"""Sums of discrete Laplace variables against closed forms and plain convolution."""

import math

import numpy as np
import pytest

from dpfair.fairness.laplace_sums import (
    noise_masses,
    noise_quantile,
    survival,
    survival_table,
    weighted_survival,
)


def convolved(noise, cells, reach=200):
    """P(Z = z) for the sum of cells, over their full supports."""
    one = np.exp(-noise * np.abs(np.arange(-reach, reach + 1)))
    law = np.ones(1)
    for _ in range(cells):
        law = np.convolve(law, one / one.sum())
    return law, np.arange(len(law)) - len(law) // 2


def test_noise_table_equals_closed_form_of_one_cell():
    for noise in (0.001, 0.05, 3.0, math.inf):
        table = survival_table(noise, 1)
        reach = len(table) // 2
        k = np.arange(-reach, reach + 1.0)
        assert table == pytest.approx(survival(k, noise, 1), abs=5e-12)


@pytest.mark.parametrize(("noise", "cells"), [(0.5, 1), (0.5, 4), (2.0, 7)])
def test_masses_and_quantiles_equal_a_convolution(noise, cells):
    law, values = convolved(noise, cells)
    masses = noise_masses(noise, cells)
    reach = len(masses) // 2
    assert masses == pytest.approx(law[np.abs(values) <= reach], abs=2e-12)
    assert law[np.abs(values) > reach].sum() < 1e-11
    for level in (0.3, 0.01, 1e-5):
        k = noise_quantile(noise, cells, level)
        assert law[values > k].sum() <= level < law[values > k - 1].sum()


def test_a_weighted_sum_is_that_of_two_counts():
    noise, up, down, i, m = 0.8, 2, 1, 3, 8
    table = weighted_survival(noise, up, down, i, m)
    (first, above), (second, below) = convolved(noise, up, 60), convolved(noise, down, 60)
    values = (m - i) * above[:, None] - i * below
    for k in (-20, 0, 7, 40):
        exact = np.outer(first, second)[values >= k].sum()
        assert table[len(table) // 2 + k] == pytest.approx(exact, abs=1e-10)
