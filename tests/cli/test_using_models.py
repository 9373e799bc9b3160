"""What a user does with a model: frontier, predict, evaluate and report."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from cli.commands import run, run_json

from dpfair.certificate.text import round_down
from dpfair.cli.frontier import remarks, table
from dpfair.fairness.frontier import FrontierPoint
from dpfair.fairness.rules import Rule


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
