"""Metrics: exact ones are internal, paid ones protect every record of the test table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dpfair import InputError, LedgerFile, PrivateFairClassifier
from dpfair.evaluation import evaluate, evaluate_privately
from dpfair.privacy.events import pure_epsilon


@pytest.fixture(scope="module")
def model(loans, loan_schema):
    return PrivateFairClassifier(3, schema=loan_schema, mode="reuse", random_state=1).fit(*loans)


def test_exact_metrics_say_that_they_are_internal(model, loans):
    assert evaluate(model, *loans)["internal"] is True


def test_paid_metrics_are_near_the_exact_ones_and_not_internal(model, loans):
    exact = evaluate(model, *loans)
    paid = evaluate_privately(model, *loans, epsilon=1.0)
    assert paid.private
    assert paid.to_json()["internal"] is False
    assert abs(paid.accuracy - exact["accuracy"]) < 0.02
    assert abs(paid.gap - exact["gap"]) < 0.05
    assert abs(paid.n - exact["n"]) < 100
    assert paid.reason == ""
    assert paid.accuracy_bound < paid.accuracy
    assert paid.gap < paid.gap_bound < paid.gap + 0.15
    for group, rate in exact["group_rates"].items():
        assert abs(paid.group_rates[group] - rate) < 0.05


def test_paid_metrics_charge_the_stated_epsilon_once(model, loans):
    ledger = evaluate_privately(model, *loans, epsilon=0.5).ledger
    [entry] = ledger.entries
    assert pure_epsilon(entry.event) == 0.5
    assert ledger.spent == 0.5


def test_the_noise_of_paid_metrics_has_the_stated_size(model, loans):
    X, y = loans
    counts = [
        evaluate_privately(model, X[:100], y[:100], epsilon=1.0, random_state=seed).release.counts
        for seed in range(80)
    ]
    spread = np.stack(counts).std(axis=0)
    # A discrete Laplace with parameter t has variance 2 e^-t / (1 - e^-t)^2.
    expected = np.sqrt(2 * np.exp(-1)) / (1 - np.exp(-1))
    assert np.all(np.abs(spread / expected - 1) < 0.5)
    assert abs(spread.mean() / expected - 1) < 0.2


def test_a_seed_makes_paid_metrics_not_private(model, loans):
    paid = evaluate_privately(model, *loans, epsilon=1.0, random_state=3)
    assert not paid.private


def test_undeclared_labels_and_groups_are_counted_apart_without_an_error(model, loans):
    X, y = loans[0][:200], np.array(loans[1][:200], dtype=object)
    y[:50] = "perhaps"
    X = X.with_columns(sex=pl.Series(["martian"] * 20 + X["sex"][20:].to_list()))
    paid = evaluate_privately(model, X, y, epsilon=5.0)
    assert abs(paid.n - 200) < 25
    assert paid.undeclared["group"][0] == pytest.approx(0.1, abs=0.05)
    assert paid.undeclared["label"][0] == pytest.approx(0.15, abs=0.05)
    low, high = paid.undeclared["label"][1]
    assert low < 0.15 < high
    decided = model.predict(X[50:]) == y[50:]
    assert paid.accuracy == pytest.approx(decided.sum() / 200, abs=0.05)
    assert paid.accuracy_bound < decided.sum() / 200


def test_exact_numbers_leave_undeclared_records_out_and_count_them(model, loans):
    X, y = loans[0][:200], np.array(loans[1][:200], dtype=object)
    y[:50] = "perhaps"
    strange = X.with_columns(sex=pl.Series(X["sex"][:190].to_list() + ["martian"] * 10))
    found = evaluate(model, strange, y)
    assert found["left_out"] == {"group": 10, "label": 50}
    assert {**found, "left_out": 0} == {**evaluate(model, X[50:190], y[50:190]), "left_out": 0}
    with pytest.raises(InputError, match="Of 200 records, 10 have a group and 50 have a label"):
        evaluate(model, strange, y, strict=True)
    with pytest.raises(InputError, match="Of 50 records, 0 have a group and 50 have a label"):
        evaluate(model, X[:50], y[:50])


def test_a_person_is_counted_as_often_as_the_model_allows(loans, loan_schema):
    X, y = loans
    people = X.with_columns(person=pl.Series([str(i % 100) for i in range(len(y))]))
    model = PrivateFairClassifier(
        3, schema=loan_schema, unit="person", rows_per_unit=2, random_state=0
    ).fit(people, y)
    paid = evaluate_privately(model, people, y, epsilon=8.0)
    assert abs(paid.n - 200) < 30
    assert (paid.gap_bound, paid.accuracy_bound) == (None, None)
    assert paid.to_json()["reason"] == "several records of one person are not independent"
    assert pure_epsilon(paid.ledger.entries[0].event) == 4


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf")])
def test_an_epsilon_that_is_no_budget_is_refused(model, loans, epsilon):
    with pytest.raises(InputError, match="epsilon > 0"):
        evaluate_privately(model, *loans, epsilon=epsilon)


@pytest.mark.parametrize(
    ("settings", "least"),
    [({}, 2e-5), ({"relation": "replace_one"}, 4e-5), ({"unit": "age", "rows_per_unit": 4}, 8e-5)],
)
def test_too_small_an_epsilon_is_refused_before_it_is_paid(
    settings, least, loans, loan_schema, tmp_path
):
    path = tmp_path / "loans.ledger"
    kind = {"relation": "add_remove", "unit": None, "rows_per_unit": 1} | settings
    LedgerFile.create(path, 9, 1e-5, **kind).close()
    X, y = loans[0][:200], loans[1][:200]
    model = PrivateFairClassifier(3, schema=loan_schema, mode="reuse", **settings).fit(X, y)
    for epsilon in (0.99 * least, 1e-6, 1e-300):
        with pytest.raises(InputError, match=f"smallest epsilon that works is {least:g}"):
            evaluate_privately(model, X, y, epsilon=epsilon, ledger=path)
    assert not LedgerFile(path).entries
    paid = evaluate_privately(model, X, y, epsilon=least, ledger=path)
    assert paid.gap_bound == (None if "rows_per_unit" in settings else 1)
