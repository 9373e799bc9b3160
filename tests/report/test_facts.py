"""Large print follows the grade, warnings are loud, and every public fact is listed."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans

from dpfair import Algorithm2, LogisticLearner, PrivateFairClassifier, Schema
from dpfair.data.describe import fact_rows
from dpfair.report import render_report
from dpfair.report.facts import headline_facts
from dpfair.report.groups import correction_sentences
from dpfair.report.public import schema_rows

RICH = {
    "rows": 4000,
    "label": {"name": "repaid", "values": ["no", "yes"]},
    "sensitive": {"name": "sex", "values": ["f", "m"]},
    "crosses": [["age", "job"]],
    "columns": [
        {"name": "age", "kind": "numeric", "bounds": [18, 90], "edges": [33.5, 61.5]},
        {"name": "income", "kind": "numeric", "bounds": [0, 100], "center": 51, "scale": 26},
        {"name": "debt", "kind": "numeric", "bounds": [0, 9], "usual": 0, "spiky": True},
        {
            "name": "job",
            "kind": "categorical",
            "values": ["nurse", *(f"job{i}" for i in range(30))],
            "usual": "nurse",
        },
    ],
}


def fitted(
    epsilon=3.0,
    delta=1e-5,
    change=None,
    rows=4000,
    schema=None,
    method=PrivateFairClassifier,
    **options,
):
    X, y = make_loans(rows)
    X = X.with_columns(debt=pl.lit(0.0))
    if change is not None:
        X, y = change(X, y)
    schema = Schema.from_dict(RICH) if schema is None else schema
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return method(epsilon, delta, schema=schema, **options).fit(X, y)


def facts(page):
    """(state, name, number, grade, note, rule) of everything in large print."""
    shape = (
        r'<div class="fact (\w*)">\s*<p class="what">(.*?)</p>\s*<p class="number">(.*?)</p>\s*'
        r'(?:<p class="grade">(.*?)</p>\s*)?<p class="note">(.*?)</p>\s*'
        r'(?:<p class="because">(.*?)</p>\s*)?</div>'
    )
    return re.findall(shape, page)


def test_epsilon_50_with_delta_a_tenth_is_not_green():
    page = render_report(fitted(50, 0.1))
    [privacy] = [fact for fact in facts(page) if fact[1] == "Privacy"]
    assert privacy[0] == "bad"
    assert privacy[2:4] == ("ε = 50", "vacuous")
    assert "Epsilon is above 20; delta is 0.01 or more" in privacy[5]
    assert "<strong>PRIVACY IS VACUOUS</strong>" in page
    assert "<strong>Delta is too large</strong>" in page
    assert "Is it private?" not in page
    assert "docs/certificates.md" in page


def test_only_strong_is_green_and_every_grade_has_its_own_colour():
    states, own = {}, fitted().certificate_
    for epsilon, grade in ((0.5, "strong"), (5, "moderate"), (15, "weak"), (30, "vacuous")):
        certificate = replace(own, privacy=replace(own.privacy, epsilon=epsilon))
        first = headline_facts(SimpleNamespace(certificate_=certificate))[0]
        assert first.judgement.grade == grade
        states[grade] = first.state
    assert states == {"strong": "good", "moderate": "fair", "weak": "warn", "vacuous": "bad"}


def test_bounds_that_say_nothing_are_red():
    page = render_report(fitted(0.2, rows=60))
    shown = {name.split()[-2]: state for state, name, *_ in facts(page)[1:]}
    assert set(shown.values()) == {"bad"}
    assert len(shown) == 2


def test_a_constant_rule_is_named_and_its_zero_gap_is_not_green():
    # At a small epsilon, about one fit in 400 counts noise as an accepted record and makes a rule.
    model = fitted(9, change=lambda X, y: (X, np.full(len(X), "no")))
    assert model.certificate_.fairness.gap_bound < 0.01
    page = render_report(model)
    assert "<strong>The model accepts nobody</strong>" in page
    assert "good" not in {state for state, *_ in facts(page)[1:]}
    [gap] = [fact for fact in facts(page) if fact[1] == "Gap between groups"]
    assert gap[2] == "no choice"  # no zero in large print
    assert "equal for all groups, but it decides nothing" in page


def test_the_constant_rules_accuracy_is_beside_the_models():
    model = fitted()
    [accuracy] = [fact for fact in facts(render_report(model)) if "accuracy" in fact[1]]
    claim = model.certificate_.fairness
    assert accuracy[4] == (
        f"estimated {claim.accuracy_estimate:.4f}; "
        f"a constant rule an estimated {claim.constant_accuracy:.4f}"
    )


def test_a_model_without_labels_in_its_release_does_not_know_its_accuracy():
    page = render_report(fitted(method=Algorithm2))
    assert "Accuracy:</b> not known" in page
    assert ("", "Accuracy", "unknown") in [fact[:3] for fact in facts(page)]


def test_the_estimate_of_reuse_is_not_in_large_print():
    shown = {fact[1]: fact for fact in facts(render_report(fitted(mode="reuse")))}
    assert shown["Bound on the gap"][0] == "bad"
    assert shown["Bound on the gap"][2] == "none"
    assert "chosen by" in shown["Bound on the gap"][4]


def undeclared_row(page, kind):
    shape = (
        rf'<tr( class="bad")?><th scope="row">an undeclared {kind}</th><td>(.*?)</td><td>(.*?)</td>'
    )
    [(state, share, ends)] = re.findall(shape, page)
    return bool(state), float(share.rstrip("%")), ends


def test_undeclared_values_have_a_table_and_many_have_a_banner():
    def spoil(X, y):
        return X, np.where(np.arange(len(y)) % 5 == 0, "perhaps", y)

    page = render_report(fitted(change=spoil))
    assert '<div class="banner bad" role="alert">\n<strong>UNDECLARED LABELS</strong>' in page
    many, share, ends = undeclared_row(page, "label")
    assert many
    assert share == pytest.approx(20, abs=4)
    assert re.fullmatch(r"1\d\.\d% to 2\d\.\d%", ends)
    many, share, _ = undeclared_row(page, "group")
    assert not many
    assert share < 2
    clean = render_report(fitted())
    assert not undeclared_row(clean, "label")[0]
    assert "<strong>UNDECLARED" not in clean


def test_a_single_group_has_no_undeclared_group():
    alone = Schema.from_dict({k: v for k, v in RICH.items() if k != "sensitive"})
    page = render_report(fitted(schema=alone))
    assert '<th scope="row">an undeclared group' not in page
    assert '<th scope="row">an undeclared label' in page


@pytest.mark.parametrize("features", ["binned", "standardised"])
def test_every_public_fact_that_was_used_is_listed(features):
    learner = LogisticLearner(features=features)
    model = fitted(learner=learner)
    rows = {name: facts for name, _, facts in schema_rows(model)}
    assert rows["all columns"] == "4,000 records"
    assert rows["job"].startswith("31 categories: nurse, job0, ")
    assert "job29" in rows["job"]
    unused = " (declared, not used)"
    binned, standard = ("", unused) if features == "binned" else (unused, "")
    assert f"cut points 33.5, 61.5{binned}" in rows["age"].split("; ")
    assert f"center 51{standard}" in rows["income"].split("; ")
    assert f"scale 26{standard}" in rows["income"].split("; ")
    assert f"usual value 0{binned}" in rows["debt"].split("; ")
    assert f"spiky: exact values have cells{binned}" in rows["debt"].split("; ")
    assert f"usual value nurse{binned}" in rows["job"].split("; ")
    assert ("declared, not used" in rows["age x job"]) == bool(binned)
    assert ("center 54" in rows["age"]) == (features == "standardised")
    page = render_report(model)
    for facts_ in rows.values():
        assert facts_ in page
    assert "usual values, spiky columns, crosses, label values" in page


def test_a_model_of_unknown_encoding_used_every_fact():
    rows = fact_rows(Schema.from_dict(RICH))
    assert not any("not used" in facts for *_, facts in rows)
    facts_ = {name: facts.split("; ") for name, _, facts in rows}
    assert {"center 51", "scale 26"} <= set(facts_["income"])
    assert {"center 54", "scale 36", "cut points 33.5, 61.5"} <= set(facts_["age"])
    assert facts_["age x job"] == ["one cell for every combination"]


def test_a_corrected_rule_shows_its_plan_and_the_decisions_that_were_counted():
    model = fitted(1)
    assert model.certificate_.fairness.bounds.keys() == {"corrected"}
    page = render_report(model)
    assert "<h3>The decisions of the planned rule</h3>" in page
    assert "<p>A rule was planned on other records, and what it decides" in page
    decisions = model.fitted_.releases["decisions"]
    for name, counts in zip(decisions.groups, decisions.counts, strict=True):
        cells = "".join(f"<td>{count:,}</td>" for count in counts.ravel().tolist())
        assert f'<th scope="row">{name}</th>{cells}' in page
    for sentence in correction_sentences(
        ("sex = f", "sex = m"), model.fitted_.planned, model.rule_
    ):
        assert f"<li>{sentence}</li>" in page
    assert "of the planned rule" in page
    assert "planned rule" not in render_report(fitted(30))
