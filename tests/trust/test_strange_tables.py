"""Certificates of tables that nobody prepared do not mislead."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from trust.strange_tables import (
    GROUPS,
    applicants,
    are_alike,
    few_distinct_records,
    fitted,
    numeric_schema,
    rare_labels,
    schema_of,
    tiny_groups,
    wrong_labels,
)

from dpfair import PrivateFairClassifier
from dpfair.certificate import parity_claim
from dpfair.errors import FairnessWarning, PrivacyLeakWarning
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.rules import Rule, parity_rule
from dpfair.methods.algorithm2 import Algorithm2


@pytest.mark.parametrize("rule", [{}, {"target": 0.02}])
def test_bounds_of_rare_labels_agree_with_each_other_and_with_their_intervals(rule):
    claims = [rare_labels(seed, **rule) for seed in range(10)]
    assert are_alike([claim.gap_bound for claim in claims], with_target=bool(rule))
    for claim in claims:
        for (low, high), (other_low, other_high) in claim.intervals.values():
            allowed = max(high - other_low, other_high - low)
            assert claim.gap_bound <= allowed + 1e-12


@pytest.mark.parametrize("settings", [{}, {"mode": "reuse"}, {"n": 1000, "shift": 0.8}])
def test_no_rule_is_worse_than_a_constant_one(settings):
    found = [tiny_groups(seed, **settings) for seed in range(5)]
    assert not any(f.worse_than_nothing for f in found)
    for f in found:
        assert f.claim.constant_accuracy == pytest.approx(f.constant, abs=0.08)


def test_a_rule_that_is_clearly_better_is_not_given_up():
    found = tiny_groups(0, n=20_000, shift=0.8)
    assert found.accuracy > found.constant + 0.04
    assert found.claim.beats_constant


def test_a_model_that_is_not_clearly_better_says_so():
    table, labels, _ = applicants(np.random.default_rng(1), 1000, 0.8)
    model = PrivateFairClassifier(0.3, schema=numeric_schema(GROUPS[:2]), random_state=0)
    with pytest.warns(FairnessWarning, match="not clearly better than accepting everybody"):
        model.fit(table, labels.astype(str))
    text = str(model.certificate_)
    assert "accepts everybody" in text
    assert f"{model.certificate_.fairness.constant_accuracy:.4f}" in text


def test_estimated_rates_are_those_of_the_counted_records():
    """Also where many records share a score, or scores are beyond the grid."""
    assert max(few_distinct_records(seed).off_by for seed in range(20)) < 3


@pytest.mark.parametrize("settings", [{}, {"mode": "reuse"}, {"method": Algorithm2}])
def test_undeclared_labels_are_counted_and_named(settings):
    model, true_accuracy = wrong_labels(1, **settings)
    claim = model.certificate_.fairness
    share, ends = claim.undeclared["label"]
    assert share > 0.99
    assert ends is not None
    assert ends[1] == pytest.approx(1, abs=1e-9)
    assert claim.accuracy_bound is None or claim.accuracy_bound < 0.02 < true_accuracy
    assert claim.accuracy_estimate is None or claim.accuracy_estimate < 0.02
    assert str(model.certificate_).startswith("OF NO USE: nearly all labels")


def test_undeclared_labels_warn():
    table, labels, _ = applicants(np.random.default_rng(2), 2000, 0.0)
    schema = numeric_schema(GROUPS[:2], labels=("defaulted", "repaid"))
    with pytest.warns(FairnessWarning, match="none of the declared labels"):
        PrivateFairClassifier(3, schema=schema).fit(table, labels.astype(str))


def test_labels_that_were_read_off_the_records_are_not_shown():
    table, labels, _ = applicants(np.random.default_rng(2), 2000, 0.0)
    schema = numeric_schema(GROUPS[:2], labels=("defaulted", "repaid"))
    with pytest.warns((FairnessWarning, PrivacyLeakWarning)) as warned:
        model = PrivateFairClassifier(3, schema=replace(schema, reviewed=False)).fit(
            table, labels.astype(str)
        )
    told = " ".join([str(model.certificate_), *(str(w.message) for w in warned)])
    assert "OF NO USE: nearly all labels are none of the declared ones" in told
    assert "repaid" not in told


def test_undeclared_records_train_nothing_and_are_subtracted():
    """A tenth of the labels is unknown: nine tenths is all that can be right."""
    table, labels, _ = applicants(np.random.default_rng(3), 20_000, 0.0)
    words = np.where(np.arange(len(labels)) % 10 == 0, "?", labels.astype(str))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateFairClassifier(3, schema=numeric_schema(GROUPS[:2]), random_state=4).fit(
            table, words
        )
    claim = model.certificate_.fairness
    share, (low, high) = claim.undeclared["label"]
    assert low < 0.1 < high
    assert share == pytest.approx(0.1, abs=0.01)
    known = words != "?"
    right = model.predict_proba(table)[np.arange(len(labels)), labels][known].sum() / len(labels)
    assert claim.accuracy_estimate == pytest.approx(right, abs=0.02)
    assert claim.accuracy_bound < right


@pytest.mark.parametrize("settings", [{}, {"mode": "reuse"}])
def test_irregular_values_are_counted_if_that_is_paid_for(settings):
    """A value is missing, another out of bounds, a third one undeclared."""
    table, labels, _ = applicants(np.random.default_rng(5), 8000, 0.0)
    place = np.arange(len(labels)) % 20
    table = table.with_columns(
        x=pl.Series(np.where(place == 0, np.nan, table["x"].to_numpy().clip(-3, 3))),
        z=pl.Series(np.where(place == 1, 3.01, table["z"].to_numpy().clip(-3, 3))),
        c=pl.Series(np.where(place == 2, "else", "known")),
    )
    known = {"name": "c", "kind": "categorical", "values": ["known"]}
    columns = [*numeric_schema(GROUPS[:2]).to_dict()["columns"], known]
    schema = schema_of(GROUPS[:2], columns)
    counted = {"values_epsilon": 0.5}
    model = fitted(2, schema, table, labels, 1, division=counted, **settings)
    share, (low, high) = model.certificate_.fairness.irregular
    assert share == pytest.approx(0.15, abs=0.015)
    assert low < 0.15 < high
    assert "missing, out of bounds or undeclared" in str(model.certificate_)
    assert model.ledger_.spent <= 2
    without = fitted(2, schema, table, labels, 1, **settings)
    assert without.certificate_.fairness.irregular is None


def test_a_rule_that_keeps_what_the_scorer_accepts_is_not_called_constant():
    """Also if the noisy counts say that nobody is accepted."""
    release = Release(("a", "b"), HALF, [[[900, -3]], [[700, -1]]], (0.3, 0.3), None, "")
    rule = parity_rule([rate.estimate for rate in release.rates])
    assert parity_claim(release, rule, 0.95).constant == ""
    nobody = Rule([[0, 0], [0, 0]])
    assert parity_claim(release, nobody, 0.95).constant == "nobody"


def test_a_promise_says_whom_it_is_about():
    model, _ = wrong_labels(2)
    assert "on new records with a declared group and label" in str(model.certificate_)
    everybody, _ = wrong_labels(2, method=Algorithm2, public_sizes=True)
    assert "on new records with a declared group, on" in str(everybody.certificate_)
