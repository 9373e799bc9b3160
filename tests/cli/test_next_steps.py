"""A fit ends with commands that work on its own files."""

from __future__ import annotations

import copy
import json
import shlex
from dataclasses import replace

import polars as pl
from sample_models import fitted
from sample_tables import LOANS, make_loans

from dpfair import LedgerFile, cli
from dpfair.cli.next_steps import advice


def typed(capsys, *arguments):
    capsys.readouterr()
    code = cli.run([str(a) for a in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_commands_after_a_fit_run_as_they_are_printed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_loans(300)
    frame = X.with_columns(repaid=pl.Series(y))
    for name in ("loans.csv", "NEW.csv", "HELD-OUT.csv"):
        frame.write_csv(name)
    (tmp_path / "loans.json").write_text(json.dumps(LOANS))
    LedgerFile.create("my loans.ledger", 9, 1e-5).close()
    fit = ["fit", "loans.csv", "--schema", "loans.json", "--epsilon", "2"]
    paid = ["--ledger", "my loans.ledger", "--key", "a"]
    for more in (["--out", "my model.dpfair", *paid], ["--out", "m.dpfair", "--report", "r.html"]):
        code, out, _ = typed(capsys, *fit, *more)
        assert code == 0
        _, _, steps = out.partition("\nNext:\n")
        assert "The certificate promises little about" in out
        assert "  - use more records, or a larger --epsilon" in out
        assert "state rows" not in out  # they are declared
        lines = [line.partition(" # ")[0] for line in steps.splitlines()]
        assert len(lines) == 3
        for line in lines:
            program, *arguments = shlex.split(line)
            assert program == "dpfair"
            assert typed(capsys, *arguments)[0] == 0, line
    assert "--ledger" not in steps


def test_a_fit_without_a_file_says_that_nothing_is_kept(capsys, tmp_path):
    X, y = make_loans(300)
    X.with_columns(repaid=pl.Series(y)).write_csv(tmp_path / "loans.csv")
    (tmp_path / "loans.json").write_text(json.dumps(LOANS))
    fit = ["fit", tmp_path / "loans.csv", "--schema", tmp_path / "loans.json", "--epsilon", "2"]
    _, out, _ = typed(capsys, *fit)
    assert "not written to a file" in out
    dry, wet = (json.loads(typed(capsys, *fit, "--json", *more)[1]) for more in (["--dry-run"], []))
    assert (dry["method"], dry["title"]) == (wet["method"], wet["title"])
    assert dry["method"] == "fair"


def test_advice_is_given_where_a_certificate_promises_little():
    model = fitted("corrected")
    strong = replace(
        model.certificate_.fairness, gap_bound=0.001, accuracy_bound=0.99, beats_constant=True
    )
    weak = replace(strong, gap_bound=0.3)
    for claim, given in ((strong, False), (weak, True)):
        other = copy.copy(model)
        other.certificate_ = replace(model.certificate_, fairness=claim)
        assert bool(advice(other)) == given
    other.schema_ = replace(other.schema_, rows=None)
    assert any(line.startswith("state rows in the schema") for line in advice(other))
    other.unit = "person"
    assert not any("rows" in line for line in advice(other))


def test_a_model_that_saw_no_declared_label_ends_with_an_error(capsys, tmp_path):
    X, y = make_loans(600)
    X.with_columns(repaid=pl.Series(y)).write_csv(tmp_path / "loans.csv")
    other = {**LOANS, "label": {"name": "repaid", "values": ["bad", "good"]}}
    (tmp_path / "loans.json").write_text(json.dumps(other))
    fit = ["fit", tmp_path / "loans.csv", "--schema", tmp_path / "loans.json", "--epsilon", "2"]
    code, out, err = typed(capsys, *fit, "--out", tmp_path / "m.dpfair")
    assert code == 1
    assert "OF NO USE: nearly all labels are none of bad, good" in out
    assert "Next:" not in out
    assert "nearly all labels are none of bad/good" in err.splitlines()[-1]
    assert (tmp_path / "m.dpfair").exists()  # it was paid for
    code, out, _ = typed(capsys, *fit, "--json")
    assert code == 1
    assert json.loads(out)["judgement"]["gap"]["grade"] == "vacuous"
    code, out, _ = typed(capsys, "verify", tmp_path / "m.dpfair")
    assert code == 0
    assert "gap vacuous, accuracy vacuous" in out
    assert out.endswith("the model may be of little use, see the vacuous grades.\n")


def test_an_account_says_why_its_lines_do_not_add_up(capsys, tmp_path):
    X, y = make_loans(300)
    X.with_columns(repaid=pl.Series(y)).write_csv(tmp_path / "loans.csv")
    (tmp_path / "loans.json").write_text(json.dumps(LOANS))
    fit = ["fit", tmp_path / "loans.csv", "--schema", tmp_path / "loans.json", "--epsilon", "2"]
    explained = "A record is in one scope only"
    assert explained in typed(capsys, *fit, "--dry-run")[1]
    assert explained not in typed(capsys, *fit, "--dry-run", "--mode", "reuse")[1]
