"""``dpfair schema discover``."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from dpfair import LedgerFile, Schema, cli

KINDS = """
[label]
name = "repaid"
values = ["no", "yes"]

[sensitive]
name = "sex"
values = ["f", "m"]

[[columns]]
name = "age"
kind = "numeric"

[[columns]]
name = "job"
kind = "categorical"
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    table = {
        "age": rng.integers(18, 80, 3000),
        "job": rng.choice(["clerk", "nurse"], 3000),
        "sex": rng.choice(["f", "m"], 3000),
        "repaid": rng.choice(["no", "yes"], 3000),
    }
    pl.DataFrame(table).write_csv(tmp_path / "loans.csv")
    (tmp_path / "kinds.toml").write_text(KINDS)
    return tmp_path


def discover(folder, *more):
    schema = ["--schema", str(folder / "kinds.toml"), "--epsilon", "1"]
    return cli.run(["schema", "discover", str(folder / "loans.csv"), *schema, *map(str, more)])


def test_the_schema_is_written_and_can_be_used(folder, capsys):
    assert discover(folder, "--out", folder / "found.toml") == 0
    found = Schema.load(folder / "found.toml")
    assert found.categorical[0].values == ("clerk", "nurse")
    assert found.discovery.epsilon == 1
    fit = ["fit", str(folder / "loans.csv"), "--schema", str(folder / "found.toml")]
    assert cli.run([*fit, "--epsilon", "1", "--out", str(folder / "m.dpfair")]) == 0
    assert "facts were found in the same records before" in capsys.readouterr().out


def test_a_ledger_pays_once_for_a_key(folder, capsys):
    LedgerFile.create(folder / "l", 3, 1e-5).close()
    pays = ("--ledger", folder / "l", "--key", "look")
    assert discover(folder, *pays, "--json") == 0
    first = json.loads(capsys.readouterr().out)
    spent = LedgerFile(folder / "l").spent
    assert 0 < spent <= 1
    assert discover(folder, *pays, "--json") == 0
    assert json.loads(capsys.readouterr().out)["schema"] == first["schema"]
    assert LedgerFile(folder / "l").spent == spent


def test_a_dry_run_charges_nothing(folder, capsys):
    LedgerFile.create(folder / "l", 3, 1e-5).close()
    (folder / "loans.csv").unlink()
    assert discover(folder, "--ledger", folder / "l", "--dry-run") == 0
    assert "find undeclared facts" in capsys.readouterr().out
    assert LedgerFile(folder / "l").spent == 0


def test_beyond_the_budget_it_is_refused(folder, capsys):
    LedgerFile.create(folder / "l", 0.5, 1e-5).close()
    assert discover(folder, "--ledger", folder / "l") == 3
    assert "nothing was charged" in capsys.readouterr().err


def test_a_complete_schema_has_nothing_to_find(folder, capsys):
    schema = Schema.from_toml(
        KINDS.replace('"numeric"', '"numeric"\nedges = [30]').replace(
            '"categorical"', '"categorical"\nvalues = ["clerk"]'
        )
    )
    (folder / "kinds.toml").write_text(schema.to_toml())
    assert discover(folder) == 2
    assert "there is nothing to find" in capsys.readouterr().err
