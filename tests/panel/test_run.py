"""Which runs are planned, and that finished ones are not made again."""

from __future__ import annotations

import pytest

from scripts.panel import run
from scripts.panel.halves import halves
from scripts.panel.tables import TABLES

FEW = ["--contenders", "constant", "logistic", "--facts", "bounds", "--modes", "reuse"]


def test_filters():
    runs = run.planned(["--tables", "HI", "HMDA", "--budgets", "1", "3", "--seeds", "7-9", *FEW])
    assert {r.table.name for r in runs} == {"HI", "HMDA"}
    assert {r.contender.name for r in runs} == {"constant", "logistic"}
    assert {r.seed for r in runs} == {7, 8, 9}
    assert len(runs) == len({r.key for r in runs}) == 2 * (1 + 2) * 3


def test_a_half_has_its_tables_only():
    names = {r.table.name for r in run.planned(["--half", "choosing", *FEW])}
    assert names == {name for name, half in halves(TABLES).items() if half == "choosing"}


def test_the_default_is_every_table():
    assert {r.table.name for r in run.planned([])} == {table.name for table in TABLES}


@pytest.mark.parametrize("wrong", [["--tables", "no"], ["--half", "no"], ["--contenders", "no"]])
def test_unknown_names_are_refused(wrong):
    with pytest.raises(SystemExit):
        run.planned(wrong)


def test_finished_runs_are_not_made_again(tmp_path, monkeypatch, capsys):
    made = []

    def execute(each):
        made.append(each.key)
        return {"seed": each.seed}

    monkeypatch.setattr(run, "CACHE", tmp_path)
    monkeypatch.setattr(run, "JOBS", 1)
    monkeypatch.setattr(run, "execute", execute)
    some = ["--tables", "HI", "--budgets", "1", *FEW, "--seeds"]
    run.main([*some, "1-2"])
    run.main([*some, "1-3"])
    assert len(made) == len(set(made)) == 2 * 3
    assert "6 of 6 runs" in capsys.readouterr().err
