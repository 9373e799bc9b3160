"""``dpfair schema propose`` and ``dpfair check``: from a stranger's file to a schema that fits."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import polars as pl
import pytest
import typer
from sample_tables import make_loans

from dpfair import Schema, cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Loans with semicolons, decimal commas and an identifier."""
    path = tmp_path_factory.mktemp("schema")
    table, labels = make_loans(1500)
    table = table.with_columns(
        pl.col("income").cast(str).str.replace(r"\.", ","),
        repaid=labels,
        person=np.arange(1500),
    )
    table.write_csv(path / "loans.csv", separator=";")
    (path / "latin.csv").write_bytes(
        (path / "loans.csv").read_text().replace("nurse", "Ärztin").encode("cp1252")
    )
    return path


def run(capsys, *arguments):
    code = cli.run([str(a) for a in arguments])
    return (code, *capsys.readouterr())


def propose(capsys, path, *more):
    return run(capsys, "schema", "propose", path, "--label", "repaid", "--sensitive", "sex", *more)


def test_a_proposal_is_finished_checked_and_fitted(folder, capsys, tmp_path):
    path = tmp_path / "s.toml"
    code, out, err = propose(capsys, folder / "loans.csv", "--out", path)
    assert (code, out) == (0, "")
    assert "not private" in err
    assert "repaid = yes means accepted" in err
    assert "left out (like an identifier): person." in err
    schema = Schema.load(path)
    assert not schema.reviewed
    assert schema.file.decimal == ","
    assert [c.name for c in schema.columns] == ["age", "income", "job"]
    code, out, _ = run(capsys, "check", folder / "loans.csv", "--schema", path)
    assert code == 0
    assert out.startswith("NOT PRIVATE")
    assert "write reviewed = true" in out
    assert out.endswith("Nothing makes it impossible; look at the remarks above first.\n")
    fit = ["fit", folder / "loans.csv", "--schema", path, "--epsilon", "3", "--json"]
    with pytest.warns(UserWarning, match="not reviewed"):
        code, out, _ = run(capsys, *fit)
    assert code == 0
    assert json.loads(out)["private"] is False
    path.write_text(path.read_text().replace("reviewed = false", "reviewed = true"))
    code, out, _ = run(capsys, *fit)
    assert json.loads(out)["private"] is True


def test_the_text_is_printed_without_a_file(folder, capsys):
    code, out, _ = propose(capsys, folder / "loans.csv", "--accept", "no")
    assert code == 0
    assert Schema.from_toml(out).label.values == ("yes", "no")
    code, out, _ = propose(capsys, folder / "loans.csv", "--kinds-only")
    assert "bounds = " not in out
    code, out, _ = propose(capsys, folder / "loans.csv", "--json")
    found = json.loads(out)
    assert found["private"] is False
    assert found["accepted"]["value"] == "yes"
    assert found["left_out"] == {"person": "like an identifier"}
    _, out, _ = propose(capsys, folder / "loans.csv", "--json", "--kinds-only")
    columns = json.loads(out)["schema"]["columns"]
    assert all(column.keys() == {"name", "kind"} for column in columns)


def test_a_person_is_asked_on_a_terminal(folder, capsys, monkeypatch):
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    asked = []
    monkeypatch.setattr(
        typer, "prompt", lambda text, **how: asked.append((text, how["default"])) or "no"
    )
    code, out, _ = propose(capsys, folder / "loans.csv")
    assert code == 0
    assert asked == [("Which value of repaid means accepted (no, yes)?", "yes")]
    assert Schema.from_toml(out).label.values == ("yes", "no")


class Typed(io.StringIO):
    """What somebody types on a terminal."""

    def isatty(self):
        return True


def test_a_question_is_asked_again_and_may_be_left_open(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", Typed("maybe\nno\n"))
    code, out, err = propose(capsys, folder / "loans.csv")
    assert code == 0
    assert Schema.from_toml(out[out.index("#") :]).label.values == ("yes", "no")
    assert "'maybe' is no value of the label" in err
    monkeypatch.setattr(sys, "stdin", Typed(""))
    code, out, err = propose(capsys, folder / "loans.csv")
    assert code == 130
    assert "dpfair: Stopped: the question was not answered." in err.splitlines()[-1]


def test_a_schema_that_somebody_may_have_corrected_is_not_replaced(folder, capsys, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text("corrected")
    code, _, err = propose(capsys, folder / "loans.csv", "--out", path)
    assert code == 2
    assert "may have been corrected" in err
    assert path.read_text() == "corrected"


def test_another_encoding_is_assumed_and_said(folder, capsys):
    code, out, err = propose(capsys, folder / "latin.csv")
    assert code == 0
    assert "assumed encoding cp1252" in err
    schema = Schema.from_toml(out)
    assert schema.file.encoding == "cp1252"
    assert "Ärztin" in schema.categorical[0].values


def test_a_stated_delimiter(folder, capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text((folder / "loans.csv").read_text().replace(";", "^"))
    code, _, err = propose(capsys, path)
    assert code == 2
    assert "state delimiter = '^'" in err
    code, out, _ = propose(capsys, path, "--delimiter", "^")
    assert code == 0
    assert Schema.from_toml(out).file.delimiter == "^"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--accept", "maybe"], "no value 'maybe'"),
        (["--delimiter", "ab"], "one character"),
        (["--encoding", "rot13"], "encoding"),
        (["--label", "Repaid"], "Did you mean 'repaid'?"),
        (["--label", "income"], "a label has two"),
    ],
)
def test_mistakes_are_one_sentence(folder, capsys, options, message):
    code, out, err = propose(capsys, folder / "loans.csv", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_a_file_that_cannot_be_read_is_one_sentence(folder, capsys):
    name = folder / ("x" * 300)
    assert propose(capsys, name) == (2, "", f"dpfair: There is no file {name}.\n")


def test_check_fails_if_a_fit_would_be_spoilt(folder, capsys, tmp_path):
    schema = tmp_path / "s.toml"
    propose(capsys, folder / "loans.csv", "--out", schema)
    schema.write_text(schema.read_text().replace('["no", "yes"]', '["N", "Y"]'))
    code, out, _ = run(capsys, "check", folder / "loans.csv", "--schema", schema)
    assert code == 1
    assert "PROBLEM  No record has a declared label" in out
    code, out, _ = run(capsys, "check", folder / "loans.csv", "--schema", schema, "--json")
    assert code == 1
    found = json.loads(out)
    assert (found["private"], found["passed"]) == (False, False)
    assert found["label"]["undeclared"].keys() == {"no", "yes"}
    assert found["lines"] == [0, 0]


def test_ragged_lines_are_reported(folder, capsys, tmp_path):
    schema, path = tmp_path / "s.toml", tmp_path / "t.csv"
    propose(capsys, folder / "loans.csv", "--out", schema)
    path.write_text((folder / "loans.csv").read_text() + "1;2\n" + "1;2;3;4;5;6;7\n" * 3)
    _, out, _ = run(capsys, "check", path, "--schema", schema)
    assert "1 with too few cells, 3 with too many" in out


def test_a_fit_says_how_to_see_what_is_undeclared(folder, capsys, tmp_path):
    schema = tmp_path / "s.toml"
    propose(capsys, folder / "loans.csv", "--out", schema)
    text = schema.read_text().replace("reviewed = false", "reviewed = true")
    fit = ["fit", folder / "loans.csv", "--schema", schema, "--epsilon", "3"]
    schema.write_text(text)
    _, out, _ = run(capsys, *fit)
    assert "dpfair check" not in out
    schema.write_text(text.replace('values = ["f", "m"]', 'values = ["m", "x"]'))
    _, out, _ = run(capsys, *fit)
    assert "undeclared groups, by the noisy counts" in out
    assert f"dpfair check {folder / 'loans.csv'} --schema {schema}" in out


def test_a_label_of_three_values_is_refused_without_a_schema(folder, capsys, tmp_path):
    path = tmp_path / "t.csv"
    lines = (folder / "loans.csv").read_text().splitlines()
    path.write_text("\n".join([*lines, *(line.replace(";yes;", ";open;") for line in lines[1:])]))
    fit = ["fit", path, "--label", "repaid", "--sensitive", "sex", "--epsilon", "3"]
    code, _, err = run(capsys, *fit, "--infer-schema")
    assert code == 2
    assert "exactly two values, got 3" in err
    assert "dpfair schema propose" in err
    code, out, err = propose(capsys, path)
    assert code == 0
    assert "Other values of the label 'repaid' are not used: open (" in err
    assert "PLEASE CHECK" in out


def test_a_ledger_asks_for_a_review(folder, capsys, tmp_path):
    schema, ledger = tmp_path / "s.toml", tmp_path / "l"
    propose(capsys, folder / "loans.csv", "--out", schema)
    run(capsys, "ledger", "init", ledger, "--epsilon", "3", "--delta", "1e-5")
    pays = ("--epsilon", "1", "--ledger", ledger, "--out", tmp_path / "m")
    for ask in (("fit", folder / "loans.csv"), ("schema", "discover", folder / "loans.csv")):
        code, _, err = run(capsys, *ask, "--schema", schema, *pays)
        assert code == 2
        assert f"{schema} says reviewed = false" in err
        assert "then write reviewed = true" in err
    named = ("--label", "repaid", "--sensitive", "sex", "--infer-schema")
    code, _, err = run(capsys, "fit", folder / "loans.csv", *named, *pays)
    assert code == 2
    assert "pass a reviewed schema with --schema" in err


def test_one_schema_is_enough(folder, capsys, tmp_path):
    schema = tmp_path / "s.toml"
    propose(capsys, folder / "loans.csv", "--out", schema)
    both = ("--schema", schema, "--infer-schema", "--epsilon", "1")
    code, _, err = run(capsys, "fit", folder / "loans.csv", *both)
    assert (code, err) == (2, "dpfair: Give either --schema or --infer-schema, not both.\n")
    code, _, err = run(capsys, "fit", "adult", "--infer-schema", "--epsilon", "1")
    assert (code, "leave out --infer-schema" in err) == (2, True)


def test_check_says_what_it_cannot_compare_and_a_model_can(folder, capsys, tmp_path):
    schema, model = tmp_path / "s.toml", tmp_path / "m.dpfair"
    propose(capsys, folder / "loans.csv", "--out", schema, "--kinds-only")
    schema.write_text(schema.read_text().replace("reviewed = false", "reviewed = true"))
    table = folder / "loans.csv"
    out = run(capsys, "check", table, "--schema", schema)[1]
    assert "declares no bounds or categories of age, income, job" in out
    fit = ("fit", table, "--schema", schema, "--epsilon", "5", "--out", model, "--seed", "1")
    assert run(capsys, *fit)[0] == 0
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("nurse", "Nurse").replace("clerk", "Clerk"))
    code, out, _ = run(capsys, "check", other, "--model", model)
    assert code == 1
    assert "They differ from categories by spaces or capitals only" in out
    assert "Not compared" not in out
    assert out.endswith("This would spoil the decisions of this model.\n")
    assert run(capsys, "check", table, "--model", model)[0] == 0
    assert run(capsys, "check", table)[0] == 2


def test_a_model_that_is_not_private_is_not_to_be_shared(folder, capsys, tmp_path):
    named = ("--label", "repaid", "--sensitive", "sex", "--infer-schema", "--epsilon", "3")
    with pytest.warns(UserWarning, match="not reviewed"):
        _, out, _ = run(capsys, "fit", folder / "latin.csv", *named, "--out", tmp_path / "m")
    assert "# internal: the model is not private" in out
    assert "a page to share" not in out
