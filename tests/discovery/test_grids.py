"""Public grids: every number has one cell, and no record moves a cut."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfair.data.columns import WIDEST, Numeric
from dpfair.discovery.grids import grid_cells, grid_of

GRIDS = {
    "any size": Numeric("x"),
    "from zero": Numeric("x", (0, 99_999)),
    "around zero": Numeric("x", (-400_000, 2_000_000)),
    "far from zero": Numeric("x", (1990, 2030)),
    "negative": Numeric("x", (-50, -1)),
}


@pytest.mark.parametrize("name", GRIDS)
def test_cuts_increase_and_are_finite(name):
    cuts = grid_of(GRIDS[name])
    assert np.isfinite(cuts).all()
    assert (np.diff(cuts) > 0).all()


@pytest.mark.parametrize("name", GRIDS)
def test_the_point_that_cells_get_finer_to_has_a_cell_of_its_own(name):
    column = GRIDS[name]
    low, high = column.bounds
    origin = min(max(0.0, low), high)
    nearby = [math.nextafter(origin, math.inf), math.nextafter(origin, -math.inf)]
    inside = [origin, *(value for value in nearby if low <= value <= high)]
    cells = grid_cells(grid_of(column), np.array(inside))
    assert cells[0] not in cells[1:]


def test_missing_values_are_in_the_last_cell():
    cuts = grid_of(Numeric("x"))
    assert grid_cells(cuts, np.array([math.nan]))[0] == len(cuts) + 1


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_every_number_has_a_cell(value):
    cuts = grid_of(Numeric("x"))
    assert 0 <= grid_cells(cuts, np.array([value]))[0] <= len(cuts) + 1


@given(st.floats(2.0**-9, WIDEST[1] / 2))
def test_a_cell_is_at_most_an_eighth_of_its_numbers_wide(value):
    cuts = grid_of(Numeric("x"))
    for number in (value, -value):
        cell = grid_cells(cuts, np.array([number]))[0]
        assert cuts[cell] - cuts[cell - 1] <= abs(number) / 8 * (1 + 1e-9)
