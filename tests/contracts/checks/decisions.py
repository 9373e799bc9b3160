"""Checks of decisions and of seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from contracts.cases import PROBE, TABLE, Case, labels_for, parameter
from contracts.checks.again import written_and_read
from scipy.stats import binom

from dpfair.evaluation import evaluate, evaluate_privately
from dpfair.models.file import model_bytes

# Decisions.


def check_decisions_and_their_probabilities(case: Case) -> None:
    model, X = case.fit(), TABLE.X
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), 2)
    assert np.all((probabilities >= 0) & (probabilities <= 1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    decisions = model.predict(X)
    assert set(decisions) <= set(model.classes_)
    np.testing.assert_array_equal(decisions, model.predict(X))
    both = model.decide_all(X)
    np.testing.assert_array_equal(both[0], decisions)
    np.testing.assert_array_equal(both[1], probabilities[:, 1])
    codes = model.decide(model.new_records(X))
    np.testing.assert_array_equal(model.classes_[codes], decisions)
    assert [model.predict(X[i : i + 1])[0] for i in range(40)] == decisions[:40].tolist()
    if model.rule_ is None:
        np.testing.assert_array_equal(codes, (probabilities[:, 1] > 0.5).astype(int))
    right = np.mean(decisions == labels_for(model))
    assert model.score(X, labels_for(model)) == right


def check_fresh_coins_decide_with_the_stated_probability(case: Case) -> None:
    key = parameter(case.make(), "coins")
    if key is not None:
        accepts_at_the_stated_rate(case.fit(**{key: "fresh"}, random_state=1), TABLE.X)


def accepts_at_the_stated_rate(model: Any, X: Any, calls: int = 200) -> None:
    """Whether ``predict`` with fresh coins accepts as often as ``predict_proba`` says."""
    chances, positive = model.predict_proba(X)[:, 1], model.classes_[1]
    accepted = np.sum([model.predict(X) == positive for _ in range(calls)], axis=0)
    # Tails of one in 10^9 for each record: small rates are far from normal.
    assert np.all(accepted >= binom.ppf(1e-9, calls, chances))
    assert np.all(accepted <= binom.isf(1e-9, calls, chances))
    # All records together are sharper. By Bernstein's inequality this fails once in 10^7 runs.
    deviation = math.sqrt(calls * np.sum(chances * (1 - chances)))
    assert abs(accepted.sum() - calls * chances.sum()) <= 6 * deviation + 12


def check_groups_apart_from_the_table(case: Case) -> None:
    inside = case.fit(random_state=1)
    apart, groups = TABLE.X.drop("sex"), TABLE.X["sex"]
    outside = case.make(random_state=1).fit(apart, TABLE.y, sensitive_features=groups)
    probabilities = outside.predict_proba(apart, sensitive_features=groups)
    np.testing.assert_array_equal(inside.predict_proba(TABLE.X), probabilities)
    decisions = outside.predict(apart, sensitive_features=groups)
    if "schema" in inside.get_params():  # otherwise every column makes a record another one
        np.testing.assert_array_equal(inside.predict(TABLE.X), decisions)
    again = written_and_read(case, outside)
    np.testing.assert_array_equal(again.predict(apart, sensitive_features=groups), decisions)


def check_every_container_gives_the_same_model(case: Case) -> None:
    files, decisions = [], []
    for X in (TABLE.X, TABLE.X.to_pandas(), TABLE.X.to_arrow()):
        model = case.make(random_state=1).fit(X, TABLE.y)
        files.append(model_bytes(model))
        decisions.append(model.predict(X).tolist())
    assert files[0] == files[1] == files[2]
    assert decisions[0] == decisions[1] == decisions[2]


def check_evaluations(case: Case) -> None:
    model = case.fit()
    labels = labels_for(model)
    found = evaluate(model, TABLE.X, labels)
    assert found["internal"]
    assert found["n"] == len(labels)
    assert found["accuracy"] == model.score(TABLE.X, labels)
    paid = evaluate_privately(model, TABLE.X, labels, epsilon=1.0)
    assert paid.private
    assert paid.ledger.spent == 1.0


# Seeds.


def check_the_same_seed_gives_the_same_model(case: Case) -> None:
    one, two = case.fit(random_state=3), case.fit(random_state=3)
    assert model_bytes(one) == model_bytes(two)
    assert one.certificate_ == two.certificate_
    np.testing.assert_array_equal(one.predict(PROBE.X), two.predict(PROBE.X))
    assert not one.certificate_.privacy.private
    assert "NOT PRIVATE" in str(one.certificate_)


def check_fits_without_a_seed_differ(case: Case) -> None:
    if case.private:
        assert model_bytes(case.fit()) != model_bytes(case.fit())
