"""The benchmark measures what it says, and repeats."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair import InputError
from dpfair.datasets import DATASETS
from dpfair.experiments import benchmark
from dpfair.experiments.benchmark import (
    BENCHMARKED,
    Setting,
    fit_split,
    measured,
    parse_seeds,
    run_split,
    split,
)
from dpfair.experiments.ceiling import same_scorer_ceiling
from dpfair.methods import METHODS


def test_splits_are_disjoint_complete_and_a_quarter():
    rest, test = split(1000, seed=3)
    assert len(test) == 250
    assert np.array_equal(np.sort(np.concatenate([rest, test])), np.arange(1000))
    assert not np.array_equal(test, split(1000, seed=4)[1])


def test_a_split_repeats_and_is_worth_its_budget():
    setting = Setting("credit", 3.0, mode="reuse")
    first, second = (run_split(setting, seed=7) for _ in range(2))
    assert first == second
    assert first["accuracy"] > 0.81
    assert first["gap"] < 0.03
    assert first["certified_gap"] is None


def test_certified_mode_has_a_bound_and_batch_mode_a_small_gap():
    certified = run_split(Setting("adult", 3.0), seed=7)
    assert certified["accuracy"] > 0.835
    assert certified["certified_gap"] < 0.02
    assert certified["certified_accuracy"] < certified["accuracy"]
    batch = run_split(Setting("adult", 3.0, mode="batch"), seed=7)
    assert batch["gap"] < 0.005
    assert batch["gap"] <= batch["certified_gap"]


def test_algorithm_2_is_never_more_accurate():
    for dataset in DATASETS:
        ours = run_split(Setting(dataset, 3.0), seed=8)
        theirs = run_split(Setting(dataset, 3.0, method="algorithm2"), seed=8)
        assert ours["accuracy"] > theirs["accuracy"]


@pytest.mark.parametrize("method", BENCHMARKED)
def test_every_method_that_trains_from_a_table_has_a_row(method):
    model = Setting("credit", 3.0, method=method).classifier(seed=4)
    assert type(model) is METHODS[method]
    assert (model.epsilon, model.delta, model.random_state) == (3.0, 1e-5, 4)
    if "mode" not in model.get_params():
        with pytest.raises(InputError, match="has no modes"):
            Setting("credit", 3.0, method=method, mode="reuse")


def test_a_method_without_thresholds_has_the_floor_of_the_test_records():
    run = run_split(Setting("credit", 3.0, method="logistic"), seed=7)
    assert (run["counted"], run["certified_gap"]) == (None, None)
    result = benchmark.summary(Setting("credit", 3.0, method="logistic"), [run])
    assert result["floor"] == result["test_floor"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"dataset": "iris"}, "adult, credit"),
        ({"method": "best"}, "fair, algorithm2"),
        ({"mode": "fast"}, "certified, reuse, batch"),
        ({"facts": "none"}, "not spiky"),
        ({"mode": "batch", "notion": "equalized_odds"}, "not rates by label"),
        ({"method": "logistic", "trees": True}, "no learner"),
    ],
)
def test_strange_settings_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        Setting(**{"dataset": "adult", "epsilon": 3.0} | wrong)


def test_measured_by_hand():
    setting = Setting("adult", 1.0, notion="equal_opportunity")
    accepted = np.array([1, 0, 1, 1, 0, 0], dtype=bool)
    labels, groups = np.array([1, 1, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1])
    found = measured(setting, accepted, labels, groups, 2)
    assert found["accuracy"] == pytest.approx(3 / 6)
    assert found["gap"] == pytest.approx(0.0)
    assert found["signed_gap"] == pytest.approx(0.0)
    assert found["acceptance"] == pytest.approx(0.5)


def test_summary_gives_means_errors_and_the_floor_of_estimated_thresholds():
    setting = Setting("adult", 1.0)
    runs = [
        {
            "accuracy": a,
            "gap": 0.01,
            "signed_gap": s,
            "acceptance": 0.2,
            "certified_gap": None,
            "certified_accuracy": 0.7,
            "floor": 0.006,
            "n_test": 100,
            "counted": 300,
        }
        for a, s in ((0.8, 0.01), (0.9, -0.01))
    ]
    result = benchmark.summary(setting, runs)
    assert result["accuracy"] == pytest.approx(0.85)
    assert result["accuracy_error"] == pytest.approx(0.05)
    assert result["signed_gap"] == pytest.approx(0.0)
    assert result["certified_gap"] is None
    assert result["floor"] == pytest.approx(0.006 * (4 / 3) ** 0.5)


def test_the_best_rule_for_the_same_scorer_is_better_only_by_noise():
    setting = Setting("adult", 3.0, mode="reuse", notion="equal_opportunity")
    model, rest, test = fit_split(setting, seed=2)
    ceiling = same_scorer_ceiling(setting, model, rest, test)
    assert ceiling == pytest.approx(run_split(setting, seed=2)["accuracy"], abs=0.01)


@pytest.mark.parametrize("text", ["", "x", "5-3", "-4", "1-", "1-2-3"])
def test_strange_seeds_are_refused(text):
    with pytest.raises(InputError, match="Expected seeds"):
        parse_seeds(text)
