"""The shipped data sets with fewer facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpfair.experiments.benchmark import Setting, split
from scripts.panel import kinds_only
from scripts.panel.contenders import BUDGETS, MODES
from scripts.panel.kinds_only import KindsRun, execute, lines

CREDIT = KindsRun("credit", "bounds", "default", "reuse", 3.0, 100)


def test_the_model_is_that_of_the_benchmark():
    model = replace(CREDIT, facts="all").classifier()
    other = Setting("credit", 3.0, "reuse").classifier(100)
    assert model.schema == other.schema
    assert replace(CREDIT, facts="kinds").classifier().schema.rows is None
    assert (model.epsilon, model.delta, model.mode) == (other.epsilon, other.delta, other.mode)
    assert model.learner is None


def test_a_run_is_measured_on_the_split_of_its_seed(monkeypatch):
    used = []

    def recorded(n, seed):
        used.append(seed)
        return split(n, seed)

    monkeypatch.setattr(kinds_only, "split", recorded)
    result = execute(CREDIT)
    assert used == [100]
    assert 0.8 < result["accuracy"] < 0.85
    assert result["gap"] < 0.03
    assert result["gap_bound"] is None


def test_the_table_has_means_and_certified_gaps():
    runs = [
        KindsRun("adult", "bounds", "default", mode, epsilon, seed)
        for mode in MODES
        for epsilon in BUDGETS
        for seed in (1, 2)
    ]
    found = {
        run.key: {
            "accuracy": 0.8 + run.epsilon / 100 + run.seed / 1000,
            "gap": 0.01,
            "gap_bound": 0.02 if run.mode == "certified" else None,
        }
        for run in runs
    }
    text = list(lines(runs, found))
    assert text[2].startswith("| Adult, reuse | .8045 ± .0005 / .0100 ± .0000 | .8115")
    assert text[3].startswith("| Adult, certified | .8045")
    assert text[4] == "| Adult, certified: certified gap | .0200 | .0200 | .0200 |"
    assert len(text) == 5


def test_a_key_depends_on_every_field():
    fields = {"dataset": "adult", "facts": "all", "learner": "logistic", "mode": "certified"}
    others = [{"epsilon": 1.0}, {"seed": 101}, *({name: value} for name, value in fields.items())]
    assert len({CREDIT.key, *(replace(CREDIT, **other).key for other in others)}) == 7


@pytest.mark.parametrize("arguments", [[], ["--seeds", "x"]])
def test_seeds_must_be_given(monkeypatch, arguments):
    monkeypatch.setattr("sys.argv", ["kinds_only", *arguments])
    with pytest.raises((SystemExit, ValueError)):
        kinds_only.main()
