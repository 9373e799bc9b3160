"""Where a threshold is placed, and how much the cell there can hold."""

from __future__ import annotations

import numpy as np
import pytest
from fairness.bounds.placement.worlds import OPPORTUNITY, PARITY, least, lumps, releases, table
from fairness.tables import window

from dpfair.fairness.bounds.placement import cell_limit, cover, place, placed_threshold
from dpfair.fairness.dither import GRAIN, placement_grid


@pytest.mark.parametrize(
    ("grains", "cell", "expected"),
    [
        ([50, 50.25, 50.5, 51, 60], 2, (1, 4, 0.25)),  # part of a grain
        ([50, 50.25, 50.5, 51, 60], 4, (4, 5, 1)),  # many grains
        ([50, 51, 60], 1, (1, 2, 1)),  # one grain
        ([50, 52.5, 55], 1, (1, 2, 1)),  # half a grain more: all of it may be in the other two
        ([50, 52.5, 55], 2, (2, 3, 1)),
        ([52.5, 52.75, 55], 1, (0, 3, 0.25)),  # the grain begins and ends inside other cells
        ([0.5, 1], 0, (0, 2, 0.5)),
        ([99.5], 1, (0, 2, 0.5)),
    ],
)
def test_a_cell_is_judged_by_the_grains_around_it(grains, cell, expected):
    start, stop, part = cover(np.array(grains) / GRAIN, cell)
    assert (start, stop) == expected[:2]
    assert part == pytest.approx(expected[2], abs=1e-6)
    assert part >= expected[2]


def test_covers_are_upper_bounds_for_any_masses():
    """Whatever the grains hold, a cell has at most its part of its cover."""
    rng = np.random.default_rng(0)
    narrow = placement_grid([window(0.2, 0.27), window(0.8, 0.8)], 3.0)
    for grid in (narrow, np.sort(rng.random((20, 9)))):
        for row in grid:
            grains = rng.random(GRAIN) ** 8
            ends = np.array([0.0, *row, 1.0]) * GRAIN
            curve = np.interp(ends, np.arange(GRAIN + 1), np.append(0, np.cumsum(grains)))
            for cell in range(len(row) + 1):
                start, stop, part = cover(row, cell)
                mass = curve[cell + 1] - curve[cell]
                assert mass <= part * (curve[stop] - curve[start]) + 1e-9


@pytest.mark.parametrize("wrong", [0.0, 0.3])
def test_the_mass_of_the_cell_is_not_understated(wrong):
    """Also where the cut falls outside its window, in a cell of a whole grain or more."""
    trial, targets = lumps(1), (0.3,)
    edges = placement_grid(trial.windows(targets, PARITY, wrong=wrong), 3.0)
    true = trial.cells(edges)[0].sum(axis=0)
    held = []
    for release in releases(trial, (400,), edges, 3.0, 100):
        cell = placed_threshold(release, 0, PARITY.statistics[0], 0.3) - 1
        limit = cell_limit(release, 0, PARITY.statistics[0], 0.3, 0.05)
        held.append(true[cell] <= limit)
    assert np.mean(held) >= least(100)
    assert cell_limit(release, 0, PARITY.statistics[0], 0.3, 1e-9) == 1


@pytest.mark.parametrize(
    ("counts", "target", "threshold"),
    [
        ([5, 5, 5, 5], 0.5, 3),  # 10 of 20 reach the target, 5 do not
        ([5, 5, 5, 5], 0.51, 2),
        ([5, 5, 5, 5], 0.0, 4),
        ([5, 5, 5, 5], 1.0, 1),
        ([9, -3, 7, -3], 0.1, 3),  # the last edge at which the count reaches it
        ([-5, -5, 3, 3], 0.5, 4),  # no size, nobody
        ([0, 0, 0, 0], 0.5, 4),
        ([27, 0, 0, 3], 0.1, 4),  # 3 of 30 reach 0.1, although 0.1 * 30 may be above 3
        ([993, 0, 0, 7], 0.007, 4),
    ],
)
def test_where_a_threshold_is_placed(counts, target, threshold):
    release = table([[counts]])
    choice = place(release, PARITY.statistics[0], [target])
    assert choice.lottery[0].tolist() == [float(j == threshold) for j in range(5)]
    assert choice.grain == GRAIN


def test_true_positive_rates_are_placed_among_positives():
    release = table([[[90, 5, 5, 0], [10, 10, 10, 10]]])
    choice = place(release, OPPORTUNITY.statistics[0], [0.5])
    assert choice.lottery[0].tolist() == [0, 0, 0, 1, 0]
