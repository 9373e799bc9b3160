"""Any object with plan, train and restore is a learner, and every listed one keeps its word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sample_tables import make_loans
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dpfair import (
    Algorithm2,
    BudgetError,
    InputError,
    LogisticLearner,
    Noise,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
    load_model,
    save_model,
)
from dpfair.data.encode import encode
from dpfair.errors import ModelFileError, ReceiptError
from dpfair.learners import LEARNERS
from dpfair.learners.features import design
from dpfair.learners.protocols import Learner, TrainingBudget
from dpfair.privacy.accountants import calibrate, epsilon_of
from dpfair.privacy.events import DpEvent, compose, noisy_table, step_event
from dpfair.privacy.ledger import Ledger


@dataclass(frozen=True)
class OneSum:
    event: DpEvent


class Centroids:
    """A learner of somebody else: the direction between the two classes, by one noisy sum."""

    def __init__(self, norm=2.0):
        self.norm = norm

    def plan(self, schema, budget):
        multiplier = calibrate(
            budget.epsilon,
            budget.delta,
            1.0,
            1,
            relation=budget.relation,
            other_events=budget.other_events,
        )
        return OneSum(step_event(multiplier, 1.0))

    def train(self, plan, records, schema, receipt, progress=None):
        rows = design("standardised", schema, records).matrix()
        rows *= np.minimum(1, self.norm / np.linalg.norm(rows, axis=1))[:, None]
        total = (2.0 * records.labels - 1) @ rows
        noisy = receipt.draw(plan.event).gaussian(total, self.norm)
        return Direction(schema, noisy / np.linalg.norm(noisy))

    def restore(self, schema, tensors):
        return Direction(schema, tensors["direction"])


class Direction:
    def __init__(self, schema, direction):
        self.schema, self.direction = schema, direction

    def scores(self, records):
        rows = design("standardised", self.schema, records).matrix()
        return expit(3.0 * rows @ self.direction)

    def tensors(self):
        return {"direction": self.direction}


MODELS = [
    PrivateFairClassifier(2, learner=Centroids()),
    PrivateFairClassifier(2, learner=Centroids(), mode="reuse"),
    Algorithm2(2, learner=Centroids()),
]


@pytest.mark.parametrize("model", MODELS, ids=["certified", "reuse", "algorithm 2"])
def test_a_learner_of_somebody_else_is_fitted_and_paid_for(model, loans, loan_schema):
    assert isinstance(Centroids(), Learner)
    X, y = loans
    model = clone(model).set_params(schema=loan_schema)
    plan = model.plan()
    model.fit(X, y)
    assert model.plan_ == plan
    assert 1.9 < model.ledger_.spent <= 2
    assert isinstance(model.scorer_, Direction)
    assert model.score(X, y) > 0.6
    accept, male = model.predict_proba(X)[:, 1], (X["sex"] == "m").to_numpy()
    fairness = model.certificate_.fairness
    if fairness.certified:
        assert abs(accept[male].mean() - accept[~male].mean()) < fairness.gap_bound
    assert fairness.certified is (getattr(model, "mode", "") != "reuse")
    assert model.certificate_.privacy.private


@pytest.mark.parametrize("model", MODELS, ids=["certified", "reuse", "algorithm 2"])
def test_its_model_is_loaded_with_the_learner(model, loans, loan_schema, tmp_path):
    X, y = loans
    model = clone(model).set_params(schema=loan_schema).fit(X, y)
    path = save_model(model, tmp_path / "own.dpfair")
    again = load_model(path, learner=Centroids())
    assert again.certificate_ == model.certificate_
    assert again.plan_ == model.plan_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ModelFileError, match=r"'Centroids'.*learner="):
        load_model(path)
    for other in (LogisticLearner(), Centroids):
        with pytest.raises(ModelFileError):
            load_model(path, learner=other)


def test_a_search_chooses_between_learners(loans, loan_schema):
    search = PrivateSearchCV(
        PrivateFairClassifier(),
        {"learner": [Centroids(0.5), Centroids(2.0)]},
        epsilon=3,
        mean_runs=2,
        schema=loan_schema,
        random_state=0,
    ).fit(*loans)
    assert isinstance(search.best_params_["learner"], Centroids)
    assert search.ledger_.spent <= 3


def test_it_gets_declared_records_only_and_may_tell_its_progress(loan_schema):
    seen = {}

    class Watching(Centroids):
        def train(self, plan, records, schema, receipt, progress=None):
            seen.update(records=records, schema=schema, progress=progress)
            return super().train(plan, records, schema, receipt)

    X, y = make_loans(1000)
    y = np.where(np.arange(1000) % 4 == 0, "?", y)
    model = PrivateFairClassifier(
        2, schema=loan_schema, mode="reuse", learner=Watching(), sensitive="job"
    )
    model.fit(X.with_columns(job=X["job"].replace("nurse", "pilot")), y)
    assert set(seen["records"].groups.tolist()) == {0, 1}
    assert set(seen["records"].labels.tolist()) == {0, 1}
    assert seen["schema"] == model.schema_
    assert seen["progress"] is None
    model.set_params(verbose=True).fit(X, y)
    seen["progress"](1)


class TooDear(Centroids):
    """States less noise than the budget pays for."""

    def plan(self, schema, budget):
        return OneSum(step_event(super().plan(schema, budget).event.noise_multiplier / 2, 1.0))


class Careless(Centroids):
    """Draws with less noise than it states."""

    def train(self, plan, records, schema, receipt, progress=None):
        less = OneSum(step_event(plan.event.noise_multiplier / 2, 1.0))
        return super().train(less, records, schema, receipt)


class Idle(Centroids):
    """Draws nothing."""

    def train(self, plan, records, schema, receipt, progress=None):
        return Direction(schema, np.ones(design("standardised", schema, records).width))


@pytest.mark.parametrize(
    ("learner", "error", "why"),
    [
        (TooDear(), BudgetError, "nothing was charged"),
        (Careless(), ReceiptError, "Nothing is left on this receipt"),
        (Idle(), ReceiptError, "'train' did not draw all"),
    ],
    ids=["too dear", "careless", "idle"],
)
def test_a_learner_cannot_take_more_or_less_than_it_plans(learner, error, why, loans, loan_schema):
    model = PrivateFairClassifier(2, schema=loan_schema, learner=learner)
    with pytest.raises(error, match=why):
        model.fit(*loans)
    assert not hasattr(model, "certificate_")


@pytest.mark.parametrize("method", [PrivateFairClassifier, Algorithm2])
@pytest.mark.parametrize(
    ("other", "name"),
    [
        ("boosting", "str"),
        (object(), "object"),
        (LogisticLearner, "LogisticLearner"),
        (LogisticRegression(), "LogisticRegression"),
        (PrivateLogisticRegression(), "PrivateLogisticRegression"),
    ],
    ids=["a name", "an object", "a class", "of scikit-learn", "a classifier"],
)
def test_what_is_no_learner_is_refused_in_a_sentence(method, other, name, loans, loan_schema):
    model = method(2, schema=loan_schema, learner=other)
    with pytest.raises(InputError, match=rf"a learner such as LogisticLearner\(\), got {name}\.$"):
        model.fit(*loans)


# The listed ones


def quick(name):
    return LEARNERS[name](**LEARNERS[name].quick)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_plan_costs_the_budget_that_other_events_leave(name, relation, loan_schema):
    table = noisy_table("1/2", relation)
    budget = TrainingBudget(2.0, 1e-5, relation, share=0.5, other_events=(table,))
    event = quick(name).plan(loan_schema, budget).event
    assert 1.99 < epsilon_of(compose([event, table]), 1e-5, relation) <= 2


@pytest.mark.parametrize("name", LEARNERS)
def test_a_scorer_survives_as_tensors_and_foreign_ones_are_refused(name, loan_schema):
    learner, (X, y) = quick(name), make_loans(300)
    assert isinstance(learner, Learner)
    training = learner.plan(loan_schema, TrainingBudget(2.0, 1e-5, "add_remove"))
    receipt = Ledger(3, 1e-5, noise=Noise(0)).charge(training.event, scope="", purpose="train")
    records = encode(X, loan_schema).with_labels((y == "yes").astype(np.int64))
    done = []
    scorer = learner.train(training, records, loan_schema, receipt, done.append)
    assert receipt.used_up
    assert done
    scores = scorer.scores(records)
    assert ((scores > 0) & (scores < 1)).all()
    tensors = dict(scorer.tensors())
    again = learner.restore(loan_schema, tensors)
    np.testing.assert_array_equal(again.scores(records), scores)
    for bad in (
        {},
        {"others": tensors["weights"]},
        tensors | {"weights": tensors["weights"][:-1]},
        tensors | {"more": tensors["weights"]},
    ):
        with pytest.raises(InputError):
            learner.restore(loan_schema, bad)
