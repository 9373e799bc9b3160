"""One run: what it measures, and what its key depends on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpfair.experiments.benchmark import split
from scripts.panel import experiment
from scripts.panel.contenders import CONSTANT, Contender
from scripts.panel.experiment import PanelRun, measure

LOGISTIC = Contender("logistic", "bounds", "reuse", 1.0)


def test_a_run_is_measured_on_the_test_part(table, data):
    result = measure(PanelRun(table, Contender(CONSTANT), 4), data)
    test = split(len(data.y), 4)[1]
    assert result["accuracy"] == pytest.approx(1 - data.accepted[test].mean())
    assert (result["gap"], result["acceptance"]) == (0, 0)
    assert result["rows"] == len(data.y)
    assert result["label_share"] == pytest.approx(data.accepted.mean())


def test_an_error_of_a_contender_is_a_result(table, data):
    result = measure(PanelRun(table, replace(LOGISTIC, mode="no such mode"), 4), data)
    assert result["error"].startswith("InputError: ")
    assert "accuracy" not in result


def test_a_key_depends_on_table_contender_seed_and_source(table, monkeypatch):
    run = PanelRun(table, LOGISTIC, 4)
    others = [
        replace(run, seed=5),
        replace(run, contender=replace(LOGISTIC, epsilon=3.0)),
        replace(run, table=replace(table, numeric=("age",))),
    ]
    keys = {run.key, *(other.key for other in others)}
    constant = replace(run, contender=Contender(CONSTANT)).key
    monkeypatch.setattr(experiment, "library_digest", lambda: "changed")
    assert len(keys | {run.key}) == 5
    # The constant does not use the library.
    assert replace(run, contender=Contender(CONSTANT)).key == constant
