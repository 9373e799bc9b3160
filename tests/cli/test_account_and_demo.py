"""What needs no table: the account, the demo and the help."""

from __future__ import annotations

import pytest
from cli.commands import run, run_json

from dpfair.certificate.text import round_down, round_up


def test_account_shows_every_accountant(capsys):
    options = ["--sampling-rate", ".034", "--steps", "1500", "--delta", "1e-5"]
    result = run_json(capsys, "account", "--noise-multiplier", 3.13 / 1.5, *options)
    answers = result["accountants"]
    assert set(answers) == {"pld", "rdp", "prv", "gdp"}
    assert answers["pld"]["epsilon"] == pytest.approx(2.831, abs=0.01)
    assert [a for a, v in answers.items() if not v["is_bound"]] == ["gdp"]
    calibrated = run_json(capsys, "account", "--epsilon", "2.9", *options)
    assert 2.89 < calibrated["accountants"]["pld"]["epsilon"] <= 2.9


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


def test_without_arguments_the_help_is_shown(capsys):
    code, out, err = run(capsys)
    assert code == 0
    assert "Usage: dpfair" in out
    assert err == ""
