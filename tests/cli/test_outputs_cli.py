"""What commands write: never over what they read, never over a ledger, and nothing gets lost."""

from __future__ import annotations

import errno
import json
import os

import polars as pl
import pytest
from cli.commands import refused
from sample_tables import LOANS, make_loans

from dpfair import LedgerFile, LogisticLearner, cli, load_model
from dpfair.learners import LEARNERS
from dpfair.learners.scorer import MAX_WEIGHTS
from dpfair.methods.limits import MAX_HEADER


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The content of a model file."""
    folder = tmp_path_factory.mktemp("model")
    write_inputs(folder)
    where = [str(folder / "loans.csv"), "--schema", str(folder / "loans.json")]
    out = folder / "m.dpfair"
    assert cli.run(["fit", *where, "--epsilon", "1", "--mode", "reuse", "--out", str(out)]) == 0
    return out.read_bytes()


def write_inputs(folder):
    X, y = make_loans(300)
    X.with_columns(repaid=pl.Series(y)).write_csv(folder / "loans.csv")
    (folder / "loans.json").write_text(json.dumps(LOANS))


@pytest.fixture
def folder(model, tmp_path, monkeypatch):
    write_inputs(tmp_path)
    (tmp_path / "m.dpfair").write_bytes(model)
    monkeypatch.chdir(tmp_path)
    for name in ("loans.ledger", "other.ledger"):
        LedgerFile.create(name, 2, 1e-5).close()
    (tmp_path / "link").symlink_to("loans.ledger")
    os.link("loans.csv", "second.csv")
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


FIT = ["fit", "loans.csv", "--schema", "loans.json", "--ledger", "loans.ledger", "--mode", "reuse"]
PAID = [*FIT, "--epsilon", "1"]
EXPORT = ["ledger", "export", "loans.ledger"]
LEDGER, READ, TWICE = "a ledger file is never overwritten", "which this command reads", "that place"
CLASHES = {
    "model over its ledger": ([*PAID, "--out", "loans.ledger"], LEDGER),
    "report over its ledger": ([*PAID, "--report", "loans.ledger"], LEDGER),
    "model over another ledger": ([*PAID, "--out", "other.ledger"], LEDGER),
    "model over a link to the ledger": ([*PAID, "--out", "link"], LEDGER),
    "model over the log of the ledger": ([*PAID, "--out", "loans.ledger-wal"], LEDGER),
    "model over the data": ([*PAID, "--out", "loans.csv"], READ),
    "model over a second name of the data": ([*PAID, "--out", "second.csv"], READ),
    "report over the schema": ([*PAID, "--report", "./loans.json"], READ),
    "report over the model": ([*PAID, "--out", "new", "--report", "./new"], TWICE),
    "export over its ledger": ([*EXPORT, "--out", "loans.ledger"], LEDGER),
    "export over another ledger": ([*EXPORT, "--out", "other.ledger"], LEDGER),
    "decisions over the model": (["predict", "m.dpfair", "loans.csv", "--out", "m.dpfair"], READ),
    "decisions over the data": (["predict", "m.dpfair", "loans.csv", "--out", "loans.csv"], READ),
    "decisions over a ledger": (["predict", "m.dpfair", "loans.csv", "--out", "link"], LEDGER),
    "page over the model": (["report", "m.dpfair", "--out", "m.dpfair"], READ),
    "page over a ledger": (["report", "m.dpfair", "--out", "loans.ledger"], LEDGER),
    "new ledger over a ledger": (
        ["ledger", "init", "loans.ledger", "--epsilon", "1", "--delta", "1e-5"],
        "a ledger is never overwritten",
    ),
}


@pytest.mark.parametrize("clash", CLASHES)
def test_no_command_writes_over_a_ledger_or_what_it_reads(clash, folder, capsys):
    arguments, said = CLASHES[clash]
    before = contents(folder)
    assert said in refused(capsys, *arguments)
    assert contents(folder) == before


def test_a_missing_table_is_not_even_looked_for(folder, capsys):
    arguments = ["fit", "nowhere.csv", *PAID[2:], "--out", "loans.ledger"]
    assert LEDGER in refused(capsys, *arguments)


@pytest.mark.parametrize("command", ["demo", "reproduce"])
def test_results_in_a_folder_spare_a_ledger_in_it(command, folder, capsys):
    LedgerFile.create("report.html", 2, 1e-5).close()
    LedgerFile.create("rows.csv", 2, 1e-5).close()
    before = contents(folder)
    assert LEDGER in refused(capsys, command, "--out", ".")
    assert contents(folder) == before
    assert "not a folder" in refused(capsys, command, "--out", "loans.csv")
    assert "cannot be made" in refused(capsys, command, "--out", "loans.csv/deeper")


@pytest.mark.parametrize("command", [["report", "m.dpfair", "--out"], [*PAID, "--report"]])
def test_a_report_is_no_pdf(command, folder, capsys):
    said = refused(capsys, *command, "page.pdf")
    assert "A report is an HTML page: expected a name such as page.html." in said
    assert not (folder / "page.pdf").exists()
    assert not LedgerFile("loans.ledger").entries


@pytest.mark.parametrize("option", ["--out", "--report"])
@pytest.mark.parametrize("place", ["/proc/new", "pipe", "a" * 300, "loop", "lost"])
def test_what_cannot_be_written_is_refused_before_anything_is_paid(option, place, folder, capsys):
    os.mkfifo("pipe")
    (folder / "loop").symlink_to("loop")
    (folder / "lost").symlink_to("no/such/folder")
    assert "cannot be written" in refused(capsys, *PAID, option, place)
    assert not LedgerFile("loans.ledger").entries


def failing(monkeypatch, names):
    """The disk fails for files of these names."""
    replace = os.replace

    def fail(source, target):
        if os.path.basename(target) in names:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)


@pytest.mark.parametrize("options", [["--out"], ["--key", "monday", "--report"]])
def test_a_paid_model_is_rescued_when_its_place_fails(options, folder, capsys, monkeypatch):
    failing(monkeypatch, ["new"])
    said = refused(capsys, *PAID, *options, "new")
    assert "No space left on device. The model was written to " in said
    [rescued] = {name for name in contents(folder) if name.startswith("rescued-")}
    assert not list(folder.glob(".dpfair-*"))
    assert str(folder / rescued) in said
    paid = LedgerFile("loans.ledger").entries
    assert load_model(rescued).ledger_.row is not None
    assert len(paid) == 1


class Meddling(LogisticLearner):
    """Makes the ledger file unusable while it trains, when the job is paid."""

    def train(self, *how):
        os.chmod("loans.ledger", 0o644)
        return super().train(*how)


def test_a_model_that_the_ledger_cannot_keep_is_rescued(folder, capsys):
    LEARNERS["meddling"] = Meddling
    try:
        said = refused(capsys, *PAID, "--learner", "meddling", "--key", "monday")
        [rescued] = folder.glob("rescued-*")
        assert "chmod 600" in said
        assert f"The model was written to {rescued} instead" in said
        assert load_model(rescued).ledger_.row is not None
    finally:
        del LEARNERS["meddling"]


def test_a_report_that_fails_after_its_model_is_one_sentence(folder, capsys, monkeypatch):
    failing(monkeypatch, ["page"])
    assert "Cannot write the report" in refused(capsys, *PAID, "--out", "new", "--report", "page")
    assert load_model("new").ledger_.row is not None
    assert not list(folder.glob("rescued-*"))


def test_decisions_and_exports_that_fail_are_one_sentence(folder, capsys, monkeypatch):
    failing(monkeypatch, ["new"])
    for arguments in (["predict", "m.dpfair", "loans.csv"], EXPORT, ["report", "m.dpfair"]):
        assert "No space left on device" in refused(capsys, *arguments, "--out", "new")


@pytest.mark.parametrize(
    ("epsilon", "more", "least"),
    [
        ("0.0003", [], "0.000378"),
        ("0.0005", ["--mode", "certified"], "0.000661"),
        ("0.0001", ["--method", "algorithm2"], "0.000103"),
        ("0.0005", ["--check-share", "0.2", "--sensitive", "sex,job"], "0.00114"),
    ],
)
def test_too_small_a_budget_is_refused_with_the_least_that_works(
    epsilon, more, least, folder, capsys
):
    plain = FIT[:-2] if "--mode" in more or "--method" in more else FIT
    arguments = [*plain, *more, "--out", "new", "--epsilon"]
    assert f"the smallest epsilon that works is {least}." in refused(capsys, *arguments, epsilon)
    assert not LedgerFile("loans.ledger").entries
    assert cli.run([*arguments, least]) == 0
    assert load_model("new").epsilon == float(least)


LARGE = {
    "too long to write": (
        [{"name": "x", "kind": "categorical", "values": ["a" * (MAX_HEADER + 1), "b"]}],
        "The schema is too long for a model file",
    ),
    "too wide to train": (
        [
            {"name": f"x{n}", "kind": "categorical", "values": [str(i) for i in range(10_000)]}
            for n in range(1 + MAX_WEIGHTS // 10_000)
        ],
        f"Expected at most {MAX_WEIGHTS} weights",
    ),
}


@pytest.mark.parametrize("large", LARGE)
def test_a_schema_that_no_model_file_can_hold_is_refused_before_anything_is_paid(
    large, folder, capsys
):
    columns, said = LARGE[large]
    (folder / "loans.json").write_text(json.dumps({**LOANS, "columns": columns}))
    assert said in refused(capsys, *PAID, "--out", "new")
    assert not LedgerFile("loans.ledger").entries


def test_a_plan_that_no_model_file_can_hold_is_refused_before_anything_is_paid(folder, capsys):
    many = [
        "--learner",
        "logistic",
        "--set",
        "solver=sgd",
        "--set",
        "steps=3000000",
        "--set",
        "noise_multiplier=1000",
    ]
    assert "Expected at most 2000000 steps" in refused(capsys, *PAID, *many, "--out", "new")
    assert not LedgerFile("loans.ledger").entries


def test_an_evaluation_is_refused_before_its_table_is_read(folder, capsys):
    arguments = ["evaluate", "m.dpfair", "nowhere.csv", "--ledger", "loans.ledger"]
    for epsilon in ("1e-6", "1e-300"):
        said = refused(capsys, *arguments, "--private-epsilon", epsilon)
        assert "the smallest epsilon that works is 2e-05." in said
    refused(capsys, *arguments, "--private-epsilon", "50", code=3)
    LedgerFile.create("people.ledger", 2, 1e-5, unit="person").close()
    arguments[-1] = "people.ledger"
    assert "every person" in refused(capsys, *arguments, "--private-epsilon", "1")


def test_an_astronomical_budget_is_printed_in_a_few_digits(folder, capsys):
    assert cli.run(["ledger", "init", "big.ledger", "--epsilon", "1e300", "--delta", "1e-5"]) == 0
    capsys.readouterr()
    for command in ("show", "history"):
        assert cli.run(["ledger", command, "big.ledger"]) == 0
    assert cli.run(["ledger", "show", "big.ledger"]) == 0
    out = capsys.readouterr().out
    assert "budget   epsilon 1e+300" in out
    assert "spent    epsilon 0.0000" in out
    assert max(map(len, out.splitlines())) < 200
