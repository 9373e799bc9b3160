"""``dpfair fit`` as a user types it: what it prints, its options and its schemas."""

from __future__ import annotations

import json
import warnings

import pytest
from cli.commands import run, run_json
from cli.fitting import fit_options
from sample_tables import LOANS

from dpfair import Schema
from dpfair.methods import METHODS


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


def test_a_dry_run_warns_of_what_makes_the_promise_void(tmp_path, capsys):
    (tmp_path / "s.json").write_text(json.dumps(LOANS | {"reviewed": False}))
    fit = ("fit", "none.csv", "--schema", tmp_path / "s.json", "--epsilon", "2", "--dry-run")
    _, _, said = run(capsys, *fit, "--delta", "0.5")
    assert "warning: a fit would not be private: " in said
    assert "delta = 0.5 promises nothing: it allows publishing each record" in said


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


def test_fit_on_a_word_can_choose_other_groups(capsys):
    result = run_json(capsys, "fit", "adult", "--epsilon", "3", "--sensitive", "race")
    assert len(result["certificate"]["groups"]) == 5


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
