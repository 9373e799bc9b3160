"""Bad input is one sentence and exit code 2; an error of dpfair itself is not."""

from __future__ import annotations

import json

import polars as pl
import pytest
from cli.commands import run
from sample_tables import LOANS

from dpfair import Schema


def account(rate, steps, *more):
    options = ["--noise-multiplier", "1", "--sampling-rate", rate, "--steps", steps]
    return ["account", *options, "--delta", ".1", *more]


BAD = {
    "no such file": (["fit", "nowhere.csv"], "no file nowhere.csv"),
    "missing label column": (["fit", "{loans}", "--label", "none"], "label"),
    "missing sensitive column": (["fit", "{loans}", "--sensitive", "none"], "'none'"),
    "epsilon zero": (["fit", "{loans}", "--epsilon", "0"], "epsilon > 0"),
    "epsilon negative": (["fit", "{loans}", "--epsilon", "-1"], "epsilon > 0"),
    "epsilon nan": (["fit", "{loans}", "--epsilon", "nan"], "epsilon > 0"),
    "epsilon inf": (["fit", "{loans}", "--epsilon", "inf"], "epsilon > 0"),
    "epsilon text": (
        ["fit", "{loans}", "--epsilon", "much"],
        "Expected --epsilon to be a number, got 'much'.",
    ),
    "not whole": (
        ["fit", "{loans}", "--rows-per-unit", "two"],
        "Expected --rows-per-unit to be a whole number, got 'two'.",
    ),
    "delta zero": (["fit", "{loans}", "--delta", "0"], "0 < delta < 1"),
    "delta one": (["fit", "{loans}", "--delta", "1"], "0 < delta < 1"),
    "delta nan": (["fit", "{loans}", "--delta", "nan"], "0 < delta < 1"),
    "unreadable schema": (["fit", "{loans}", "--schema", "{broken}"], "TOML"),
    "no schema file": (["fit", "{loans}", "--schema", "none.toml"], "There is no schema file"),
    "three labels": (["fit", "{loans}", "--schema", "{three}"], "exactly two values"),
    "one group": (["fit", "{loans}", "--schema", "{one}"], "at least 2 values"),
    "empty file": (["fit", "{empty}"], "empty"),
    "only a header": (["fit", "{header}"], "no rows"),
    "relation": (["fit", "{loans}", "--relation", "friends"], "relation"),
    "unit": (["fit", "{loans}", "--unit", "nobody"], "'nobody'"),
    "rows per unit": (["fit", "{loans}", "--rows-per-unit", "0"], "rows_per_unit"),
    "no folder": (["fit", "{loans}", "--out", "nowhere/at/all"], "no directory"),
    "unknown option": (
        ["fit", "{loans}", "--epsilonn", "3"],
        "There is no option --epsilonn (did you mean '--epsilon'?).",
    ),
    "strange option": (["fit", "{loans}", "--qqq"], "There is no option --qqq."),
    "no arguments": (["fit"], "DATA"),
    "unknown command": (["fix"], "fix"),
    "no model": (["evaluate", "none.dpfair", "{loans}"], "no model file"),
    "bad model": (["predict", "{loans}", "{loans}"], "it looks like a CSV table"),
    "unknown group": (
        ["predict", "{model}", "{martian}", "--strict"],
        "group that the schema does not declare",
    ),
    "unknown id": (["predict", "{model}", "{loans}", "--id", "agee"], "did you mean 'age'?"),
    "unknown end": (["predict", "{model}", "{loans}", "--out", "d.xls"], ".csv, .parquet or"),
    "unknown format": (["predict", "{model}", "{loans}", "--format", "xls"], "one of csv"),
    "parquet on the screen": (
        ["predict", "{model}", "{loans}", "--format", "parquet"],
        "Parquet is binary",
    ),
    "two formats": (
        ["predict", "{model}", "{loans}", "--format", "jsonl", "--json"],
        "either --json or --format",
    ),
    "misspelt method": (["fit", "{loans}", "--method", "logistics"], "did you mean 'logistic'?"),
    "misspelt learner": (["fit", "{loans}", "--learner", "boostin"], "did you mean 'boosting'?"),
    "misspelt notion": (
        ["fit", "{loans}", "--notion", "equalised_odds"],
        "did you mean 'equalized_odds'?",
    ),
    "misspelt command": (["pedict", "{model}"], "Did you mean 'predict'?"),
    "misspelt name": (["methods", "boostin"], "did you mean 'boosting'?"),
    "groups by the label": (
        ["fit", "{loans}", "--sensitive", "repaid"],
        "The label and the sensitive column are the same, 'repaid'",
    ),
    "missing feature": (["predict", "{model}", "{narrow}"], "no column"),
    "missing label": (["evaluate", "{model}", "{unlabelled}"], "no column 'repaid'"),
    "account both": (account("1", "1", "--epsilon", "1"), "either"),
    "account rate": (account("2", "1"), "sampling_rate"),
    "account steps": (account("1", "0"), "steps"),
    "no such table": (["reproduce", "--table", "adult-5-prv"], "no such table"),
    "no such data": (["reproduce", "--data", "fake"], "paper, honest"),
    "no such variant": (["reproduce", "--fermi", "loose"], "fermi"),
    "no seeds": (["reproduce", "--seeds", "0"], "seeds"),
    "out is a file": (["reproduce", "--out", "{loans}"], "not a folder"),
    "demo data": (["demo", "--dataset", "iris"], "adult, credit"),
    "unknown notion": (["fit", "{loans}", "--notion", "fair"], "notion"),
    "tolerance of two": (["fit", "{loans}", "--tolerance", "2"], "tolerance in [0, 1]"),
    "target of 1.5": (["fit", "{loans}", "--target", "1.5"], "in [0, 1]"),
    "target of words": (
        ["fit", "{loans}", "--target", "upper"],
        "--target to be a number or none",
    ),
    "the option of earlier versions": (["fit", "{loans}", "--rule", "algorithm2"], "--rule"),
    "unknown mode": (["fit", "{loans}", "--mode", "fast"], "mode"),
    "reuse with basic composition": (
        ["fit", "{loans}", "--mode", "reuse", "--composition", "basic"],
        "no setting 'composition': it needs --method algorithm2",
    ),
    "check of a certified fit": (["fit", "{loans}", "--check-share", ".2"], "mode='reuse'"),
    "numeric groups": (["fit", "{loans}", "--sensitive", "age"], "no categorical column 'age'"),
    "one numeric of two": (["fit", "{loans}", "--sensitive", "sex,age"], "'age'"),
    "the same column twice": (["fit", "{loans}", "--sensitive", "sex,sex"], "different columns"),
    "target above capacity": (
        ["fit", "{loans}", "--target", ".5", "--capacity", ".2"],
        "exceeds the capacity",
    ),
    "one cost": (["fit", "{loans}", "--costs", "1"], "--costs to be two numbers such as 1,5"),
    "costs of text": (["fit", "{loans}", "--costs", "a,b"], "--costs to be two numbers"),
    "negative costs": (["fit", "{loans}", "--costs=-1,2"], "cost"),
    "paper with odds": (
        ["fit", "{loans}", "--method", "algorithm2", "--notion", "equalized_odds"],
        "no setting 'notion': it needs --method fair",
    ),
    "batch of odds": (["predict", "{odds}", "{loans}", "--batch"], "not rates by label"),
    "batch epsilon": (
        ["predict", "{model}", "{loans}", "--batch", "--batch-epsilon", "0"],
        "epsilon > 0",
    ),
    "batch epsilon alone": (["predict", "{model}", "{loans}", "--batch-epsilon", "1"], "--batch"),
    "batch of the paper": (["predict", "{paper}", "{loans}", "--batch"], "the method fair"),
    "frontier of the paper": (["frontier", "{paper}"], "a model of the method fair"),
    "frontier of training alone": (["frontier", "{plain}"], "has no table of scores"),
    "frontier of nothing": (["frontier", "none.dpfair"], "no model file"),
    "frontier notion": (["frontier", "{model}", "--notion", "fair"], "notion"),
    "frontier tolerance": (["frontier", "{model}", "--tolerances", "2"], "tolerance in [0, 1]"),
    "frontier text": (["frontier", "{model}", "--tolerances", "0,x"], "--tolerances"),
    "not a table": (["fit", "{binary}"], "not a readable table"),
}


@pytest.fixture(scope="module")
def bad_files(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("bad")
    frame = pl.read_csv(folder / "loans.csv")
    base = Schema.from_dict(LOANS).to_dict()
    files = {"loans": folder / "loans.csv", "model": folder / "m.dpfair"}
    files |= {name: folder / f"{name}.dpfair" for name in ("odds", "paper", "plain")}
    texts = {
        "broken": "label = [",
        "three": json.dumps(base | {"label": {"name": "repaid", "values": ["a", "b", "c"]}}),
        "one": json.dumps(base | {"sensitive": {"name": "sex", "values": ["f"]}}),
        "empty": "",
        "header": "age,income,job,sex,repaid\n",
        "martian": frame.head(3).with_columns(sex=pl.lit("martian")).write_csv(),
        "narrow": frame.select("age").head(3).write_csv(),
        "unlabelled": frame.drop("repaid").head(3).write_csv(),
    }
    for name, text in texts.items():
        files[name] = path / (name + (".json" if text.startswith("{") else ".csv"))
        files[name].write_text(text)
    files["binary"] = path / "binary.parquet"
    files["binary"].write_bytes(bytes(range(256)))
    return files


@pytest.mark.parametrize("mistake", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(mistake, folder, bad_files, capsys):
    arguments, expected = BAD[mistake]
    arguments = [a.format(**bad_files) for a in arguments]
    if arguments[:1] == ["fit"] and len(arguments) > 1:
        if "--epsilon" not in arguments:
            arguments += ["--epsilon", "2"]
        if "--schema" not in arguments:
            arguments += ["--schema", str(folder / "schema.toml")]
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert expected in err
    assert err.startswith("dpfair: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_no_refusal_shows_a_record(folder, bad_files, capsys):
    _, _, err = run(capsys, "predict", bad_files["model"], bad_files["martian"], "--strict")
    assert "martian" not in err


def test_an_error_of_dpfair_itself_is_no_failed_check(monkeypatch, capsys):
    def broken(*arguments):
        raise RuntimeError("a bug")

    monkeypatch.setattr("dpfair.audit.mechanisms.library_mechanisms", broken)
    code, out, err = run(capsys, "audit", "mechanisms")
    assert (code, out) == (4, "")
    assert "RuntimeError: a bug" in err
    assert err.splitlines()[-1] == (
        "dpfair: This is an error of dpfair itself; please report the lines above."
    )


def test_a_pattern_that_the_shell_has_replaced_is_told_to_need_quotes(capsys):
    code, _, said = run(capsys, "fit", "a.csv", "b.csv", "--epsilon", "1")
    assert code == 2
    assert "b.csv" in said
    assert said.endswith("Patterns and names with spaces need quotes.\n")
