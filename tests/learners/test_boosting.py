"""Private boosting: trees that looked at no record, and what their leaves cost."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from learners.recording import Recording

from dpfair import (
    BoostingLearner,
    InputError,
    PrivateBoosting,
    PrivateFairClassifier,
    load_model,
    save_model,
)
from dpfair.data.encode import encode
from dpfair.learners import boosting
from dpfair.learners.protocols import TrainingBudget
from dpfair.learners.trees import BoostedScorer, RandomTrees
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import compose, has_floating_noise, noisy_table
from dpfair.privacy.noise import noise_from


def test_the_structure_depends_on_the_schema_alone(loans, loan_schema):
    X, y = loans
    one = PrivateBoosting(3, schema=loan_schema, trees=5, random_state=1).fit(X, y)
    other = PrivateBoosting(1, schema=loan_schema, trees=5, random_state=2).fit(X[:50], y[:50])
    records = encode(X, loan_schema)
    for tree in range(5):
        leaves = [
            m.scorer_.structure.leaf(tree, m.scorer_.structure.codes(records)) for m in (one, other)
        ]
        assert (leaves[0] == leaves[1]).all()
        assert leaves[0].max() < 64


def test_trees_ask_different_questions(loan_schema, loans):
    structure = RandomTrees(loan_schema, trees=20, depth=4)
    codes = structure.codes(encode(loans[0], loan_schema))
    leaves = {tuple(structure.leaf(tree, codes)[:200]) for tree in range(20)}
    assert len(leaves) == 20


def test_plan_costs_the_budget_beside_other_events(loan_schema):
    table = noisy_table("0.3", "add_remove")
    plan = BoostingLearner(trees=40, tree_share=0.25).plan(
        loan_schema, TrainingBudget(3, 1e-5, "add_remove", other_events=(table,))
    )
    spent = epsilon_of(compose([plan.event, table]), 1e-5, "add_remove")
    assert 2.99 < spent <= 3
    # A quarter of mu^2 goes to the trees.
    descent = plan.linear.descent
    linear = descent.steps / descent.noise_multiplier**2
    trees = plan.trees / plan.multiplier**2
    assert trees / (linear + trees) == pytest.approx(0.25)


def test_one_record_moves_the_leaf_sums_within_the_stated_sensitivity(loans, loan_schema):
    """Runs twice with the recorded noisy sums fed back; only the exact sums may differ."""
    X, y = loans
    model = PrivateBoosting(3, schema=loan_schema, trees=20, steps=5, arithmetic="float64")
    first = Recording()
    with noise_from(lambda seed: first):
        model.fit(X, y)
    other = Recording(first.answers)
    with noise_from(lambda seed: other):
        model.fit(X[1:], y[1:])
    norms = [
        (np.linalg.norm(a.value - b.value), a.sensitivity)
        for a, b in zip(first.questions, other.questions, strict=True)
    ]
    assert len(norms) == 25
    assert all(norm <= s * (1 + 1e-6) for norm, s in norms)
    assert max(norm / s for norm, s in norms[5:]) > 0.1  # the record really is in the sums


def test_exact_leaf_sums_move_within_the_sensitivity_without_any_tolerance(loans, loan_schema):
    X, y = loans
    model = PrivateBoosting(3, schema=loan_schema, trees=20, steps=5, arithmetic="exact")
    first = Recording()
    with noise_from(lambda seed: first):
        model.fit(X, y)
    largest = 0.0
    for removed in (0, 17, 2999):
        kept, other = np.delete(np.arange(3000), removed), Recording(first.answers)
        with noise_from(lambda seed, other=other: other):
            model.fit(X[kept.tolist()], y[kept])
        for a, b in zip(first.questions, other.questions, strict=True):
            change = (a.value - b.value).ravel().tolist()
            parts = zip(a.units.ravel().tolist(), change, strict=True)
            moved = sum((Fraction(u) * c) ** 2 for u, c in parts) / Fraction(a.sensitivity) ** 2
            assert moved <= 1
            largest = max(largest, float(moved))
    assert largest > 0.5


def test_exact_boosting_learns_and_costs_the_same(loans, loan_schema):
    X, y = loans
    models = [
        PrivateBoosting(5, schema=loan_schema, trees=30, random_state=2, arithmetic=a).fit(X, y)
        for a in ("float64", "exact")
    ]
    assert models[1].score(X, y) == pytest.approx(models[0].score(X, y), abs=0.02)
    assert models[1].ledger_.spent == models[0].ledger_.spent
    floating = [has_floating_noise(m.ledger_.entries[0].event) for m in models]
    assert floating == [True, False]


def test_leaf_sums_state_their_sensitivity():
    """Rounded up: the square root has no last digit."""
    assert math.hypot(0.5, 0.125) == pytest.approx(boosting.SENSITIVITY)
    assert Fraction(boosting.SENSITIVITY) ** 2 >= Fraction(1, 4) + Fraction(1, 64)


def test_boosting_is_a_learner_of_the_fair_classifier(loans, loan_schema):
    learner = BoostingLearner(trees=10)
    model = PrivateFairClassifier(5, schema=loan_schema, learner=learner, random_state=0)
    model.fit(*loans)
    assert isinstance(model.scorer_, BoostedScorer)
    assert model.score(*loans) > 0.7
    assert model.ledger_.spent <= 5


def test_with_a_large_budget_trees_help(adult):
    """Interactions that no linear score has: exclusive or of two columns."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(20000, 2)).astype(str)
    y = (X[:, 0] != X[:, 1]).astype(int)
    from dpfair import Schema

    schema = Schema.from_dict(
        {
            "label": {"name": "y", "values": [0, 1]},
            "columns": [
                {"name": f"x{i}", "kind": "categorical", "values": ["0", "1"]} for i in range(2)
            ],
        }
    )
    model = PrivateBoosting(9, schema=schema, trees=200, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95


def test_a_boosted_model_survives_its_file(tmp_path, loans, loan_schema):
    X, y = loans
    learner = BoostingLearner(trees=10, depth=4)
    model = PrivateFairClassifier(5, schema=loan_schema, learner=learner, random_state=0)
    path = save_model(model.fit(X, y), tmp_path / "boosted.dpfair")
    loaded = load_model(path)
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
    assert isinstance(loaded.scorer_, BoostedScorer)


@pytest.mark.parametrize(
    "parameters", [{"arithmetic": "x"}, {"trees": 0}, {"depth": 11}, {"tree_share": 1.0}]
)
def test_impossible_settings_are_refused_before_any_record_is_read(parameters, loans, loan_schema):
    with pytest.raises(InputError):
        PrivateBoosting(schema=loan_schema, **parameters).fit(*loans)
