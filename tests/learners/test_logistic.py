"""PrivateLogisticRegression: accuracy at a price, and what the price buys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpfair import InputError, PrivateLogisticRegression
from dpfair.learners.features import design
from dpfair.learners.logistic import PAPER_SETTINGS
from dpfair.table import encode


def test_at_epsilon_3_it_equals_the_non_private_model(adult):
    model = PrivateLogisticRegression(3, schema=adult.schema, random_state=0)
    model.fit(adult.X[:30000], adult.y[:30000])
    rows = design("binned", adult.schema, encode(adult.X, adult.schema)).matrix()
    exact = LogisticRegression(C=1e3, max_iter=300).fit(rows[:30000], adult.y[:30000])
    private = model.score(adult.X[30000:], adult.y[30000:])
    assert private > exact.score(rows[30000:], adult.y[30000:]) - 0.003


def test_accuracy_grows_with_the_budget(loans, loan_schema):
    X, y = loans
    scores = [
        np.mean([
            PrivateLogisticRegression(e, schema=loan_schema, random_state=s).fit(X, y).score(X, y)
            for s in range(5)
        ])
        for e in (0.005, 0.05, 20)
    ]  # fmt: skip
    assert scores[0] + 0.05 < scores[1] < scores[2] - 0.03


def test_the_papers_solver_samples_batches_of_the_declared_rate(adult):
    learner = PrivateLogisticRegression(**PAPER_SETTINGS)
    plan = learner.plan(adult.schema, 2.9, 1e-5, relation="add_remove", share=0.5)
    assert plan.sampling_rate == pytest.approx(1024 / 22611)
    assert plan.steps == 1150
    assert plan.divisor == 1024
    assert plan.noise_multiplier == pytest.approx(2.35, abs=0.02)


def test_sgd_needs_a_declared_size(loans, loan_schema):
    schema = replace(loan_schema, rows=None)
    with pytest.raises(InputError, match="declare rows"):
        PrivateLogisticRegression(solver="sgd", schema=schema).fit(*loans)


def test_the_full_batch_solver_never_uses_the_number_of_records(loan_schema):
    learner = PrivateLogisticRegression()
    plans = [
        learner.plan(replace(loan_schema, rows=rows), 1, 1e-5, relation="add_remove")
        for rows in (None, 10, 10**6)
    ]
    assert plans[0] == plans[1] == plans[2]


@pytest.mark.parametrize("settings", [{"steps": 0}, {"clip": -1.0}, {"clip": float("nan")}])
def test_bad_settings_are_refused(settings, loans, loan_schema):
    with pytest.raises(InputError):
        PrivateLogisticRegression(schema=loan_schema, **settings).fit(*loans)
