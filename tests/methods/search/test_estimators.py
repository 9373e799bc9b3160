"""What can be searched, on which tables, and what is found."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from methods.search.searching import fair, make_search
from sklearn.base import clone

from dpfair import (
    Algorithm2,
    DPFermi,
    LogisticLearner,
    PrivateLogisticRegression,
    PrivateSearchCV,
    load_model,
    save_model,
)
from dpfair.errors import PrivacyLeakWarning


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLogisticRegression(steps=20),
        PrivateLogisticRegression(solver="sgd", batch_size=300, steps=10, noise_multiplier=2),
        PrivateLogisticRegression(steps=20, relation="replace_one"),
    ],
)
def test_logistic_regression_is_searched_and_promises_privacy_only(loans, loan_schema, estimator):
    X, y = loans
    search = make_search(loan_schema, estimator, {"learning_rate": [0.1, 0.3]}, mean_runs=2)
    search.fit(X, y)
    assert search.score(X, y) > 0.6
    assert search.predict_proba(X).shape == (len(y), 2)
    assert search.certificate_.fairness.certified is False
    assert search.certificate_.privacy.spent <= 3


def test_the_better_candidate_wins(loans, loan_schema, five_runs):
    X, y = loans
    estimator = PrivateLogisticRegression(steps=20)
    search = make_search(loan_schema, estimator, {"learning_rate": [1e-9, 0.3]}).fit(X, y)
    assert search.best_params_ == {"learning_rate": 0.3}
    assert abs(search.best_score_ - search.score(X, y)) < 0.1


def test_seeds_repeat_and_mark_as_not_private(fitted, loans, loan_schema):
    X, y = loans
    again = clone(fitted).fit(X, y)
    assert again.best_params_ == fitted.best_params_
    assert again.best_score_ == fitted.best_score_
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    other = make_search(loan_schema, random_state=2).fit(X, y)
    assert other.best_score_ != fitted.best_score_
    assert not fitted.certificate_.privacy.private
    assert make_search(loan_schema, random_state=None).fit(X, y).certificate_.privacy.private


def test_clone_and_get_params(fitted):
    params = clone(fitted).get_params()
    assert params["mean_runs"] == 3
    assert params["estimator__learner__steps"] == 20
    assert not hasattr(clone(fitted), "best_estimator_")


def test_groups_apart_and_persons(loans, loan_schema):
    X, y = loans
    apart = make_search(loan_schema).fit(X.drop("sex"), y, sensitive_features=X["sex"])
    inside = make_search(loan_schema).fit(X, y)
    assert apart.best_score_ == inside.best_score_
    persons = X.with_columns(person=pl.Series([f"p{i // 3}" for i in range(len(y))]))
    search = make_search(loan_schema, fair(unit="person", rows_per_unit=2)).fit(persons, y)
    assert "person" in search.certificate_.privacy.unit
    assert search.ledger_.rows_per_unit == 2
    assert search.ledger_.spent <= 3


def test_undeclared_groups_do_not_raise(loans, loan_schema):
    X, y = loans
    odd = X.with_columns(sex=pl.when(pl.arange(0, len(y)) % 5 == 0).then(None).otherwise("sex"))
    make_search(loan_schema).fit(odd, y)


def test_a_schema_read_off_the_data_is_a_leak(loans):
    X, y = loans
    with pytest.warns(PrivacyLeakWarning):
        search = make_search(None, sensitive="sex").fit(X, y)
    assert any("schema" in leak for leak in search.certificate_.privacy.leaks)


def test_a_decision_about_an_undeclared_label_is_never_right(loans, loan_schema):
    """Else a candidate that accepts everybody would win by the unknown labels."""
    X, y = loans
    unknown = np.where(np.arange(len(y)) % 10 < 6, "?", y)
    estimator = fair(mode="reuse")
    search = PrivateSearchCV(
        estimator,
        {"rule__target": [0.1, 0.95]},
        epsilon=8,
        mean_runs=6,
        schema=loan_schema,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, unknown)
    assert search.best_score_ < 0.45  # four tenths can be right


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (DPFermi(batch_size=300, epochs=2), {"weight": [0.5, 2.0]}),
        (Algorithm2(learner=LogisticLearner(steps=5)), {"target": ["lower", "upper"]}),
        (fair(), {"rule__notion": ["demographic_parity", "equal_opportunity"]}),
    ],
    ids=["dp-fermi", "algorithm 2", "fair"],
)
def test_every_method_can_be_searched(loans, loan_schema, estimator, grid, tmp_path):
    X, y = loans
    search = make_search(loan_schema, estimator, grid, mean_runs=2).fit(X, y)
    assert type(search.best_estimator_) is type(estimator)
    assert 2.9 < search.ledger_.spent <= 3
    assert search.best_params_ in search.runs_.candidates
    again = load_model(save_model(search, tmp_path / "m.dpfair"))
    assert again.certificate_ == search.certificate_
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
