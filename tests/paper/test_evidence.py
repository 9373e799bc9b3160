"""The paper's numbers and the reference re-runs, repeated. Slow: minutes."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs():
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[2] / "benchmarks" / "algorithm2.py"
    spec = importlib.util.spec_from_file_location("algorithm2_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = [row for seed in range(1000, 1050) for row in module.run("adult", 3.0, seed)]
    return {
        name: [r for r in rows if r["name"] == name]
        for name in dict.fromkeys(r["name"] for r in rows)
    }


def values(rows, key):
    return np.array([row[key] for row in rows])


def test_the_papers_settings_reproduce_the_honest_rerun(runs):
    """.7772 / .0065 on distinct records, with a spread of .0036 / .0034 over seeds."""
    rows = runs["paper's learner, basic composition"]
    accuracy, gap = values(rows, "accuracy"), values(rows, "gap")
    assert abs(accuracy.mean() - 0.7772) < max(accuracy.std(ddof=1), 0.0036)
    assert abs(gap.mean() - 0.0065) < max(gap.std(ddof=1), 0.0034)


def test_the_strong_learner_gains_two_points_with_algorithm_2_unchanged(runs):
    ours = runs["our learner, tight composition"]
    paper = runs["paper's learner, basic composition"]
    assert values(ours, "accuracy").mean() >= 0.798
    assert values(ours, "accuracy").mean() - values(paper, "accuracy").mean() > 0.015
    assert values(ours, "gap").mean() < 0.012


def test_the_certified_gap_is_a_third_of_the_papers(runs):
    rows = runs["paper's learner, basic composition"]
    assert values(rows, "paper theorem").mean() == pytest.approx(0.080, abs=0.001)
    assert values(rows, "C2").max() <= 0.031
    assert values(runs["our learner, tight composition"], "C3").max() < 0.016
