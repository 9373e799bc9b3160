"""Sweeps on a Dask cluster: the results of this process, in its order, and its errors."""

from __future__ import annotations

import os

import pytest
from cli.commands import refused, run_json

from dpfair import InputError
from dpfair.cli.cluster import runs_on
from dpfair.experiments.runner import finished_runs, run_all
from dpfair.experiments.runs import Run

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("dask.distributed")

RUNS = [Run("fake", "credit", "paper", 3.0, 1, seed) for seed in range(12)]


@pytest.fixture(scope="module")
def scheduler():
    how = {"threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(n_workers=2, **how) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def square():
    # Workers do not have this module, so they get a function of a function.
    def squared(run):
        return {"square": run.seed**2, "process": os.getpid()}

    return squared


def test_a_benchmark_has_the_same_splits_in_the_same_order(scheduler, capsys):
    sweep = ("benchmark", "credit", "--epsilon", 3, "--method", "logistic", "--seeds", "1000-1004")
    here = run_json(capsys, *sweep, "--jobs", 1)
    there = run_json(capsys, *sweep, "--jobs", 1, "--dask", scheduler)
    assert there == here
    assert [run["seed"] for run in there["runs"]] == [*range(1000, 1005)]


def test_a_table_of_the_paper_is_the_same(scheduler, tmp_path, capsys):
    sweep = ("reproduce", "--table", "credit-3-prv", "--seeds", 1, "--out")
    here = run_json(capsys, *sweep, tmp_path / "here", "--jobs", 1)
    there = run_json(capsys, *sweep, tmp_path / "there", "--dask", scheduler)
    assert there == here


def test_workers_make_the_runs_and_progress_is_told(scheduler, square, tmp_path):
    told = []
    with runs_on(scheduler):
        found = run_all(RUNS, tmp_path, jobs=1, execute=square, progress=told.append)
    assert [result["square"] for result in found.values()] == [n**2 for n in range(12)]
    assert os.getpid() not in {result["process"] for result in found.values()}
    assert told == [0] + [1] * 12


def test_an_error_is_that_of_the_run_and_finished_runs_are_kept(scheduler, square, tmp_path):
    def fails(run):
        if run.seed == 9 and not (tmp_path / "repaired").exists():
            raise InputError("run 9 is wrong")
        with (tmp_path / f"made {run.seed}").open("a") as file:
            file.write("once ")
        return square(run)

    with pytest.raises(InputError, match="run 9 is wrong"), runs_on(scheduler):
        run_all(RUNS, tmp_path, jobs=2, execute=fails)
    kept = finished_runs(tmp_path)
    assert 0 < len(kept) < 12
    (tmp_path / "repaired").touch()
    with runs_on(scheduler):
        found = run_all(RUNS, tmp_path, jobs=2, execute=fails)
    assert [*found] == [run.key for run in RUNS]
    made = [(tmp_path / f"made {run.seed}").read_text() for run in RUNS if run.key in kept]
    assert made == ["once "] * len(kept)


@pytest.mark.skipif(os.name == "nt", reason="slow to start processes")
def test_a_run_that_ends_its_workers_is_an_error(square, tmp_path):
    def ends(run):
        if run.seed == 3:
            os._exit(1)
        return square(run)

    once = {"distributed.scheduler.allowed-failures": 0}
    how = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": 60}
    with (
        dask.config.set(once),
        distributed.LocalCluster(n_workers=1, **how) as cluster,
        pytest.raises(InputError, match="The Dask cluster gave up"),
        runs_on(cluster.scheduler_address),
    ):
        run_all(RUNS, tmp_path, jobs=2, execute=ends)


def test_a_cluster_without_workers_is_refused(square, monkeypatch, tmp_path):
    monkeypatch.setattr("dpfair.data.dask_parts.PATIENCE", "0.2s")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        pytest.raises(InputError, match="no workers"),
        runs_on(cluster.scheduler_address),
    ):
        run_all(RUNS, tmp_path, jobs=2, execute=square)


def test_nobody_answers(monkeypatch, capsys):
    monkeypatch.setattr("dpfair.data.dask_parts.PATIENCE", "1s")
    sweep = ("benchmark", "credit", "--epsilon", 3, "--dask", "tcp://127.0.0.1:1")
    assert "No Dask scheduler answers" in refused(capsys, *sweep)
