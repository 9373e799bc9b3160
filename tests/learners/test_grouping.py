"""Bins joined to few groups, by noisy masses and linear weights."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair import InputError, Schema
from dpfair.data.records import Records
from dpfair.learners.detail import MOST, Detail
from dpfair.learners.features import coarse_codes
from dpfair.learners.grouping import Grouping

SCHEMA = Schema.from_dict(
    {
        "label": {"name": "y", "values": [0, 1]},
        "columns": [
            {"name": "a", "kind": "numeric", "bounds": [0, 1]},
            {"name": "b", "kind": "categorical", "values": [*"abcdefghijk"]},
            {"name": "c", "kind": "categorical", "values": ["x", "y"]},
        ],
    }
)


def grouping(a=(100.0,) * 11, b=(100.0,) * 12, weights=range(12), detail=MOST):
    masses = [np.array(a), np.array(b), np.zeros(3)]
    every = [np.arange(11.0)[::-1], np.array(weights, dtype=float), np.zeros(3)]
    return Grouping.by_mass(SCHEMA, masses, every, detail)


def test_numbers_keep_their_order_and_categories_are_ordered_by_weight():
    by = grouping(weights=[0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11])
    assert by.triples[0].tolist() == [0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 7]
    assert by.triples[1].tolist() == [0, 4, 1, 5, 1, 5, 2, 6, 3, 7, 3, 7]
    assert by.triples[2].tolist() == [0, 1, 2]
    assert by.shape((0, 1, 2)) == (MOST.triple_groups, MOST.triple_groups, 3)


def test_pairs_have_more_groups():
    by = grouping()
    assert by.pairs[0].tolist() == [*range(11)]
    assert by.shape((0, 1)) == (11, MOST.pair_groups)
    assert by.size((0, 1)) == 11 * MOST.pair_groups


def test_less_detail_means_fewer_groups():
    by = grouping(detail=Detail(pair_groups=6, triple_groups=4, pairs=6, triples=4))
    assert by.shape((0, 1)) == (6, 6)
    assert by.shape((0, 1, 2)) == (4, 4, 3)


def test_groups_have_about_equal_mass_and_a_large_bin_leaves_no_empty_one():
    mass = [1000.0, *[10.0] * 10]
    groups = grouping(a=mass).triples[0]
    assert groups[0] not in groups[1:]
    assert sorted(set(groups.tolist())) == [*range(int(groups.max()) + 1)]


@pytest.mark.parametrize("mass", [0.0, -50.0])
def test_columns_without_mass_are_grouped_by_number(mass):
    assert grouping(a=[mass] * 11).shape((0, 1, 2))[0] == MOST.triple_groups


def test_negative_masses_count_as_none():
    one, other = (grouping(a=[mass, *[100.0] * 10]).triples[0] for mass in (-1e9, 0.0))
    np.testing.assert_array_equal(one, other)


def test_cells_are_the_combinations_of_groups():
    by = grouping()
    records = Records.of_arrays(
        numeric=np.array([[0.05], [0.95], [np.nan]]),
        codes=np.array([[0, 2], [11, 0], [5, 1]], dtype=np.int32),
        groups=np.zeros(3, dtype=np.int64),
    )
    bins = [*coarse_codes(SCHEMA, records).values()]
    threes = [groups[column] for groups, column in zip(by.triples, bins, strict=True)]
    expected = np.ravel_multi_index(threes, by.shape((0, 1, 2)))
    np.testing.assert_array_equal(by.cells((0, 1, 2), records), expected)
    twos = by.pairs[0][bins[0]] * 3 + by.pairs[2][bins[2]]
    np.testing.assert_array_equal(by.cells((0, 2), records), twos)


def test_groups_that_do_not_fit_are_refused():
    fitting = grouping()
    for groups, place in ((fitting.pairs, 0), (fitting.triples, 1)):
        for bad in (groups[:2], (groups[0][1:], *groups[1:]), (groups[0] + 5, *groups[1:])):
            both = [fitting.pairs, fitting.triples]
            both[place] = bad
            with pytest.raises(InputError):
                Grouping(SCHEMA, *both)
