"""``dpfair fit`` of directories, patterns and files that are read some rows at a time."""

from __future__ import annotations

import json
import shlex

import polars as pl
import pytest
from cli.commands import refused, run, run_json
from sample_tables import LOANS, make_loans

from dpfair import cli
from dpfair.cli import tables
from dpfair.data.in_parts import InParts
from dpfair.methods.base import PrivateClassifier
from dpfair.privacy.ledger_file import LedgerFile


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One table as a file, and as a directory of files; and its schema."""
    path = tmp_path_factory.mktemp("files")
    X, y = make_loans(300)
    frame = X.with_columns(repaid=pl.Series(y))
    frame.write_csv(path / "loans.csv")
    parts = path / "parts"
    parts.mkdir()
    for number in range(3):
        frame[100 * number : 100 * number + 100].write_csv(parts / f"{number}.csv")
    (parts / "README.txt").write_text("not a table")
    (parts / ".hidden.csv").write_text("not,a,table")
    (path / "loans.json").write_text(json.dumps(LOANS))
    return path


@pytest.fixture
def in_parts(monkeypatch):
    """How many parts the records of each fit had; 0 if they were in memory."""
    seen, learn = [], PrivateClassifier.learn

    def noted(model, records, run):
        seen.append(len(records.parts) if isinstance(records, InParts) else 0)
        return learn(model, records, run)

    monkeypatch.setattr(PrivateClassifier, "learn", noted)
    return seen


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_files_of_a_directory_that_are_not_read_are_named(command, folder, tmp_path, capsys):
    model = tmp_path / "m.dpfair"
    fit = (*fit_of(folder, folder / "parts"), "--out", model)
    _, _, said = run(capsys, *fit)
    if command != "fit":
        said = run(capsys, command, model, folder / "parts")[2]
    assert "are no tables and are not read: README.txt.\n" in said
    _, _, said = run(capsys, *fit_of(folder, folder / "parts" / "*.csv"))
    assert "not read" not in said


def fit_of(folder, data, *options):
    schema = ("--schema", folder / "loans.json")
    return ("fit", data, *schema, "--epsilon", "2", "--seed", "1", *options)


def test_directory_pattern_and_file_give_one_model(folder, tmp_path, in_parts, capsys):
    made = {}
    for name, data, *options in (
        ("file", folder / "loans.csv"),
        ("directory", folder / "parts"),
        ("pattern", folder / "parts" / "?.csv"),
        ("memory", folder / "loans.csv", "--memory", "1MB"),
    ):
        out = tmp_path / f"{name}.dpfair"
        assert run(capsys, *fit_of(folder, data, *options), "--out", out)[0] == 0
        made[name] = out.read_bytes()
    assert in_parts == [0, 3, 3, 1]
    assert len(set(made.values())) == 1


def test_a_large_file_is_read_in_parts_if_the_fit_allows(folder, in_parts, monkeypatch, capsys):
    monkeypatch.setattr(tables, "LARGE", 1000)
    data = folder / "loans.csv"
    for options in ([], ["--method", "boosting"], ["--unit", "age"]):
        assert run(capsys, *fit_of(folder, data, *options))[0] == 0
    assert in_parts == [1, 0, 0]


@pytest.mark.parametrize(
    "size", ["5", "GB", "1.5.2GB", "-1GB", "0GB", "10KB", "1PB", "1GBx", "1iB"]
)
def test_a_memory_that_is_no_size_is_refused(size, folder, capsys):
    said = refused(capsys, *fit_of(folder, folder / "loans.csv", f"--memory={size}"))
    assert "--memory to be a size such as 500MB or 2GB" in said
    assert repr(size) in said


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 5 * 10**8), ("1.5 gb", 15 * 10**8), ("2TB", 2 * 10**12), ("2GiB", 2 << 30)],
)
def test_sizes_are_decimal_unless_they_are_named_binary(text, size):
    assert tables.memory_size(text) == size


def test_memory_is_not_for_a_shipped_data_set(capsys):
    assert "leave it out" in refused(capsys, "fit", "adult", "--epsilon", "2", "--memory", "1GB")


@pytest.mark.parametrize(
    "options", [["--method", "boosting"], ["--method", "dp-fermi"], ["--unit", "age"]]
)
def test_a_fit_that_needs_the_table_says_so(options, folder, capsys):
    for data in (folder / "parts", folder / "loans.csv"):
        said = refused(capsys, *fit_of(folder, data, "--memory", "1GB", *options))
        assert "give one file, and leave out --memory" in said


def test_a_directory_needs_a_schema_and_the_message_says_how_to_get_one(folder, capsys):
    fit = ("fit", folder / "parts", "--epsilon", "2", "--label", "repaid", "--sensitive", "sex")
    said = refused(capsys, *fit)
    assert "pass it with --schema" in said
    command = said[said.index("dpfair schema propose") : said.index(")")]
    typed = command.replace("--label COLUMN", "--label repaid").replace("COLUMN", "sex")
    assert run(capsys, *shlex.split(typed)[1:-2])[0] == 0
    assert "leave out --memory" in refused(capsys, *fit, "--infer-schema")


def _wrong_column(path):
    pl.read_csv(path).rename({"job": "Job"}).write_csv(path)
    return "has no column 'job'; it has", "Did you mean 'Job'?"


def _no_label(path):
    pl.read_csv(path).drop("repaid").write_csv(path)
    return ("has no column 'repaid'",)


def _no_table(path):
    path.unlink()
    path.with_suffix(".parquet").write_bytes(b"PAR1, but not really")
    return ("is not a readable table",)


def _half_a_file(path):
    content = path.with_suffix(".parquet")
    pl.read_csv(path).write_parquet(content)
    content.write_bytes(content.read_bytes()[:-100])
    path.unlink()
    return ("is not a readable table",)


def _empty(path):
    path.write_bytes(b"")
    return ("is empty",)


def _broken_gzip(path):
    path.with_suffix(".csv.gz").write_bytes(b"\x1f\x8b\x08 broken")
    path.unlink()
    return ("is not a readable gzip file",)


def _a_model(path):
    fit = ["fit", "adult", "--epsilon", "1", "--method", "logistic", "--set", "steps=5"]
    assert cli.run([*fit, "--out", str(path)]) == 0
    return ("is a model of dpfair",)


@pytest.mark.parametrize(
    "spoil", [_wrong_column, _no_label, _no_table, _half_a_file, _empty, _broken_gzip, _a_model]
)
def test_a_bad_file_among_others_is_named_and_nothing_is_charged(spoil, folder, tmp_path, capsys):
    parts, ledger = tmp_path / "parts", tmp_path / "ledger"
    parts.mkdir()
    for file in (folder / "parts").glob("?.csv"):
        (parts / file.name).write_bytes(file.read_bytes())
    wanted = spoil(parts / "1.csv")
    LedgerFile.create(ledger, epsilon=5, delta=1e-5)
    schema = ("--schema", folder / "loans.json")
    paying = ("--ledger", ledger, "--out", tmp_path / "m")
    said = refused(capsys, "fit", parts, *schema, "--epsilon", "2", *paying)
    for text in (f"{parts / '1'}.", *wanted):
        assert text in said
    assert LedgerFile(ledger).entries == ()


def test_a_place_without_tables_is_named(folder, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("x")
    said = refused(capsys, *fit_of(folder, tmp_path))
    assert f"The directory {tmp_path} has no file that ends in .csv, " in said
    said = refused(capsys, *fit_of(folder, tmp_path / "*.csv"))
    assert f"of the pattern {tmp_path}/*.csv" in said


def test_files_without_rows_count_for_nothing(folder, tmp_path, capsys):
    parts, header = tmp_path / "parts", "age,income,job,sex,repaid\n"
    parts.mkdir()
    (parts / "a.csv").write_text(header)
    assert "has no rows" in refused(capsys, *fit_of(folder, parts))
    (parts / "b.csv").write_bytes((folder / "loans.csv").read_bytes())
    one, two = tmp_path / "one", tmp_path / "two"
    assert run(capsys, *fit_of(folder, parts), "--out", one)[0] == 0
    assert run(capsys, *fit_of(folder, folder / "loans.csv"), "--out", two)[0] == 0
    assert one.read_bytes() == two.read_bytes()


def test_a_file_that_is_read_is_not_written_to(folder, capsys):
    out = folder / "parts" / "1.csv"
    assert "which this command reads" in refused(
        capsys, *fit_of(folder, folder / "parts", "--out", out)
    )


def test_a_finished_job_does_not_need_its_files(folder, tmp_path, capsys):
    parts, ledger = tmp_path / "parts", tmp_path / "ledger"
    parts.mkdir()
    (parts / "a.csv").write_bytes((folder / "loans.csv").read_bytes())
    LedgerFile.create(ledger, epsilon=5, delta=1e-5)
    job = ("fit", parts / "*.csv", "--schema", folder / "loans.json", "--epsilon", "2")
    paying = ("--ledger", ledger, "--key", "monday")
    assert not run_json(capsys, *job, *paying)["earlier"]
    (parts / "a.csv").unlink()
    assert run_json(capsys, *job, *paying)["earlier"]


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_an_empty_name_is_not_the_current_directory(command, folder, tmp_path, monkeypatch, capsys):
    """A variable of the shell that is not set would have all tables of the directory."""
    model = tmp_path / "m.dpfair"
    assert run(capsys, *fit_of(folder, folder / "loans.csv", "--out", model))[0] == 0
    monkeypatch.chdir(folder / "parts")
    ask = fit_of(folder, "") if command == "fit" else (command, model, "")
    assert "The name of the table is empty" in refused(capsys, *ask)


def test_a_name_that_is_too_long_is_no_file(folder, capsys):
    assert "There is no file xxx" in refused(capsys, *fit_of(folder, "x" * 300))
    assert "There is no file xxx" in refused(capsys, *fit_of(folder, "x" * 300, "--memory", "1GB"))


def test_a_paid_evaluation_counts_the_rows_of_all_files(folder, tmp_path, capsys):
    model = tmp_path / "m.dpfair"
    assert run(capsys, *fit_of(folder, folder / "parts"), "--out", model)[0] == 0
    asked = ("evaluate", model, folder / "parts", "--private-epsilon")
    found = run_json(capsys, *asked, "50")
    assert abs(found["n"] - 300) < 5
    exact = run_json(capsys, "evaluate", model, folder / "parts")
    assert found["accuracy"] == pytest.approx(exact["accuracy"], abs=0.02)


def test_a_paid_evaluation_of_persons_takes_one_file(folder, tmp_path, capsys):
    model, whole = tmp_path / "m.dpfair", folder / "loans.csv"
    assert run(capsys, *fit_of(folder, whole, "--unit", "age", "--out", model))[0] == 0
    said = refused(capsys, "evaluate", model, folder / "parts", "--private-epsilon", "1")
    assert "looked for in all of the table: give one file" in said
    assert run_json(capsys, "evaluate", model, whole, "--private-epsilon", "9")["n"] < 300
