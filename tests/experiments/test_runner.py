"""Runs: shared between tables, resumable, the same whoever finishes them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dpfair.errors import InputError
from dpfair.experiments.output import markdown, write_outputs
from dpfair.experiments.runner import finished_runs, plan_runs, run_all
from dpfair.experiments.runs import execute, load_split
from dpfair.experiments.summary import summarise
from dpfair.experiments.tables import published_tables, select_tables


def test_dp_fermi_is_run_once_for_all_accountants():
    runs = plan_runs(published_tables(), "paper", range(10))
    fermi = [r for r in runs if r.method == "dp_fermi"]
    assert len(runs) - len(fermi) == 12 * 10
    assert len(fermi) == len({(r.dataset, r.epsilon, r.weight, r.seed) for r in fermi})
    assert {r.variant for r in fermi} == {"reference"}
    assert {r.variant for r in plan_runs(published_tables(), "honest", [0]) if r.variant} == {
        "tight"
    }


def test_the_authors_split_is_the_published_one():
    """Their fixed test part holds fewer positives than the file: 76.2 against 75.1 % negatives."""
    adult = load_split("adult", "paper", 0)
    assert len(adult.fit) == 45243
    assert adult.majority == pytest.approx(0.76189, abs=1e-5)
    assert load_split("credit", "paper", 0).majority == pytest.approx(0.784, abs=1e-9)
    assert adult.dataset.schema.groups == ("Male", "Female")


def test_honest_splits_are_fresh_and_disjoint():
    first, second = load_split("adult", "honest", 1), load_split("adult", "honest", 2)
    assert not np.intersect1d(first.fit, first.test).size
    assert len(first.fit) != len(second.fit)


def fake(run):
    return {"accuracy": 0.7 + run.seed / 1000, "gap": 0.01 * run.weight, "majority": 0.75}


def test_a_resumed_set_of_runs_ends_as_an_uninterrupted_one(tmp_path):
    runs = plan_runs(select_tables("adult-3-prv"), "paper", range(3))
    whole = run_all(runs, tmp_path / "whole", jobs=1, execute=fake)
    calls = []

    def stops(run):
        calls.append(run)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return fake(run)

    with pytest.raises(KeyboardInterrupt):
        run_all(runs, tmp_path / "part", jobs=1, execute=stops)
    done = len(finished_runs(tmp_path / "part"))
    assert 0 < done < len(runs)
    with (tmp_path / "part" / "runs.jsonl").open("a") as file:
        file.write('{"key": "torn')
    calls.clear()

    def counts(run):
        calls.append(run)
        return fake(run)

    assert run_all(runs, tmp_path / "part", jobs=1, execute=counts) == whole
    assert len(calls) == len(runs) - done


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "runs.jsonl").write_text('nonsense\n{"key": "a", "version": "x"}\n')
    with pytest.raises(InputError, match="damaged in line 1"):
        finished_runs(tmp_path)


def test_results_of_another_version_are_not_reused(tmp_path):
    line = {"key": "a", "version": "0.0.0", "accuracy": 1}
    (tmp_path / "runs.jsonl").write_text(json.dumps(line) + "\n")
    assert finished_runs(tmp_path) == {}


def test_a_run_depends_on_itself_alone():
    run = next(
        r
        for r in plan_runs(select_tables("credit-3-prv"), "paper", [4])
        if r.method == "algorithm2"
    )
    assert execute(run) == execute(run)


def test_verdicts_and_files(tmp_path):
    tables = select_tables("adult-3-prv")
    runs = plan_runs(tables, "honest", range(4))
    rng = np.random.default_rng(0)
    published = {(r.method, r.weight): r for r in tables[0].rows}
    results = {
        r.key: {
            "accuracy": published[r.method, r.weight].accuracy + rng.normal(0, 0.001),
            "gap": published[r.method, r.weight].gap
            + (0.05 if r.weight == 1 else rng.normal(0, 1e-3)),
            "majority": 0.75,
        }
        for r in runs
    }
    summary = summarise(tables, results, "honest", range(4), "tight")
    verdicts = {row.weight: row.verdict for row in summary[0].rows}
    assert verdicts[1] == "differs"
    assert list(verdicts.values()).count("reproduces") >= 4
    paths = write_outputs(summary, tmp_path, "Tables")
    assert [p.name for p in paths] == ["rows.csv", "rows.json", "tables.md", "tables.html"]
    rows = json.loads(paths[1].read_text())
    promised = (
        "table dataset epsilon accountant method lambda seeds accuracy accuracy_se gap gap_se"
    )
    assert {*promised.split(), "published_accuracy", "published_gap", "verdict"} <= set(rows[0])
    page = paths[3].read_text()
    assert page.count("<circle") == 2 * 6
    assert "<script" not in page
    assert "0.7998 / 0.1020" in markdown(summary)


@pytest.mark.slow
def test_killing_the_command_and_starting_it_again_gives_identical_results(tmp_path):
    options = ["--table", "credit-3-prv", "--seeds", "3", "--json"]
    command = [sys.executable, "-m", "dpfair", "reproduce", *options]
    whole = subprocess.run([*command, "--out", tmp_path / "a"], capture_output=True, check=True)
    process = subprocess.Popen([*command, "--out", tmp_path / "b"], start_new_session=True)
    while len(finished_runs(tmp_path / "b")) < 4:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = subprocess.run([*command, "--out", tmp_path / "b"], capture_output=True, check=True)
    assert json.loads(again.stdout) == json.loads(whole.stdout)
