"""Bins joined to few groups, by noisy masses and linear weights."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair import InputError, Schema
from dpfair.data.records import Records
from dpfair.learners.grouping import MAX_GROUPS, Grouping

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


def grouping(a=(100.0,) * 11, b=(100.0,) * 12, weights=range(12)):
    masses = [np.array(a), np.array(b), np.zeros(3)]
    every = [np.arange(11.0)[::-1], np.array(weights, dtype=float), np.zeros(3)]
    return Grouping.by_mass(SCHEMA, masses, every)


def test_numbers_keep_their_order_and_categories_are_ordered_by_weight():
    by = grouping(weights=[0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11])
    assert by.groups[0].tolist() == [0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 5]
    assert by.groups[1].tolist() == [0, 3, 0, 3, 1, 4, 1, 4, 2, 5, 2, 5]
    assert by.groups[2].tolist() == [0, 1, 2]
    assert by.counts == [6, 6, 3]


def test_groups_have_about_equal_mass_and_a_large_bin_leaves_no_empty_one():
    mass = [1000.0, *[10.0] * 10]
    groups = grouping(a=mass).groups[0]
    assert groups[0] not in groups[1:]
    assert sorted(set(groups.tolist())) == [*range(int(groups.max()) + 1)]


@pytest.mark.parametrize("mass", [0.0, -50.0])
def test_columns_without_mass_are_grouped_by_number(mass):
    assert grouping(a=[mass] * 11).counts[0] == MAX_GROUPS


def test_negative_masses_count_as_none():
    one, other = (grouping(a=[mass, *[100.0] * 10]).groups[0] for mass in (-1e9, 0.0))
    np.testing.assert_array_equal(one, other)


def test_cells_are_the_combinations_of_groups():
    by = grouping()
    records = Records(
        numeric=np.array([[0.05], [0.95], [np.nan]]),
        codes=np.array([[0, 2], [11, 0], [5, 1]], dtype=np.int32),
        groups=np.zeros(3, dtype=np.int64),
    )
    codes = by.codes(records)
    assert by.shape((0, 1, 2)) == (6, 6, 3)
    assert by.size((1, 2)) == 18
    expected = np.ravel_multi_index(codes, (6, 6, 3))
    np.testing.assert_array_equal(by.cells((0, 1, 2), codes), expected)
    np.testing.assert_array_equal(by.cells((0, 2), codes), codes[0] * 3 + codes[2])


def test_groups_that_do_not_fit_are_refused():
    groups = grouping().groups
    for bad in (groups[:2], (groups[0][1:], *groups[1:]), (groups[0] + 1, *groups[1:])):
        with pytest.raises(InputError):
            Grouping(SCHEMA, bad)
