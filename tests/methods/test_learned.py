"""Methods that only train: the whole budget for one learner, and scores above one half."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from dpfair import (
    BoostingLearner,
    InputError,
    LogisticLearner,
    Noise,
    PrivateBoosting,
    PrivateLogisticRegression,
)
from dpfair.learners.logistic import LogisticSettings
from dpfair.learners.protocols import TrainingBudget
from dpfair.methods.learned import LearnedClassifier

METHODS = [
    (PrivateLogisticRegression, LogisticLearner, {"steps": 4}),
    (PrivateBoosting, BoostingLearner, {"steps": 3, "trees": 4, "depth": 2}),
]


@pytest.mark.parametrize(("method", "learner", "quick"), METHODS)
def test_the_parameters_of_the_learner_are_parameters_of_the_method(method, learner, quick):
    own = set(method().get_params(deep=False))
    assert {part.name for part in fields(learner)} <= own
    made = method(**quick).make_learner()
    assert type(made) is learner
    assert made.get_params() == learner(**quick).get_params()


@pytest.mark.parametrize(("method", "learner", "quick"), METHODS)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_whole_budget_trains_on_all_records(
    method, learner, quick, relation, loans, loan_schema
):
    model = method(2, schema=loan_schema, relation=relation, **quick)
    plan = model.plan()
    [step] = plan.steps
    assert (step.name, step.scope, plan.shares) == ("train", "", {"": 1.0})
    budget = TrainingBudget(2.0, 1e-5, relation)
    assert step.event == learner(**quick).plan(loan_schema, budget).event
    model.fit(*loans)
    assert model.plan_ == plan
    assert 1.99 < model.ledger_.spent <= 2
    assert (model.rule_, dict(model.fitted_.releases)) == (None, {})


@pytest.mark.parametrize(("method", "learner", "quick"), METHODS)
def test_it_is_the_learner_and_nothing_else(method, learner, quick, loans, loan_schema):
    """Another way to the same scores: plan, pay and train by hand."""
    model = method(2, schema=loan_schema, random_state=4, **quick).fit(*loans)
    run = model.plan().open(Noise(4))
    records = model.new_records(loans[0])
    labels = (loans[1] == "yes").astype(np.int64)
    scorer = learner(**quick).train(
        run.plan["train"].how, records.with_labels(labels), loan_schema, run["train"]
    )
    run.close()
    np.testing.assert_array_equal(scorer.scores(records), model.predict_proba(loans[0])[:, 1])


@pytest.mark.parametrize(("method", "learner", "quick"), METHODS)
def test_scores_above_one_half_are_accepted(method, learner, quick, loans, loan_schema):
    X, y = loans
    model = method(8, schema=loan_schema, random_state=0, **quick | {"steps": 40}).fit(X, y)
    accept = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X), np.where(accept > 0.5, "yes", "no"))
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize(("method", "learner", "quick"), METHODS)
def test_records_of_no_declared_group_or_label_do_not_train(
    method, learner, quick, loans, loan_schema
):
    X, y = loans
    model = method(2, schema=loan_schema, random_state=0, **quick)
    strangers = X[:300].with_columns(sex=pl.lit("x"))
    more = model.fit(pl.concat([X, strangers, X[:300]]), [*y, *y[:300], *["?"] * 300])
    weights = {name: tensor.tolist() for name, tensor in more.scorer_.tensors().items()}
    plain = clone(model).fit(X, y)
    assert weights == {name: tensor.tolist() for name, tensor in plain.scorer_.tensors().items()}


@pytest.mark.parametrize(("method", "learner", "quick"), METHODS)
def test_it_claims_privacy_and_no_fairness(method, learner, quick, loans, loan_schema):
    certificate = method(2, schema=loan_schema, **quick).fit(*loans).certificate_
    assert certificate.privacy.private
    assert certificate.method == method.title
    assert not certificate.fairness.certified
    assert certificate.fairness.reason == method.no_claim


def test_grid_search_over_the_learners_parameters(loans, loan_schema):
    model = PrivateLogisticRegression(8, schema=loan_schema, steps=20, random_state=0)
    search = GridSearchCV(model, {"learning_rate": [1e-9, 0.3]}, cv=2).fit(*loans)
    assert search.best_params_ == {"learning_rate": 0.3}


class LastStep(LogisticLearner):
    """A learner that another method is made of."""

    def recipe(self, epsilon):
        return (1, *super().recipe(epsilon)[1:])


@dataclass(eq=False, repr=False)
class OneStep(LogisticSettings, LearnedClassifier):
    learner_class = LastStep
    title = "one step"


def test_another_learner_makes_another_method_in_a_line(loans, loan_schema):
    model = OneStep(2, schema=loan_schema, clip=0.5)
    assert model.plan()["train"].how.descent.steps == 1
    model.fit(*loans)
    assert model.certificate_.method == "one step"
    assert model.ledger_.spent <= 2
    with pytest.raises(InputError, match="clip"):
        OneStep(2, schema=loan_schema, clip=0).plan()
