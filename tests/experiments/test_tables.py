"""The tables as data: what the paper printed."""

from __future__ import annotations

import pytest

from dpfair.errors import InputError
from dpfair.experiments.tables import published_tables, select_tables


def test_there_are_twelve_tables_of_six_rows():
    tables = published_tables()
    assert [len(t.rows) for t in tables] == [6] * 12
    assert {(t.dataset, t.epsilon, t.accountant) for t in tables} == {
        (d, e, a) for d in ("adult", "credit") for e in (3, 9) for a in ("prv", "rdp", "gdp")
    }
    assert all(t.rows[0].method == "algorithm2" for t in tables)


def test_published_numbers_and_settings():
    table = select_tables("adult-3-prv")[0]
    assert (table.rows[0].accuracy, table.rows[0].gap) == (0.7763, 0.0074)
    assert (table.rows[5].weight, table.rows[5].accuracy, table.rows[5].gap) == (
        2.5,
        0.7673,
        0.0099,
    )
    stds = {t.name: t.noise_std for t in published_tables()}
    assert stds["credit-9-rdp"] == 2.6
    assert stds["adult-9-gdp"] == 1.45
    assert {t.name for t in published_tables() if t.epochs == 100} == {
        "credit-9-prv", "credit-9-rdp", "credit-9-gdp",
    }  # fmt: skip


def test_dp_fermi_rows_agree_between_accountants():
    seen = {}
    for table in published_tables():
        for row in table.rows[1:]:
            key = (table.dataset, table.epsilon, row.weight)
            assert seen.setdefault(key, (row.accuracy, row.gap)) == (row.accuracy, row.gap)


def test_an_unknown_table_is_refused():
    with pytest.raises(InputError, match="no such table"):
        select_tables("adult-5-prv")
