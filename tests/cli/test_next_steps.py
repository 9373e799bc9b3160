"""A fit ends with commands that work on its own files."""

from __future__ import annotations

import json
import shlex

import polars as pl
from sample_tables import LOANS, make_loans

from dpfair import LedgerFile, cli


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
