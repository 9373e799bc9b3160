"""Algorithm 2: what it costs, where it brings the groups, what it certifies."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans

from dpfair import (
    Algorithm2,
    BudgetError,
    InputError,
    LogisticLearner,
    Schema,
)
from dpfair.methods.algorithm2 import paper_algorithm2
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import pure_epsilon

EPSILONS = [0.01, 0.3, 1, 3, 10]
PAPER = {"public_sizes": True}


class Asked(LogisticLearner):
    """Remembers the budgets that it was asked to plan with."""

    budgets: ClassVar[list] = []

    def plan(self, schema, budget):
        self.budgets.append(budget)
        return super().plan(schema, budget)


def planned(epsilon, schema, **settings):
    """The plan of a fit, and the budget that it leaves for training."""
    Asked.budgets.clear()
    model = Algorithm2(epsilon, schema=schema, learner=Asked(steps=1), **settings)
    plan = model.plan()
    [budget] = Asked.budgets
    return plan, budget


def counts_of(plan):
    return [step for step in plan.steps if step.scope == "release"]


def with_groups(schema, count):
    data = schema.to_dict()
    data["sensitive"]["values"] = [f"g{i}" for i in range(count)]
    return Schema.from_dict(data)


# What it costs


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"relation": "replace_one"},
        {"composition": "basic"},
        PAPER | {"composition": "basic", "release_epsilon": 0.05},
        PAPER,
        {"unit": "age", "rows_per_unit": 2},
        {"sensitive": ["sex", "job"]},
    ],
    ids=str,
)
def test_what_is_planned_is_what_is_charged_and_within_the_budget(settings, loans, loan_schema):
    model = Algorithm2(2, schema=loan_schema, **settings)
    plan = model.plan()
    model.fit(*loans)
    assert model.plan_ == plan
    assert [(e.scope, e.event) for e in model.ledger_.entries] == plan.charges
    assert 1.9 < model.ledger_.spent <= 2


@pytest.mark.parametrize("groups", [2, 5])
@pytest.mark.parametrize("public_sizes", [False, True])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_charges_add_up_to_epsilon(epsilon, public_sizes, groups, loan_schema):
    schema, tables = with_groups(loan_schema, groups), groups if public_sizes else 1
    settings = {"public_sizes": public_sizes}
    basic, left = planned(epsilon, schema, composition="basic", **settings)
    costs = [pure_epsilon(step.event) for step in counts_of(basic)]
    assert len(costs) == tables
    assert left.epsilon + float(sum(costs)) == pytest.approx(epsilon, rel=1e-12)
    tight, left = planned(epsilon, schema, **settings)
    costs = [pure_epsilon(step.event) for step in counts_of(tight)]
    assert len(costs) == tables
    assert float(sum(costs)) == pytest.approx(epsilon, rel=1e-12)
    assert sum(costs) <= Fraction(epsilon)
    assert left.epsilon == epsilon  # of another scope


def test_the_papers_numbers(loan_schema):
    """Epsilon 3: 2.9 for training and 0.05 for each group."""
    plan, left = planned(3, loan_schema, composition="basic", public_sizes=True)
    assert left.epsilon == pytest.approx(2.9)
    assert [float(pure_epsilon(s.event)) for s in counts_of(plan)] == pytest.approx([0.05, 0.05])
    assert plan.shares == {"train": pytest.approx(2 / 3), "release": pytest.approx(1 / 3)}
    assert [step.name for step in plan.steps] == ["train", "count", "count 2"]
    assert left.share == pytest.approx(2 / 3)
    assert left.other_events == ()
    given = {"release_epsilon": 1, "release_share": 0.5}
    plan, left = planned(3, loan_schema, composition="basic", public_sizes=True, **given)
    assert left.epsilon == 1
    assert plan.share("count") == 0.5


def test_the_papers_experiment_adds_up_its_charges(loans, loan_schema):
    basic = paper_algorithm2(2, 1e-5, schema=loan_schema, release_epsilon=0.05, epochs=2)
    train, first, second = basic.fit(*loans).ledger_.entries
    assert pure_epsilon(first.event) == pure_epsilon(second.event) <= 0.05
    assert train.epsilon == pytest.approx(1.9, abs=1e-3)
    assert basic.ledger_.spent == pytest.approx(
        train.epsilon + first.epsilon + second.epsilon, abs=1e-12
    )


def test_replace_one_needs_about_twice_the_noise(loan_schema):
    multipliers, parameters = [], []
    for relation in ("add_remove", "replace_one"):
        train, release = Algorithm2(2, schema=loan_schema, relation=relation).plan().steps
        multipliers.append(train.event.event.noise_multiplier)
        cells = 2 if relation == "replace_one" else 1
        parameters.append(float(pure_epsilon(release.event)) / cells)
    assert multipliers[1] / multipliers[0] == pytest.approx(2, rel=0.02)
    assert parameters[0] / parameters[1] == pytest.approx(2, rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"release_epsilon": 4}, BudgetError, "over the budget"),
        (PAPER | {"release_epsilon": 2}, BudgetError, "would cost 4"),
        ({"composition": "basic", "release_epsilon": 3}, InputError, "training_epsilon"),
        (PAPER | {"composition": "basic", "release_epsilon": 2}, InputError, "train"),
        ({"release_epsilon": 1e-5}, InputError, "at least epsilon"),
        ({"release_epsilon": 0}, InputError, "release_epsilon"),
        ({"release_share": 1.5}, InputError, "release_share"),
        ({"release_share": 0}, InputError, "release_share"),
        ({"composition": "adaptive"}, InputError, "composition"),
        ({"target": "best"}, InputError, "target"),
        ({"target": 1.5}, InputError, "target"),
        ({"coins": "loaded"}, InputError, "coins"),
        ({"learner": "boost"}, InputError, "learner"),
    ],
    ids=str,
)
def test_impossible_settings_are_refused_before_anything_is_charged(
    settings, error, message, loans, loan_schema
):
    model = Algorithm2(3, schema=loan_schema, **settings)
    for ask in (model.plan, lambda: model.fit(*loans)):
        with pytest.raises(error, match=message):
            ask()
    assert not hasattr(model, "ledger_")


def test_what_belongs_to_other_rules_is_no_setting():
    others = {"rule", "notion", "tolerance", "capacity", "costs", "mode", "division"}
    assert not others & set(Algorithm2().get_params(deep=False))
    for name in ("with_rule", "frontier", "decide_batch"):
        assert not hasattr(Algorithm2, name)


# Where it brings the groups


@pytest.mark.parametrize("public_sizes", [False, True])
@pytest.mark.parametrize("target", [None, "midpoint", "lower", "upper", "majority", 0.3])
def test_all_groups_come_to_the_target(target, public_sizes, loans, loan_schema):
    model = Algorithm2(
        3, schema=loan_schema, target=target, public_sizes=public_sizes, random_state=1
    ).fit(*loans)
    rates = [rate.estimate for rate in model.release_.rates]
    low, high = min(rates), max(rates)
    wanted = {
        None: (low + high) / 2,
        "midpoint": (low + high) / 2,
        "lower": low,
        "upper": high,
        "majority": rates[model.schema_.groups.index("m")],
        0.3: 0.3,
    }[target]
    for rate, (rejected, accepted) in zip(rates, model.rule_.accept, strict=True):
        assert rate * accepted + (1 - rate) * rejected == pytest.approx(wanted)
        assert rejected == 0 or accepted == 1  # flips in one direction: the fewest


def test_the_certificate_covers_new_records(loan_schema):
    model = Algorithm2(3, schema=loan_schema, random_state=2).fit(*make_loans(6000, seed=1))
    fairness = model.certificate_.fairness
    assert model.certificate_.method == "Algorithm 2"
    assert fairness.certified
    X, _ = make_loans(20_000, seed=2)
    accept, male = model.predict_proba(X)[:, 1], (X["sex"] == "m").to_numpy()
    gap = abs(accept[male].mean() - accept[~male].mean())
    assert gap < fairness.gap_bound < 0.1
    assert gap < abs(model.release_.rates[0].estimate - model.release_.rates[1].estimate) / 2


def test_public_sizes_are_listed_and_counted_exactly(loans, loan_schema):
    model = Algorithm2(3, schema=loan_schema, public_sizes=True, random_state=0).fit(*loans)
    [fact] = model.ledger_.assumptions
    assert fact == Assumption(("group",), "release")
    sizes = model.ledger_.facts[fact].tolist()
    assert sum(sizes) == pytest.approx(1000, abs=150)
    assert model.release_.sizes == tuple(sizes)
    assert fact.text in model.certificate_.privacy.assumed_public


def test_undeclared_groups_and_labels_have_cells_of_their_own(loan_schema):
    X, y = make_loans(3000)
    X = X.with_columns(sex=pl.when(pl.arange(0, 3000) % 5 == 0).then(None).otherwise("sex"))
    y = np.where(np.arange(3000) % 5 == 1, "?", y)
    model = Algorithm2(3, schema=loan_schema, random_state=0).fit(X, y)
    assert model.release_.undeclared["group"] == pytest.approx(200, abs=60)
    assert model.release_.undeclared["label"] == pytest.approx(200, abs=60)
    assert not model.release_.labelled


def test_persons_without_an_identifier_do_not_share_a_coin(loan_schema):
    X, y = make_loans(2000)
    X = X.with_columns(person=pl.Series([str(i) for i in range(2000)]))
    model = Algorithm2(2, schema=loan_schema, unit="person", random_state=0).fit(X, y)
    nameless = X.with_columns(person=pl.lit(None, dtype=pl.String))
    chance = model.predict_proba(nameless)[:, 1]
    unsure = (chance > 0.05) & (chance < 0.95)
    assert unsure.sum() > 100
    assert len(set(model.predict(nameless)[unsure])) == 2


def test_settings_of_the_learner_are_reached_by_name(loan_schema):
    model = Algorithm2(schema=loan_schema).set_params(learner__steps=7)
    assert model.learner.steps == 7
    assert model.plan()["train"].how.descent.steps == 7
