"""The command line, as a user types it: results, messages and exit codes."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import polars as pl
import pytest
from cli.commands import run, run_json
from sample_tables import LOANS, make_loans

from dpfair import Schema, cli
from dpfair.certificate.text import round_down, round_up
from dpfair.cli.frontier import remarks, table
from dpfair.fairness.frontier import FrontierPoint
from dpfair.fairness.rules import Rule
from dpfair.methods import METHODS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A CSV file, a Parquet file, a schema and a model."""
    path = tmp_path_factory.mktemp("cli")
    X, y = make_loans(2000)
    frame = X.with_columns(repaid=pl.Series(y), person=pl.Series(np.arange(2000) // 2))
    frame.write_csv(path / "loans.csv")
    frame.write_parquet(path / "loans.parquet")
    (path / "schema.toml").write_text(Schema.from_dict(LOANS).to_toml())
    for name, options in {
        "m": [],
        "odds": ["--notion", "equalized_odds", "--tolerance", "0.02"],
        "paper": ["--method", "algorithm2"],
        "plain": ["--method", "logistic"],
    }.items():
        out = ["--out", str(path / f"{name}.dpfair"), "--seed", "1"]
        assert cli.run(["fit", *fit_options(path), *out, *options]) == 0
    return path


def fit_options(path, data="loans.csv"):
    return [str(path / data), "--epsilon", "2", "--schema", str(path / "schema.toml")]


def test_fit_prints_one_object_with_the_promised_fields(folder, capsys):
    result = run_json(capsys, "fit", *fit_options(folder))
    assert result["epsilon"] == 2
    assert result["delta"] == 1e-5
    assert result["relation"] == "add_remove"
    assert result["private"] is True
    assert (result["method"], result["title"]) == ("fair", "Score thresholds, certified")
    assert result["certificate"]["notion"] == "demographic_parity"
    assert 0.5 < result["certificate"]["accuracy_bound"] < 1
    # Without a seed: 0.05 to 0.08 in 50 fits, and 0 if noise leads to a constant rule.
    assert 0 <= result["certificate"]["gap_bound"] < 0.3
    assert result["certificate"]["confidence"] == 0.95
    assert result["certificate"]["certified"] is True
    assert [e["scope"] for e in result["ledger"]] == ["train"] * 3 + ["release"] * 2


def test_fit_judges_its_promises_and_warns_of_a_large_delta(folder, capsys):
    result = run_json(capsys, "fit", *fit_options(folder))
    assert set(result["judgement"]) == {"privacy", "gap", "accuracy"}
    assert result["judgement"]["privacy"]["grade"] == "moderate"
    assert result["judgement"]["privacy"]["rule"].startswith("epsilon is above 1, at most 10")
    unsure = run_json(capsys, "fit", *fit_options(folder), "--mode", "reuse")
    assert unsure["judgement"]["gap"] is None
    code, out, _ = run(capsys, "fit", *fit_options(folder))
    assert code == 0
    assert " Judged moderate: epsilon is above 1" in out
    large = ["fit", "adult", "--epsilon", "3", "--delta", "1e-3", "--dry-run"]
    assert "at least 1/n for 45,222 records" in run(capsys, *large)[2]
    assert "1/n" not in run(capsys, *large[:4], "--dry-run")[2]


def test_every_option_of_fit_reaches_the_model(folder, capsys):
    def fit(*options):
        return run_json(capsys, "fit", *fit_options(folder), "--seed", "1", *options)

    paper = fit("--method", "algorithm2", "--composition", "basic", "--target", "lower")
    assert (paper["method"], paper["title"]) == ("algorithm2", "Algorithm 2")
    assert [e["scope"] for e in paper["ledger"]] == ["train", "release"]
    reuse = fit("--mode", "reuse")
    assert reuse["certificate"]["certified"] is False
    assert "also trained" in reuse["certificate"]["reason"]
    checked = fit("--mode", "reuse", "--check-share", "0.3")
    assert checked["certificate"]["certified"] is True
    odds = fit("--notion", "equalized_odds", "--tolerance", "0.03")
    assert odds["certificate"]["notion"] == "equalized_odds"
    assert odds["certificate"]["tolerance"] == 0.03
    assert fit("--sensitive", "sex,job")["certificate"]["groups"][0] == "f, clerk"


def test_target_capacity_and_costs_move_the_acceptance(folder, capsys, tmp_path):
    def accepted(*options):
        out = tmp_path / "m.dpfair"
        fitted = ["fit", *fit_options(folder), "--seed", "1", "--out", out, *options]
        assert run(capsys, *fitted)[0] == 0
        rates = run_json(capsys, "predict", out, folder / "loans.csv")["acceptance_probability"]
        return sum(rates) / len(rates)

    plain = accepted()
    assert accepted("--target", "0.2") == pytest.approx(0.2, abs=0.05)
    assert accepted("--capacity", "0.25") == pytest.approx(0.25, abs=0.05)
    assert accepted("--costs", "5,1") < plain - 0.05 < plain + 0.05 < accepted("--costs", "1,5")


def test_frontier_prints_every_tolerance_with_its_bounds(folder, capsys):
    model = folder / "m.dpfair"
    result = run_json(capsys, "frontier", model, "--tolerances", "0,0.05,1")
    assert [p["tolerance"] for p in result["points"]] == [0, 0.05, 1]
    assert result["notion"] == "demographic_parity"
    for point in result["points"]:
        assert point["gap"] <= point["gap_bound"]
        assert point["accuracy"] >= point["accuracy_bound"]
    odds = run_json(capsys, "frontier", model, "--notion", "equalized_odds")
    assert odds["notion"] == "equalized_odds"
    assert len(odds["points"]) > 5
    code, out, err = run(capsys, "frontier", model, "--tolerances", "0,0.1")
    assert code == 0
    assert err.startswith("dpfair: the model's own rule has the bounds of its certificate;")
    assert err.count("\n") == 1
    assert len(out.splitlines()) == 3
    assert f">= {round_down(result['points'][0]['accuracy_bound'])}" in out


def test_a_frontier_marks_constant_rules_and_gaps_that_are_too_large():
    """Groups that share a threshold cannot always keep within the allowed gap."""
    points = [
        FrontierPoint(0.0, 0.7, 0.0, 0.6, 0.0, Rule([[0, 0]])),
        FrontierPoint(0.1, 0.8, 0.3, 0.7, 0.5, Rule([[0, 1]])),
    ]
    _, first, second = table(points)
    assert first.endswith("accepts nobody")
    assert second.endswith("more than is allowed")
    [remark] = remarks(points, "")
    assert "small groups share a threshold" in remark


def test_a_frontier_says_why_it_is_not_certified():
    point = FrontierPoint(0.0, 0.7, 0.0, None, None, Rule([[0, 1]]))
    assert list(remarks([point], "they trained")) == ["NOT CERTIFIED: they trained."]
    assert list(remarks([point], "")) == ["NOT CERTIFIED: there is only one group."]
    assert list(table([point]))[1].split()[-2:] == ["none", "none"]


def test_a_batch_says_what_it_protects_and_its_bound(folder, capsys):
    model, data = folder / "m.dpfair", folder / "loans.csv"
    sex = pl.read_csv(data)["sex"].to_numpy()

    def gap(decisions):
        accepted = np.array(decisions) == "yes"
        return abs(accepted[sex == "f"].mean() - accepted[sex == "m"].mean())

    exact = run_json(capsys, "predict", model, data, "--batch")
    assert gap(exact["decision"]) <= exact["gap_bound"] < 0.01
    assert "acceptance_probability" not in exact
    noisy = run_json(capsys, "predict", model, data, "--batch", "--batch-epsilon", "2")
    assert gap(noisy["decision"]) < noisy["gap_bound"] < 0.3
    code, out, err = run(capsys, "predict", model, data, "--batch", "--batch-epsilon", "2")
    assert code == 0
    assert len(out.splitlines()) == 2001
    assert "every record in the batch, with epsilon = 2" in err
    assert re.search(r"differ by at most 0\.\d{4} with 95% confidence", err)
    _, _, err = run(capsys, "predict", model, data, "--batch")
    assert "nobody in the batch" in err


def test_evaluate_shows_the_gap_of_the_models_own_notion(folder, capsys):
    result = run_json(capsys, "evaluate", folder / "odds.dpfair", folder / "loans.csv")
    assert result["notion"] == "equalized_odds"
    frame = pl.read_csv(folder / "loans.csv")
    _, out, _ = run(capsys, "predict", folder / "odds.dpfair", folder / "loans.csv")
    accepted = (pl.read_csv(out.encode())["decision"] == "yes").to_numpy()
    gaps = []
    for label in ("yes", "no"):
        cells = [
            ((frame["sex"] == sex) & (frame["repaid"] == label)).to_numpy() for sex in ("f", "m")
        ]
        gaps.append(abs(accepted[cells[0]].mean() - accepted[cells[1]].mean()))
    assert result["notion_gap"] == pytest.approx(max(gaps))
    _, out, _ = run(capsys, "evaluate", folder / "odds.dpfair", folder / "loans.csv")
    assert f"Gap in equalized odds: {max(gaps):.4f}" in out
    assert "notion_gap" not in run_json(
        capsys, "evaluate", folder / "m.dpfair", folder / "loans.csv"
    )


def test_a_seed_makes_the_result_repeatable_and_not_private(folder, capsys):
    first, second = (run_json(capsys, "fit", *fit_options(folder), "--seed", "7") for _ in range(2))
    assert first == second
    assert first["private"] is False


def test_csv_and_parquet_give_the_same_model(folder, capsys):
    results = [
        run_json(capsys, "fit", *fit_options(folder, data), "--seed", "3")
        for data in ("loans.csv", "loans.parquet")
    ]
    assert results[0] == results[1]


def test_evaluate_predict_and_report(folder, capsys, tmp_path):
    model, data = folder / "m.dpfair", folder / "loans.csv"
    result = run_json(capsys, "evaluate", model, data)
    assert result["n"] == 2000
    assert 0.6 < result["accuracy"] < 1
    assert 0 <= result["gap"] < 0.2
    assert set(result["group_rates"]) == {"f", "m"}
    code, out, _ = run(capsys, "predict", model, data)
    decisions = pl.read_csv(out.encode())
    assert code == 0
    assert decisions.columns == ["decision", "accepted", "acceptance_probability"]
    share = (decisions["decision"] == "yes").mean()
    assert share == pytest.approx(decisions["acceptance_probability"].mean(), abs=0.05)
    code, _, err = run(capsys, "predict", model, data, "--out", tmp_path / "decisions.csv")
    assert code == 0
    assert "2000 decisions written" in err
    code, _, _ = run(capsys, "report", model, "--out", tmp_path / "r.html")
    assert code == 0
    assert "<html" in (tmp_path / "r.html").read_text()


def test_account_shows_every_accountant(capsys):
    options = ["--sampling-rate", ".034", "--steps", "1500", "--delta", "1e-5"]
    result = run_json(capsys, "account", "--noise-multiplier", 3.13 / 1.5, *options)
    answers = result["accountants"]
    assert set(answers) == {"pld", "rdp", "prv", "gdp"}
    assert answers["pld"]["epsilon"] == pytest.approx(2.831, abs=0.01)
    assert [a for a, v in answers.items() if not v["is_bound"]] == ["gdp"]
    calibrated = run_json(capsys, "account", "--epsilon", "2.9", *options)
    assert 2.89 < calibrated["accountants"]["pld"]["epsilon"] <= 2.9


def test_dry_run_reads_no_record(folder, capsys):
    result = run_json(capsys, "fit", "no-such-file.csv", *fit_options(folder)[1:], "--dry-run")
    assert result["spent"] <= 2
    assert [entry["scope"] for entry in result["ledger"]] == [
        "train",
        "train",
        "train",
        "release",
        "release",
    ]
    options = "--mode reuse --check-share .2 --notion equalized_odds --tolerance .02 --costs 1,5"
    code, out, _ = run(
        capsys, "fit", "adult", "--epsilon", "3", "--dry-run", "--sensitive", "sex,race",
        *options.split(),
    )  # fmt: skip
    assert code == 0
    for words in ("reuse", "equalized odds within 0.02", "10 groups", "costs 1 and 5"):
        assert words in out
    for scope in ("fit", "check"):
        assert f"  {scope} " in out
    code, out, _ = run(capsys, "fit", "adult", "--epsilon", "3", "--dry-run")
    assert code == 0
    assert "was not read" in out


def test_without_a_schema_one_is_proposed_and_nothing_is_done(folder, capsys, tmp_path):
    arguments = ["fit", folder / "loans.csv", "--label", "repaid", "--sensitive", "sex"]
    arguments += ["--epsilon", "2", "--out", tmp_path / "m"]
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert "not private" in err
    assert not (tmp_path / "m").exists()
    proposed = Schema.from_toml(out)
    assert proposed.sensitive.values == ("f", "m")
    result = run_json(capsys, *arguments, "--infer-schema")
    assert result["private"] is False
    assert (tmp_path / "m").exists()


def test_a_proposed_schema_can_be_saved_and_used(folder, capsys, tmp_path):
    _, out, _ = run(
        capsys, "fit", folder / "loans.csv", "--label", "repaid", "--sensitive", "sex",
        "--epsilon", "2", "--unit", "person",
    )  # fmt: skip
    text = out.replace("reviewed = false\n", "reviewed = true\n")
    (tmp_path / "s.toml").write_text(text)
    result = run_json(
        capsys, "fit", folder / "loans.csv", "--schema", tmp_path / "s.toml",
        "--epsilon", "2", "--unit", "person", "--rows-per-unit", "1",
    )  # fmt: skip
    assert result["certificate"]["certified"]


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


def test_demo_writes_its_files(capsys, tmp_path):
    out = tmp_path / "demo"
    result = run_json(capsys, "demo", "--dataset", "credit", "--out", out, "--seed", "2")
    assert (out / "model.dpfair").exists()
    assert (out / "report.html").exists()
    assert result["evaluation"]["accuracy"] > 0.79
    assert result["certificate"]["certified"]
    code, text, _ = run(capsys, "demo", "--dataset", "credit", "--out", out, "--seed", "2")
    assert code == 0
    assert f"accuracy        {result['evaluation']['accuracy']:.4f}" in text
    assert f"gap             {result['evaluation']['gap']:.4f}" in text
    assert f"shows {result['evaluation']['floor']:.4f}" in text
    assert f"certified gap   {round_up(result['certificate']['gap_bound'])}" in text
    assert f"cert. accuracy  {round_down(result['certificate']['accuracy_bound'])}" in text


def test_fit_on_a_word_can_choose_other_groups(capsys):
    result = run_json(capsys, "fit", "adult", "--epsilon", "3", "--sensitive", "race")
    assert len(result["certificate"]["groups"]) == 5


def test_without_arguments_the_help_is_shown(capsys):
    code, out, err = run(capsys)
    assert code == 0
    assert "Usage: dpfair" in out
    assert err == ""


@pytest.mark.parametrize("method", METHODS)
def test_a_schema_without_groups_gives_a_private_model_that_is_not_made_fair(
    method, folder, capsys, tmp_path
):
    if "classifier" in METHODS[method]().get_params():
        pytest.skip("needs a classifier, so the command line does not fit it")
    schema = {name: fact for name, fact in LOANS.items() if name != "sensitive"}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    asked = ["fit", folder / "loans.csv", "--schema", tmp_path / "schema.json", "--epsilon", "2"]
    asked += ["--method", method]
    code, _, err = run(capsys, *asked, "--dry-run")
    assert (code, "No sensitive column" in err) == (0, bool(METHODS[method].without_groups))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code, out, err = run(capsys, *asked, "--out", tmp_path / "m")
    assert code == 0, err
    warned = any("No sensitive column" in str(w.message) for w in caught)
    assert warned == bool(METHODS[method].without_groups)
    assert "Privacy: epsilon = 2" in out
    assert "Fairness: NOT CERTIFIED" in out
    for command, *more in (
        ["verify"],
        ["predict", folder / "loans.csv"],
        ["evaluate", folder / "loans.csv"],
        ["report", "--out", tmp_path / "r.html"],
    ):
        assert run(capsys, command, tmp_path / "m", *more)[0] == 0


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
