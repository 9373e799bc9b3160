"""Private logistic regression: accuracy at a price, and what the price buys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpfair import (
    InputError,
    LogisticLearner,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    load_model,
    save_model,
)
from dpfair.data.encode import encode
from dpfair.learners.features import design, feature_names
from dpfair.learners.logistic import PAPER_SETTINGS
from dpfair.learners.protocols import TrainingBudget
from dpfair.learners.scorer import LinearScorer
from dpfair.privacy.events import has_floating_noise
from dpfair.privacy.noise import Noise, noise_from


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
    budget = TrainingBudget(2.9, 1e-5, "add_remove", share=0.5)
    plan = LogisticLearner(**PAPER_SETTINGS).plan(adult.schema, budget).descent
    assert plan.sampling_rate == pytest.approx(1024 / 22611)
    assert plan.steps == 1150
    assert plan.divisor == 1024
    assert plan.noise_multiplier == pytest.approx(2.35, abs=0.02)


def test_sgd_needs_a_declared_size(loans, loan_schema):
    schema = replace(loan_schema, rows=None)
    with pytest.raises(InputError, match="declare rows"):
        PrivateLogisticRegression(solver="sgd", schema=schema).fit(*loans)


def test_the_full_batch_solver_never_uses_the_number_of_records(loan_schema):
    budget = TrainingBudget(1, 1e-5, "add_remove")
    plans = [
        LogisticLearner().plan(replace(loan_schema, rows=rows), budget)
        for rows in (None, 10, 10**6)
    ]
    assert plans[0] == plans[1] == plans[2]


@pytest.mark.parametrize(
    "settings", [{}, PAPER_SETTINGS | {"learning_rate": 1.0}], ids=["full batch", "sgd"]
)
def test_exact_arithmetic_costs_the_same_and_learns_the_same(settings, loans, loan_schema):
    X, y = loans
    models = [
        PrivateLogisticRegression(
            8, schema=loan_schema, random_state=1, **settings | {"arithmetic": arithmetic}
        ).fit(X, y)
        for arithmetic in ("float64", "exact")
    ]
    assert models[0].score(X, y) > 0.7
    assert models[1].score(X, y) == pytest.approx(models[0].score(X, y), abs=0.02)
    floating = [has_floating_noise(model.ledger_.entries[0].event) for model in models]
    assert floating == [True, False]
    assert models[0].ledger_.spent == models[1].ledger_.spent
    [step] = models[1].plan().steps
    assert step.event == models[1].ledger_.entries[0].event


@pytest.mark.parametrize("features", ["binned", "standardised"])
def test_a_record_is_scored_the_same_whoever_is_scored_with_it(features, adult):
    """To the last bit: a table of counted scores depends on it."""
    records = encode(adult.X[:5000], adult.schema)
    weights = np.random.default_rng(0).normal(size=len(feature_names(features, adult.schema)))
    scorer = LinearScorer(adult.schema, features, weights)
    scores = scorer.scores(records)
    for first, size in ((0, 1), (1, 4096), (3, 4097), (17, 1000), (4990, 7)):
        part = np.arange(first, first + size)
        assert (scorer.scores(records.take(part)) == scores[part]).all()


def test_a_fair_model_in_exact_arithmetic_says_so_and_survives_its_file(
    tmp_path, loans, loan_schema
):
    X, y = loans
    sentences = []
    for arithmetic in ("float64", "exact"):
        learner = LogisticLearner(arithmetic=arithmetic)
        model = PrivateFairClassifier(3, schema=loan_schema, learner=learner).fit(X, y)
        loaded = load_model(save_model(model, tmp_path / "model.dpfair"))
        assert loaded.certificate_ == model.certificate_
        assert loaded.ledger_.entries == model.ledger_.entries
        assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
        sentences.append(model.certificate_.privacy.arithmetic)
    assert "float64 Gaussian noise in training" in sentences[0]
    assert sentences[1].startswith("exact integers everywhere")
    assert "float64" not in sentences[1]


class NoFloats(Noise):
    """Fails when floating-point noise is drawn."""

    def normals(self, count):
        raise AssertionError("normal noise")

    def poisson_batch(self, population, rate):
        raise AssertionError("a batch by floating-point coins")


@pytest.mark.parametrize("settings", [{}, PAPER_SETTINGS], ids=["full batch", "sgd"])
def test_exact_arithmetic_draws_no_float_noise(settings, loans, loan_schema):
    with noise_from(lambda seed: NoFloats(seed)):
        settings = settings | {"arithmetic": "exact"}
        PrivateLogisticRegression(schema=loan_schema, **settings).fit(*loans)
        floating = settings | {"arithmetic": "float64"}
        with pytest.raises(AssertionError):  # the twin
            PrivateLogisticRegression(schema=loan_schema, **floating).fit(*loans)


@pytest.mark.parametrize(
    "settings", [{"arithmetic": "float32"}, {"steps": 0}, {"clip": -1.0}, {"clip": float("nan")}]
)
def test_bad_settings_are_refused(settings, loans, loan_schema):
    with pytest.raises(InputError):
        PrivateLogisticRegression(schema=loan_schema, **settings).fit(*loans)
