"""Facts of a numeric column from noisy counts."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair.data.columns import Numeric
from dpfair.discovery.grids import grid_cells, grid_of
from dpfair.discovery.numbers import MOST_BINS, found_numeric


def facts(values, column=None, *, named=True, deviation=5.0):
    column = column or Numeric("x")
    values = np.asarray(values, dtype=float)
    cuts = grid_of(column)
    counts = np.bincount(grid_cells(cuts, values), minlength=len(cuts) + 2)
    found, sizes = np.unique(values[~np.isnan(values)], return_counts=True)
    names = {v: n for v, n in zip(found.tolist(), sizes.tolist(), strict=True) if n > 8 * deviation}
    return found_numeric(column, counts, names if named else {}, float(len(values)), deviation)


def test_edges_are_near_the_quantiles():
    values = np.random.default_rng(1).normal(50, 10, 20_000)
    edges = facts(values).edges
    assert len(edges) == MOST_BINS - 1
    reached = [(values < edge).mean() for edge in edges]
    assert reached == pytest.approx(np.arange(1, MOST_BINS) / MOST_BINS, abs=0.03)


def test_no_edge_lies_inside_the_cell_of_a_single_value():
    values = np.random.default_rng(1).choice([-1e-4, 0.0, 1e-4], 20_000)
    edges = facts(values, named=False).edges
    assert all(edge == 0 or abs(edge) > 1e-300 for edge in edges)


def test_noise_alone_has_no_edges():
    """Of 800 cells some are far from zero by chance."""
    column, deviation = Numeric("x"), 5.0
    rng = np.random.default_rng(0)
    found = [
        found_numeric(column, rng.normal(0, deviation, 806).round().astype(int), {}, 0.0, deviation)
        for _ in range(200)
    ]
    assert sum(bool(column.edges) for column in found) < 10


def test_a_value_of_most_records_is_usual():
    values = np.concatenate([np.zeros(9000), np.random.default_rng(1).uniform(1, 9, 1000)])
    column = facts(values)
    assert column.usual == 0
    assert column.spiky
    assert min(column.edges) > 0


def test_rest_that_noise_hides_makes_the_column_spiky():
    values = np.concatenate([np.zeros(9000), np.random.default_rng(1).uniform(0, 1e9, 1000)])
    column = facts(values, deviation=80.0)
    assert (column.usual, column.edges, column.spiky) == (0.0, (), True)


def test_a_common_value_has_a_bin_of_its_own():
    rng = np.random.default_rng(2)
    values = np.concatenate([np.full(4000, 40.0), rng.integers(20, 61, 6000)])
    edges = facts(values).edges
    assert 40.0 in edges
    above = min(edge for edge in edges if edge > 40)
    assert above < 41


def test_declared_facts_are_kept():
    values = np.random.default_rng(1).uniform(0, 100, 5000)
    column = facts(values, Numeric("x", (0, 100), usual=7.0, center=3.0))
    assert (column.bounds, column.usual, column.center) == ((0, 100), 7.0, 3.0)
    assert set(column.found) == {"edges", "spiky"}
    assert column.declared() == Numeric("x", (0, 100), usual=7.0, center=3.0)


def test_nothing_is_found_in_an_empty_column():
    column = facts([np.nan] * 1000)
    assert (column.edges, column.usual, column.spiky) == ((), None, False)
    assert (column.center, column.scale) == (0.0, 1.0)


def test_edges_have_few_digits():
    values = np.random.default_rng(4).integers(17, 91, 30_000)
    assert all(len(f"{edge:.12g}") <= 5 for edge in facts(values).edges)


def test_the_center_is_exact_in_parts_of_the_scale():
    """Numbers far from zero that hardly differ, such as a year or an account."""
    found = facts([1_000_001.0] * 100 + [1_000_003.0] * 100)
    assert (found.center, found.scale) == (pytest.approx(1_000_002, abs=0.1), pytest.approx(1, 0.1))
