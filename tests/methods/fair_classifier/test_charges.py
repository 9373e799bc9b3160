"""What a fair model charges, and what it refuses before any charge."""

from __future__ import annotations

import pytest

from dpfair import (
    BudgetError,
    InputError,
    LogisticLearner,
    PrivateFairClassifier,
    PrivateLogisticRegression,
)
from dpfair.learners.logistic import PAPER_SETTINGS
from dpfair.report.account import scope_costs


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"relation": "replace_one"},
        {"sensitive": ["sex", "job"]},
        {"rule": {"notion": "equalized_odds"}},
        {
            "rule": {"notion": "parity_ratio", "tolerance": 0.2},
            "division": {"release_share": 0.3},
        },
        {"mode": "reuse"},
        {
            "mode": "reuse",
            "relation": "replace_one",
            "rule": {"notion": "equal_opportunity"},
        },
        {"mode": "reuse", "division": {"check_share": 0.25}},
        {"mode": "reuse", "division": {"release_epsilon": 0.5}},
        {"learner": LogisticLearner(**PAPER_SETTINGS | {"batch_size": 256, "epochs": 2})},
        {"unit": "age", "rows_per_unit": 2},
    ],
)
def test_what_is_planned_is_what_is_charged_and_within_the_budget(settings, loans, loan_schema):
    model = PrivateFairClassifier(2, 1e-5, schema=loan_schema, **settings)
    planned = model.plan()
    model.fit(*loans)
    assert model.plan_ == planned
    assert [(e.scope, e.event) for e in model.ledger_.entries] == planned.charges
    assert 1.9 < model.ledger_.spent <= 2


def test_tight_composition_pays_the_worst_scope(loans, loan_schema):
    tight = PrivateFairClassifier(2, schema=loan_schema).fit(*loans)
    costs = scope_costs(tight.ledger_.entries, "add_remove", tight=True)
    assert set(costs) == {"train", "release"}
    assert all(cost == pytest.approx(2, abs=1e-3) for cost in costs.values())
    assert tight.ledger_.spent == max(costs.values())


def test_hopeless_budgets_are_refused_at_once(loan_schema):
    for settings in ({"epsilon": 1e6}, {"epsilon": 2, "rows_per_unit": 3}):
        with pytest.raises(InputError):
            PrivateFairClassifier(schema=loan_schema, **settings).plan()


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"epsilon": 0}, InputError),
        ({"epsilon": float("nan")}, InputError),
        ({"delta": 0}, InputError),
        ({"delta": 1}, InputError),
        ({"division": {"release_share": 1}}, InputError),
        ({"confidence": 1.0}, InputError),
        ({"rule": {"coins": "loaded"}}, InputError),
        ({"relation": "none"}, InputError),
        ({"rows_per_unit": 0}, InputError),
        ({"division": {"release_epsilon": 3}}, BudgetError),
        ({"learner": LogisticLearner(solver="guess")}, InputError),
        ({"learner": PrivateLogisticRegression}, InputError),
        ({"rule": {"notion": "fair"}}, InputError),
        ({"rule": {"tolerance": 2}}, InputError),
        ({"rule": {"tolerance": float("nan")}}, InputError),
        ({"rule": "best"}, InputError),
        ({"mode": "fast"}, InputError),
        ({"rule": {"target": 1.5}}, InputError),
        ({"rule": {"target": "upper"}}, InputError),
        ({"rule": {"target": 0.5, "capacity": 0.2}}, InputError),
        ({"rule": {"costs": (1, 0)}}, InputError),
        ({"rule": {"smallest_group": -1}}, InputError),
        ({"rule": {"small_groups": "hide"}}, InputError),
        ({"rule": {"composition": "basic"}}, InputError),
        ({"rule": {"public_sizes": True}}, InputError),
        ({"division": {"check_share": 0.2}}, InputError),
        ({"division": "half"}, InputError),
        ({"division": {"values_epsilon": 0}}, InputError),
        ({"mode": "reuse", "division": {"check_share": 1}}, InputError),
        ({"mode": "reuse", "division": {"release_share": 0.5}}, InputError),
        ({"sensitive": ["sex", "sex"]}, InputError),
        ({"sensitive": ["sex", "age"]}, InputError),
    ],
)
def test_bad_parameters_raise_before_anything_is_charged(settings, error, loans, loan_schema):
    model = PrivateFairClassifier(**{"epsilon": 2, "schema": loan_schema, **settings})
    with pytest.raises(error):
        model.fit(*loans)
    assert not hasattr(model, "ledger_") or model.ledger_.entries == ()
