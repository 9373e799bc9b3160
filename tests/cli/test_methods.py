"""``dpfair methods``, and every method through every command."""

from __future__ import annotations

import json

import polars as pl
import pytest
from cli.commands import run
from sample_tables import LOANS, make_loans

from dpfair import FairPostProcessor, LedgerFile, save_model
from dpfair.cli.settings import methods_from_tables, settings_of
from dpfair.learners import LEARNERS
from dpfair.methods import METHODS
from dpfair.methods.fair_classifier import PrivateFairClassifier


def test_the_list_has_one_line_for_every_method_and_learner(capsys):
    code, out, err = run(capsys, "methods")
    assert (code, err) == (0, "")
    lines = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert lines == [*METHODS, *LEARNERS]
    assert out.count("(Python only)") == len(METHODS) - len(methods_from_tables())
    for mark in ("**", "``", ":class:"):
        assert mark not in out


def test_every_method_and_learner_is_described_by_one_sentence(capsys):
    found = json.loads(run(capsys, "methods", "--json")[1])
    for row in (*found["methods"], *found["learners"]):
        assert row["description"].endswith(".")


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_its_settings_and_defaults(name, capsys):
    [row] = json.loads(run(capsys, "methods", name, "--json")[1])["methods"]
    assert row["name"] == name
    assert row["class"] == METHODS[name].__name__
    known = METHODS[name]().get_params()
    assert row["settings"] == {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in known.items()
        if key in settings_of(METHODS[name]())
    }
    code, out, _ = run(capsys, "methods", name)
    assert code == 0
    for key in row["settings"]:
        assert f"    {key.rpartition('__')[2]} " in out


def test_defaults_are_shown_as_they_are_typed(capsys):
    _, out, _ = run(capsys, "methods", "fair")
    for line in ("costs              1,1", "target             none", "strict             false"):
        assert f"    {line}\n" in out
    for group in PrivateFairClassifier().nested():
        assert f"  settings of the {group}:\n" in out


def test_an_unknown_name_is_refused_with_the_known_ones(capsys):
    code, out, err = run(capsys, "methods", "best")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for name in (*METHODS, *LEARNERS):
        assert name in err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("methods")
    X, y = make_loans(400)
    X.with_columns(repaid=pl.Series(y)).write_csv(path / "loans.csv")
    (path / "loans.json").write_text(json.dumps(LOANS))
    return path


@pytest.mark.parametrize("method", methods_from_tables())
def test_every_method_works_from_the_command_line(method, folder, capsys, tmp_path):
    data, model, ledger = folder / "loans.csv", tmp_path / "m.dpfair", tmp_path / "loans.ledger"
    LedgerFile.create(ledger, 3, 1e-5).close()
    fit = ["fit", data, "--schema", folder / "loans.json", "--epsilon", 2, "--method", method]
    paid = ["--ledger", ledger, "--key", "monday"]
    code, out, err = run(capsys, *fit, *paid, "--out", model, "--report", tmp_path / "r.html")
    assert (code, err) == (0, "")
    assert "Privacy account" in out
    code, _, err = run(capsys, *fit, *paid, "--out", tmp_path / "again.dpfair")
    assert (code, "was done before" in err) == (0, True)
    assert (tmp_path / "again.dpfair").read_bytes() == model.read_bytes()

    code, out, _ = run(capsys, "predict", model, data)
    assert (code, len(out.splitlines())) == (0, 401)
    assert run(capsys, "evaluate", model, data)[0] == 0
    asked = ["--private-epsilon", "0.2", "--ledger", ledger]
    assert run(capsys, "evaluate", model, data, *asked)[0] == 0
    code, out, err = run(capsys, "frontier", model)
    if hasattr(METHODS[method], "frontier"):
        assert code == 0
    else:
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "has no table of scores" in err
    assert run(capsys, "report", model, "--out", tmp_path / "r.html")[0] == 0
    code, out, _ = run(capsys, "verify", model, "--ledger", ledger)
    assert code == 0, out
    assert "paid for this model" in out
    assert run(capsys, "audit", model, "--samples", "400", "--seed", "1")[0] == 0
    assert f"fit {METHODS[method].__name__}" in run(capsys, "ledger", "history", ledger)[1]


def test_a_model_whose_classifier_is_not_in_its_file_is_shown_but_decides_nothing(
    folder, capsys, tmp_path
):
    X, _ = make_loans(400)
    model = FairPostProcessor(income, 1.0, sensitive="sex", groups=["f", "m"], held_out=True)
    path = save_model(model.fit(X), tmp_path / "m.dpfair")
    for command in ("predict", "evaluate"):
        code, out, err = run(capsys, command, path, folder / "loans.csv")
        assert (code, out) == (2, "")
        assert "load_model(path, classifier=...)" in err
        assert err.count("\n") == 1
    assert "has no table of scores" in run(capsys, "frontier", path)[2]
    assert run(capsys, "verify", path)[0] == 0
    assert run(capsys, "report", path, "--out", tmp_path / "r.html")[0] == 0
    assert run(capsys, "audit", path, "--samples", "400", "--seed", "1")[0] == 0


def income(X):
    return (X["income"].to_numpy() > 50).astype(int)
