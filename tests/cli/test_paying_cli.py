"""Commands that a ledger file pays for, and the ones that check it."""

from __future__ import annotations

import json
import os

import pytest
from cli.commands import run
from sample_tables import LOANS, make_loans

from dpfair import (
    ChargeTo,
    LedgerFile,
    PrivateBoosting,
    PrivateFairClassifier,
    Schema,
    load_model,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    X, y = make_loans(400)
    monkeypatch.chdir(tmp_path)
    import polars as pl

    X.with_columns(repaid=pl.Series(y)).write_csv("loans.csv")
    (tmp_path / "loans.json").write_text(json.dumps(LOANS))
    LedgerFile.create("loans.ledger", 2, 1e-5, name="loans")
    return tmp_path


def fit(capsys, *more, data="loans.csv", epsilon=1):
    return run(
        capsys,
        *("fit", data, "--schema", "loans.json", "--epsilon", epsilon, "--mode", "reuse"),
        *("--ledger", "loans.ledger", *more),
    )


def test_a_fit_is_charged_and_says_what_is_left(folder, capsys):
    code, out, _ = fit(capsys, "--out", "m.dpfair")
    assert code == 0
    assert "Ledger: loans.ledger (1.0000 of 2 spent by 1 charge)" in out
    assert len(LedgerFile("loans.ledger").entries) == 1


def test_a_fit_over_the_budget_ends_with_3_before_the_table_is_read(folder, capsys):
    code, out, err = fit(capsys, data="no such file.csv", epsilon=2.5)
    assert code == 3
    assert out == ""
    assert "over the budget of 2; nothing was charged" in err
    assert not LedgerFile("loans.ledger").entries


def test_a_dry_run_looks_at_the_ledger_and_charges_nothing(folder, capsys):
    assert fit(capsys, "--dry-run")[0] == 0
    assert fit(capsys, "--dry-run", epsilon=3)[0] == 3
    assert not LedgerFile("loans.ledger").entries


def test_a_dry_run_says_what_the_ledger_would_have_spent(folder, capsys):
    fit(capsys, "--out", "m.dpfair", epsilon="0.5")
    told = json.loads(fit(capsys, "--dry-run", "--json", epsilon="0.5")[1])["ledger_file"]
    out = fit(capsys, "--dry-run", epsilon="0.5", data="none.csv")[1]
    assert fit(capsys, "--out", "n.dpfair", epsilon="0.5")[0] == 0
    spent = LedgerFile("loans.ledger").spent
    assert told["spent_after"] == pytest.approx(spent)
    assert f"{spent:.4f} of its 2 (at delta 1e-05) would then be spent. After it" in out
    assert "Nothing was charged, and none.csv was not read." in out


def test_a_ledger_states_the_delta_of_its_jobs(folder, capsys):
    """At a larger delta than the ledger's, its whole epsilon would not be granted."""
    LedgerFile.create("small.ledger", 1, 1e-6)
    ask = ("fit", "loans.csv", "--schema", "loans.json", "--epsilon", 1, "--dry-run")
    code, out, _ = run(capsys, *ask, "--ledger", "small.ledger", "--json")
    assert (code, json.loads(out)["delta"]) == (0, 1e-6)
    assert run(capsys, *ask, "--ledger", "small.ledger", "--delta", "1e-5")[0] == 3
    assert json.loads(run(capsys, *ask, "--json")[1])["delta"] == 1e-5


def test_found_values_can_be_declared_when_no_more_may_be_found(folder, capsys):
    kinds = [{"name": c["name"], "kind": c["kind"]} for c in LOANS["columns"]]
    (folder / "loans.json").write_text(json.dumps({**LOANS, "columns": kinds}))
    for _ in range(3):
        assert fit(capsys, "--out", "m.dpfair", epsilon="0.2")[0] == 0
    code, out, _ = run(capsys, "ledger", "show", "loans.ledger")
    assert "epsilon 0 for a fit that finds categories or bounds" in out
    code, _, err = fit(capsys, "--out", "n.dpfair", epsilon="0.2")
    assert code == 3
    assert (
        "use a smaller delta (the budget's is 1e-05), or declare what an earlier job found" in err
    )
    assert fit(capsys, "--dry-run", "--delta", "1e-7", epsilon="0.2")[0] == 0
    assert run(capsys, "schema", "export", "m.dpfair", "--out", "found.toml")[0] == 0
    found = Schema.load("found.toml")
    assert (found.discovery.delta, found.discovery.private) == (1e-5, True)
    assert 0 < found.discovery.epsilon < 0.2
    ask = ("--schema", "found.toml", "--out", "n.dpfair")
    code, out, _ = fit(capsys, *ask, epsilon="0.2")
    assert code == 0
    assert "facts were found in the same records before" in out


def test_a_model_without_found_facts_exports_its_schema(folder, capsys):
    assert fit(capsys, "--set", "discovery_share=0", "--out", "m.dpfair")[0] == 0
    code, out, _ = run(capsys, "schema", "export", "m.dpfair")
    assert (code, Schema.from_toml(out)) == (0, Schema.from_dict(LOANS))


def test_a_job_tried_again_gets_the_same_model_for_nothing(folder, capsys):
    assert fit(capsys, "--key", "nightly", "--out", "one.dpfair")[0] == 0
    spent = LedgerFile("loans.ledger").spent
    code, out, err = fit(capsys, "--key", "nightly", "--out", "two.dpfair")
    assert code == 0
    assert "was done before; nothing was charged or drawn again" in err
    assert (folder / "one.dpfair").read_bytes() == (folder / "two.dpfair").read_bytes()
    assert LedgerFile("loans.ledger").spent == spent
    assert "Accuracy" in out


def test_an_earlier_result_is_not_taken_for_one_of_other_data(folder, capsys):
    """A key is not bound to the records, so the output says that they were not read."""
    job = ("--key", "nightly", "--out", "m.dpfair")
    code, out, _ = fit(capsys, *job)
    assert (code, "Earlier result" in out) == (0, False)
    code, out, err = fit(capsys, *job, data="other.csv")
    assert out.startswith("Earlier result of the job 'nightly'; DATA was not read.\n")
    assert "other data need another key" in err
    assert json.loads(fit(capsys, *job, "--json", data="other.csv")[1])["earlier"] is True
    assert json.loads(fit(capsys, "--json", "--out", "n.dpfair")[1])["earlier"] is False


def test_a_job_that_was_interrupted_goes_on(folder, capsys):
    """The same job from Python pays, and keeps no result in the ledger."""
    payer = ChargeTo("loans.ledger", key="nightly")
    schema = Schema.from_dict(LOANS)
    model = PrivateFairClassifier(1, schema=schema, mode="reuse", ledger=payer)
    model.fit(*make_loans(400))
    with pytest.warns(UserWarning, match="'nightly' was charged before. It goes on after its"):
        code = fit(capsys, "--key", "nightly", "--out", "m.dpfair")[0]
    assert code == 0
    assert len(LedgerFile("loans.ledger").entries) == 1
    again = load_model("m.dpfair")
    assert (again.release_.counts == model.release_.counts).all()
    assert "was done before" in fit(capsys, "--key", "nightly")[2]
    assert not [*folder.glob("loans.ledger-job-*")]


def test_a_job_that_cannot_go_on_is_not_drawn_again(folder, capsys):
    payer = ChargeTo("loans.ledger", key="nightly")
    PrivateBoosting(1, schema=Schema.from_dict(LOANS), trees=2, ledger=payer).fit(*make_loans(400))
    how = ("--method", "boosting", "--set", "trees=2", "--key", "nightly")
    code, out, err = run(
        capsys,
        *("fit", "loans.csv", "--schema", "loans.json", "--epsilon", 1),
        *("--ledger", "loans.ledger", *how),
    )
    assert (code, out) == (2, "")
    assert "'nightly' was charged before" in err
    assert len(LedgerFile("loans.ledger").entries) == 1


def test_parts_of_the_data_set_are_charged_apart(folder, capsys):
    for part in ("north", "south"):
        assert fit(capsys, "--scope", part, "--new-scope", "--out", part, epsilon=1.5)[0] == 0
    assert fit(capsys, epsilon=1.5)[0] == 3


def test_another_spelling_of_a_part_is_refused(folder, capsys):
    part = ("--scope", "north")
    code, _, err = fit(capsys, *part, "--dry-run")
    assert (code, "'north' was not declared" in err) == (2, True)
    assert fit(capsys, *part, "--new-scope", "--dry-run")[0] == 0
    assert not LedgerFile("loans.ledger").scopes.keys() - {""}
    assert fit(capsys, *part, "--new-scope", "--out", "m.dpfair", epsilon=2)[0] == 0
    for spelling in ("North", "NORTH", "n\u043erth", "n0rth", " north"):
        for more in ([], ["--new-scope"]):
            code, out, err = fit(capsys, "--scope", spelling, *more, "--out", "m2.dpfair")
            assert (code, out) == (2, "")
            assert "looks like 'north'" in err
    asked = ("evaluate", "m.dpfair", "loans.csv", "--ledger", "loans.ledger")
    asked += ("--private-epsilon", 1, "--new-scope", "--scope")
    assert "looks like 'north'" in run(capsys, *asked, "North")[2]
    assert run(capsys, *asked, "south")[0] == 0
    assert len(LedgerFile("loans.ledger").entries) == 2
    assert LedgerFile("loans.ledger").verify().charges == 2


def test_a_new_scope_needs_a_name(folder, capsys):
    code, _, err = fit(capsys, "--new-scope")
    assert (code, "belongs to --scope" in err) == (2, True)


def test_a_refused_job_passes_with_the_epsilon_that_it_is_told(folder, capsys):
    assert fit(capsys, "--out", "m.dpfair", epsilon=1)[0] == 0
    code, _, err = fit(capsys, "--out", "m2.dpfair", epsilon=1.5)
    assert code == 3
    most = float(err.split("At most epsilon ")[1].split()[0])
    assert fit(capsys, "--out", "m2.dpfair", epsilon=1.01 * most)[0] == 3
    assert fit(capsys, "--out", "m2.dpfair", epsilon=most)[0] == 0
    asked = ("evaluate", "m.dpfair", "loans.csv", "--ledger", "loans.ledger", "--private-epsilon")
    code, _, err = run(capsys, *asked, 1)
    assert code == 3
    assert "would be granted to this job" in err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--seed", "1"], "private work only, and the noise came from a seed"),
        (["--relation", "replace_one"], "about add_remove neighbours"),
        (["--unit", "age", "--rows-per-unit", "2"], "protects every record"),
        (["--key", ""], "key"),
        (["--scope", "a//b"], "scope"),
    ],
)
def test_what_a_ledger_does_not_pay_for_is_one_sentence(folder, capsys, more, words):
    code, out, err = fit(capsys, *more)
    assert code == 2
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert not LedgerFile("loans.ledger").entries


def test_keys_and_scopes_need_a_ledger(folder, capsys):
    for more in (["--key", "a"], ["--scope", "a"], ["--new-scope"]):
        code, _, err = run(
            capsys, "fit", "loans.csv", "--schema", "loans.json", "--epsilon", 1, *more
        )
        assert code == 2
        assert "belong to --ledger" in err


def test_a_paid_model_verifies_and_a_changed_ledger_does_not(folder, capsys):
    fit(capsys, "--out", "m.dpfair")
    code, out, _ = run(capsys, "verify", "m.dpfair", "--ledger", "loans.ledger")
    assert code == 0
    assert "paid for such charges" in out
    LedgerFile.create("other.ledger", 2, 1e-5)
    code, out, _ = run(capsys, "verify", "m.dpfair", "--ledger", "other.ledger", "--json")
    assert code == 1
    found = json.loads(out)
    assert found["verified"] is False
    assert [c["name"] for c in found["checks"] if c["passed"] is False] == ["payment"]


def test_verify_of_a_broken_model_fails_and_of_none_is_bad_input(folder, capsys):
    (folder / "broken.dpfair").write_bytes(b"no model")
    code, out, _ = run(capsys, "verify", "broken.dpfair")
    assert code == 1
    assert "NOT VERIFIED" in out
    code, _, err = run(capsys, "verify", "none.dpfair")
    assert code == 2
    assert "no model file" in err


def test_paid_metrics_can_be_published_and_are_released_once_per_key(folder, capsys):
    fit(capsys, "--out", "m.dpfair")
    asked = ["evaluate", "m.dpfair", "loans.csv", "--private-epsilon", 0.2]
    asked += ["--ledger", "loans.ledger", "--key", "metrics"]
    code, first, err = run(capsys, *asked)
    assert code == 0
    assert "internal" not in err
    assert "epsilon = 0.2, paid for these numbers" in first
    code, second, err = run(capsys, *asked)
    *numbers, balance = first.splitlines()
    assert second.splitlines() == [
        "Earlier result of the job 'metrics'; DATA was not read.",
        *numbers,
    ]
    assert balance.startswith("Ledger: loans.ledger (")
    assert "done before" in err
    code, out, _ = run(capsys, *asked, "--json")
    assert json.loads(out)["internal"] is False
    assert json.loads(out)["earlier"] is True
    assert len(LedgerFile("loans.ledger").entries) == 2


def test_records_of_one_person_give_metrics_without_bounds(folder, capsys):
    how = ("--schema", "loans.json", "--epsilon", 2, "--mode", "reuse", "--unit", "age")
    how += ("--rows-per-unit", 2)
    assert run(capsys, "fit", "loans.csv", *how, "--out", "m.dpfair")[0] == 0
    asked = ("evaluate", "m.dpfair", "loans.csv", "--private-epsilon", 1)
    code, out, _ = run(capsys, *asked)
    assert code == 0
    assert "at least" not in out
    assert "at most" not in out
    reason = "several records of one person are not independent"
    assert f"There are no bounds for new records, because {reason}." in out
    numbers = json.loads(run(capsys, *asked, "--json")[1])
    assert (numbers["gap_bound"], numbers["accuracy_bound"]) == (None, None)
    assert numbers["reason"] == reason


def test_exact_metrics_are_internal_and_no_ledger_pays_for_them(folder, capsys):
    fit(capsys, "--out", "m.dpfair")
    _, _, err = run(capsys, "evaluate", "m.dpfair", "loans.csv")
    assert "internal, do not publish" in err
    code, _, err = run(capsys, "evaluate", "m.dpfair", "loans.csv", "--ledger", "loans.ledger")
    assert code == 2
    assert "belongs to --private-epsilon" in err
    code, _, _ = run(
        capsys,
        *("evaluate", "m.dpfair", "loans.csv", "--private-epsilon", 5, "--ledger", "loans.ledger"),
    )
    assert code == 3


def test_a_key_belongs_to_one_job(folder, capsys):
    assert fit(capsys, "--key", "k", "--out", "m.dpfair")[0] == 0
    evaluate = ("evaluate", "m.dpfair", "loans.csv", "--ledger", "loans.ledger")
    for code, _, err in (
        fit(capsys, "--key", "k", "--tolerance", "0.1"),
        fit(capsys, "--key", "k", "--scope", "other"),
        run(capsys, *evaluate, "--private-epsilon", "0.5", "--key", "k"),
    ):
        assert code == 2
        assert "belongs to another job" in err
    code, _, err = fit(capsys, "--key", "k", "--seed", "3")
    assert code == 2
    assert "private work only, and the noise came from a seed" in err


def test_an_evaluation_over_the_budget_ends_with_3_before_the_table_is_read(folder, capsys):
    fit(capsys, "--out", "m.dpfair")
    asked = ("--private-epsilon", "50", "--ledger", "loans.ledger")
    code, _, err = run(capsys, "evaluate", "m.dpfair", "no such file.csv", *asked)
    assert code == 3
    assert "nothing was charged" in err


def test_what_is_paid_for_is_not_thrown_away(folder, capsys):
    code, _, err = fit(capsys)
    assert code == 2
    assert "give --out or --key" in err
    assert not LedgerFile("loans.ledger").entries


def test_paid_numbers_are_shown_though_they_cannot_be_kept(folder, monkeypatch, capsys):
    keep = LedgerFile.keep

    def meddled(*how):
        os.chmod("loans.ledger", 0o644)  # such a ledger is not used
        keep(*how)

    assert fit(capsys, "--out", "m.dpfair")[0] == 0
    monkeypatch.setattr(LedgerFile, "keep", meddled)
    paid = ("--private-epsilon", "0.5", "--ledger", "loans.ledger", "--key", "numbers")
    code, out, err = run(capsys, "evaluate", "m.dpfair", "loans.csv", *paid)
    assert code == 2
    assert "chmod 600" in err
    assert "Accuracy" in out
    os.chmod("loans.ledger", 0o600)
    assert len(LedgerFile("loans.ledger").entries) == 2
