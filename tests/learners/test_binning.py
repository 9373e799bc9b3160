"""Bins and buckets of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair.learners.binning import bins


@pytest.mark.parametrize("cuts", [0, 1, 10, 32, 33, 253, 254, 400])
def test_a_bin_is_the_number_of_cuts_not_above(cuts):
    rng = np.random.default_rng(0)
    edges = np.sort(rng.integers(-500, 500, cuts) / 4)
    values = rng.integers(-600, 600, (20_000, 2))[:, 1] / 4  # every other number in memory
    values[::7] = np.nan
    values[::11] = np.inf
    values[::13] = -np.inf
    expected = (values[:, None] >= edges).sum(axis=1)
    expected[np.isnan(values)] = cuts + 1
    found = bins(values, tuple(edges))
    assert found.tolist() == expected.tolist()
    # There is a code to spare, for a usual value.
    assert np.iinfo(found.dtype).max >= cuts + 2
    assert found.itemsize == (1 if cuts < 254 else 2)


def test_a_number_has_its_bin_whichever_numbers_are_beside_it():
    values = np.random.default_rng(1).normal(size=20_000)
    whole = bins(values, (-1.0, 0.0, 0.5))
    assert [bins(values[i : i + 1], (-1.0, 0.0, 0.5))[0] for i in range(0, 20_000, 997)] == [
        *whole[::997]
    ]
