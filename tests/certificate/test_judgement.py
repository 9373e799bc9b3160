"""Claims are judged in words, and no word is better than the numbers allow."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sample_tables import make_loans

from dpfair import Algorithm2, PrivateFairClassifier, load_model, save_model
from dpfair.certificate.judgement import (
    GRADES,
    delta_warning,
    judge_accuracy,
    judge_gap,
    judge_privacy,
    judge_ratio,
    room_for_gap,
)
from dpfair.errors import WeakPrivacyWarning


@pytest.fixture(scope="module")
def certificate(loan_schema):
    X, y = make_loans(6000)
    schema = replace(loan_schema, rows=6000)
    return PrivateFairClassifier(3, schema=schema).fit(X, y).certificate_


@pytest.mark.parametrize(
    ("epsilon", "delta", "records", "grade"),
    [
        (1, 1e-5, 6000, "strong"),
        (1.001, 1e-5, 6000, "moderate"),
        (10, 1e-5, None, "moderate"),
        (20, 0, None, "weak"),
        (50, 1e-5, 6000, "vacuous"),
        (math.inf, 0, None, "vacuous"),
        (1, 1 / 6000, 6000, "weak"),
        (1, 1 / 6001, 6000, "strong"),
        (50, 0.1, 6000, "vacuous"),
        (0.1, 0.1, None, "vacuous"),
    ],
)
def test_privacy_is_judged_by_epsilon_and_by_delta_against_1_over_n(epsilon, delta, records, grade):
    assert judge_privacy(epsilon, delta, records).grade == grade


def test_the_rule_names_n_and_says_when_it_is_noisy_or_unknown():
    assert "n = 6,000 records" in judge_privacy(1, 1e-5, 6000).rule
    assert "n = about 6,000 records" in judge_privacy(1, 1e-5, 6000, 40).rule
    assert "not known" in judge_privacy(1, 1e-5, None).rule


def test_only_a_delta_that_is_certainly_too_large_warns():
    assert "6,000" in delta_warning(1e-3, 6000)
    assert delta_warning(1e-3, 999) == ""
    assert delta_warning(1e-3, None) == ""
    assert "promises nothing" in delta_warning(0.01, None)
    assert delta_warning(1e-3, 1010, error=40) == ""
    assert "about" in delta_warning(1e-3, 1050, error=40)


@pytest.mark.parametrize(
    ("bound", "known", "grade"),
    [
        (0.05, {}, "strong"),
        (0.051, {}, "moderate"),
        (0.11, {}, "weak"),
        (1.0, {}, "vacuous"),
        (0.02, {"room": 0.02}, "vacuous"),
        (0.02, {"room": 0.05}, "moderate"),
        (0.03, {"room": 0.05}, "weak"),
        (0.08, {"before": 0.1}, "weak"),
        (0.08, {"before": 0.08}, "vacuous"),
        (0.04, {"before": 0.02}, "strong"),
        (0.01, {"confidence": 0.8}, "weak"),
        (0.01, {"confidence": 0.4}, "vacuous"),
    ],
)
def test_a_gap_is_judged_by_what_it_rules_out(bound, known, grade):
    assert judge_gap(bound, **{"confidence": 0.95, **known}).grade == grade


def test_no_bound_is_judged_better_than_a_smaller_one():
    for room in (0.01, 0.2, 1.0):
        for before in (None, 0.03, 0.3):
            grades = [
                GRADES.index(judge_gap(bound, 0.95, room=room, before=before).grade)
                for bound in np.linspace(0, 1, 401)
            ]
            assert grades == sorted(grades)
            assert grades[-1] == 3
    ratios = [GRADES.index(judge_ratio(r, 0.95, 0.5).grade) for r in np.linspace(1, 0, 401)]
    assert ratios == sorted(ratios)


def test_rates_near_zero_or_one_leave_little_room():
    assert room_for_gap([[0.01, 0.02], [0.9, 0.97]]) == pytest.approx(0.1)
    assert room_for_gap([[math.nan, 0.3]]) == 0.3


@pytest.mark.parametrize(
    ("bound", "estimate", "beats", "grade"),
    [
        (0.0, 0.9, False, "vacuous"),
        (0.5, 0.9, True, "vacuous"),
        (0.7, 0.74, False, "vacuous"),
        (0.7, 0.8, False, "weak"),
        (0.77, 0.8, True, "moderate"),
        (0.83, 0.85, True, "strong"),
    ],
)
def test_accuracy_is_judged_against_the_constant_rule(bound, estimate, beats, grade):
    known = {"estimate": estimate, "constant": 0.75, "beats_constant": beats}
    assert judge_accuracy(bound, 0.95, **known).grade == grade


def test_a_constant_rule_is_never_strong(certificate):
    fairness = certificate.fairness
    assert fairness.gap_judgement.grade != "vacuous"
    for whom in ("nobody", "everybody"):
        still = replace(fairness, constant=whom, gap_bound=0.0, accuracy_bound=0.99)
        assert still.gap_judgement.grade == still.accuracy_judgement.grade == "vacuous"
        assert whom in still.gap_judgement.rule
        said = str(replace(certificate, fairness=still))
        assert f"Constant rule: the model accepts {whom}, so it is one itself." in said


def test_many_undeclared_records_make_bounds_weak(certificate):
    many = {"group": (0.0, (0.0, 0.01)), "label": (0.2, (0.19, 0.21))}
    claim = replace(certificate.fairness, gap_bound=0.001, accuracy_bound=0.99, undeclared=many)
    assert claim.gap_judgement.grade == claim.accuracy_judgement.grade == "weak"
    assert "0.2000 of the records have no declared label" in claim.gap_judgement.rule


def test_every_promise_is_printed_with_its_grade_and_its_rule(certificate):
    text = str(certificate)
    assert all(certificate.judgements.values())
    for judged in certificate.judgements.values():
        assert f"Judged {judged.grade}: {judged.rule}." in text
    assert "n = 6,000 records" in text
    assert f"estimated {certificate.fairness.constant_accuracy:.4f}. The model is more" in text
    unsure = replace(certificate, fairness=replace(certificate.fairness, beats_constant=False))
    assert "It is NOT CERTAIN that the model is more accurate: this number" in str(unsure)


def test_what_is_not_promised_has_no_grade(certificate):
    nothing = replace(
        certificate,
        privacy=replace(certificate.privacy, leaks=("a seed",)),
        fairness=replace(certificate.fairness, gap_bound=None, accuracy_bound=None, reason="why"),
    )
    assert not any(nothing.judgements.values())
    assert "Judged" not in str(nothing)


@pytest.mark.parametrize(("rows", "delta"), [(6000, 1e-3), (None, 1e-3), (6000, 1e-5)])
def test_fit_warns_if_delta_is_at_least_1_over_n(loan_schema, rows, delta):
    X, y = make_loans(6000)
    model = PrivateFairClassifier(2, delta, schema=replace(loan_schema, rows=rows))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    said = [str(w.message) for w in caught if w.category is WeakPrivacyWarning]
    assert len(said) == (delta == 1e-3)
    if said:
        assert ("for 6,000 records" if rows else "for about ") in said[0]
        assert model.certificate_.privacy.judgement.grade == "weak"


def test_other_goals_are_not_judged_by_accuracy(certificate):
    fairness = replace(
        certificate.fairness,
        other_goal="something else (unequal costs)",
        accuracy_estimate=0.6,
        constant_accuracy=0.8,
        beats_constant=False,
    )
    assert fairness.accuracy_judgement is None
    said = str(replace(certificate, fairness=fairness))
    assert "NO MORE accurate, since something else (unequal costs) was asked for." in said


def test_a_tolerance_that_is_not_met_is_named(certificate):
    fairness = replace(certificate.fairness, tolerance=0.1, gap_estimate=0.3, excess_changes=None)
    assert "the estimate of 0.3000 is LARGER" in str(replace(certificate, fairness=fairness))
    fairness = replace(fairness, gap_estimate=0.1)
    assert "LARGER" not in str(replace(certificate, fairness=fairness))


def test_the_noisy_number_of_records_covers_the_true_one(loan_schema):
    X, y = make_loans(3000)
    schema = replace(loan_schema, rows=None)
    for share in (None, 0.8):
        model = PrivateFairClassifier(2, schema=schema, division={"release_share": share}).fit(X, y)
        privacy = model.certificate_.privacy
        assert abs(privacy.records - 3000) <= 2 * privacy.records_error  # six deviations


def test_a_file_keeps_the_number_of_records_and_derives_the_grades(loan_schema, tmp_path):
    X, y = make_loans(3000)
    schema = replace(loan_schema, rows=None)
    model = Algorithm2(9, schema=schema, release_share=0.7).fit(X, y)
    read = load_model(save_model(model, tmp_path / "model.dpfair"))
    assert read.certificate_.judgements == model.certificate_.judgements
    assert "Judged" not in json.dumps(model.certificate_.to_json())
