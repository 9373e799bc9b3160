"""The rule that divides the tables."""

from __future__ import annotations

from dataclasses import replace

from scripts.panel.halves import HALVES, half_of, halves
from scripts.panel.tables import TABLES


def test_tables_go_to_the_halves_in_turns(table):
    tables = [replace(table, name=name) for name in ("d", "B", "a", "C")]
    found = halves(tables)
    assert [found[name] for name in ("a", "B", "C", "d")] == [*HALVES, *HALVES]


def test_relatives_stay_together_and_take_one_turn(table):
    relatives = {"a": ("b",), "b": ("a",), "c": (), "d": ()}
    tables = [replace(table, name=name, relatives=own) for name, own in relatives.items()]
    first, second = HALVES
    assert halves(tables) == {"a": first, "b": first, "c": second, "d": first}


def test_relatives_of_the_panel_name_each_other_and_share_a_half():
    by_name = {table.name: table for table in TABLES}
    found = halves(TABLES)
    for table in TABLES:
        for relative in table.relatives:
            assert table.name in by_name[relative].relatives
            assert found[table.name] == found[relative]


def test_every_table_is_in_one_half():
    sizes = [len(half_of(TABLES, half)) for half in HALVES]
    assert sum(sizes) == len(TABLES)
    assert min(sizes) >= 6
