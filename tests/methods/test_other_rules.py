"""Other rules from the release of a fit: what is new is certified anew, and nothing else."""

from __future__ import annotations

import pytest
from sample_models import fitted

from dpfair import load_model, save_model
from dpfair.certificate.text import round_down, round_up
from dpfair.cli.frontier import remarks, table
from dpfair.models.file import same_release
from dpfair.report import render_report

KINDS = ["placed", "corrected", "reuse", "check", "values", "bands", "search"]
KINDS += ["method dp-postprocessing"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_unchanged_goal_keeps_the_rule_and_its_claim(kind, tmp_path):
    model = fitted(kind)
    rule = model.rule_settings
    same = model.with_rule(tolerance=rule.tolerance, costs=list(rule.costs))
    assert same.certificate_ == model.certificate_
    assert same.rule_ == model.rule_
    assert same.fitted_.releases == model.fitted_.releases
    again = load_model(save_model(same, tmp_path / "same.dpfair"))
    assert again.certificate_ == model.certificate_


@pytest.mark.parametrize("kind", ["placed", "corrected", "check", "method dp-postprocessing"])
def test_another_confidence_keeps_the_kind_of_bound(kind, tmp_path):
    model = fitted(kind)
    bolder = model.with_rule(confidence=0.8)
    ours, theirs = bolder.certificate_.fairness, model.certificate_.fairness
    assert list(ours.bounds) == list(theirs.bounds)
    assert ours.confidence == 0.8
    assert ours.gap_bound <= theirs.gap_bound
    assert bolder.rule_ == model.rule_ or "dp-postprocessing" in kind  # which allows for its error
    assert load_model(save_model(bolder, tmp_path / "m")).certificate_ == bolder.certificate_
    assert same_release(bolder, model)


@pytest.mark.parametrize("kind", KINDS)
def test_the_line_of_the_models_own_goal_is_the_model(kind):
    model = fitted(kind)
    claim, own = model.certificate_.fairness, model.rule_settings.tolerance
    points = model.frontier(tolerances=[own, 0.3, 1.0])
    assert [point.own for point in points] == [True, False, False]
    [first, *_] = points
    assert (first.tolerance, first.rule) == (own, model.rule_)
    assert (first.gap, first.gap_bound) == (claim.gap_estimate, claim.gap_bound)
    assert (first.accuracy, first.accuracy_bound) == (
        claim.accuracy_estimate,
        claim.accuracy_bound,
    )
    assert not any(point.own for point in model.frontier("accuracy_parity", [own]))


def test_the_table_and_the_report_name_that_line():
    model = fitted("corrected")
    points = model.frontier(tolerances=[0.0, 0.1])
    _, first, second = table(points)
    assert first.endswith("the model's own rule")
    assert "own rule" not in second
    [remark] = remarks(points, "")
    assert "bounds of its certificate" in remark
    assert list(remarks(points[1:], "")) == []
    page = render_report(model)
    assert page.count("(this model)") == 1
    row = page[page.index("(this model)") :].split("</tr>")[0]
    claim = model.certificate_.fairness
    assert round_up(claim.gap_bound) in row
    assert round_down(claim.accuracy_bound) in row
