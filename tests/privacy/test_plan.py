"""A fit draws what its plan says: not more, not twice, and not less."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from dpfair import (
    BudgetError,
    InputError,
    LedgerFile,
    LogisticLearner,
    Noise,
    PrivateFairClassifier,
    PrivateLogisticRegression,
)
from dpfair.data.records import Records
from dpfair.errors import ReceiptError
from dpfair.privacy.accountants import epsilon
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import OneOfDpEvent, compose, gaussian_steps, noisy_table, step_event
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.plan import EVERY_FEATURE, EVERYBODY, Budget, FitPlan, Step, whole_event

BUDGET = Budget(Fraction(3), 1e-5)
TRAINING, COUNTING = gaussian_steps(20.0, 1.0, 3), noisy_table("1/2", "add_remove")
SHARES = {"train": 0.75, "release": 0.25}


def step(name="count", scope="", event=COUNTING, purpose="count"):
    return Step(name, scope, purpose, event)


def two_steps(budget=BUDGET, **changes) -> FitPlan:
    steps = (step("train", "train", TRAINING, "train the scorer"), step("count", "release"))
    return FitPlan(budget, **{"steps": steps, "shares": SHARES} | changes)


def draw_all(run):
    training = run["train"]
    for _ in range(3):
        training.draw(step_event(20.0, 1.0))
    run["count"].draw(COUNTING)


# The plan


def test_a_plan_says_what_its_steps_cost():
    plan = two_steps()
    assert plan.charges == [("train", TRAINING), ("release", COUNTING)]
    assert plan["count"].purpose == "count"
    assert ("train" in plan, "check" in plan) == (True, False)
    assert (plan.share("train"), plan.share("count")) == (0.75, 0.25)
    assert plan.event == whole_event(plan.charges) == OneOfDpEvent((TRAINING, COUNTING))
    ledger = plan.total()
    assert [(e.scope, e.purpose, e.event) for e in ledger.entries] == [
        ("train", "train the scorer", TRAINING),
        ("release", "count", COUNTING),
    ]
    # A record is in one of the two scopes.
    assert ledger.spent == max(epsilon(TRAINING, 1e-5).epsilon, 0.5)


def test_a_plan_that_divides_nothing_is_about_everybody():
    plan = FitPlan(BUDGET, (step(),))
    assert plan.shares == EVERYBODY == {"": 1.0}
    assert plan.share("count") == 1
    assert plan.protects == EVERY_FEATURE


def test_a_step_for_everybody_fits_beside_scopes():
    plan = two_steps(steps=(step("count"), step("train", "train")))
    assert plan.share("count") == 1
    assert plan.total().spent == 1


def test_two_steps_of_one_name_are_refused():
    with pytest.raises(InputError, match="different names"):
        FitPlan(BUDGET, (step(), step(event=TRAINING)))


def test_a_scope_without_records_is_refused():
    with pytest.raises(InputError, match="the scope 'chek'"):
        two_steps(steps=(step(scope="chek"),))
    with pytest.raises(InputError, match="the scope 'train'"):
        FitPlan(BUDGET, (step(scope="train"),))


def test_a_step_that_is_not_planned_has_no_cost():
    with pytest.raises(ReceiptError, match="'check' is not in the plan"):
        two_steps()["check"]
    with pytest.raises(ReceiptError, match="'check'"):
        two_steps().share("check")


def test_a_plan_cannot_be_changed():
    plan = two_steps()
    for change in ({"steps": ()}, {"budget": Budget(Fraction(9), 1e-5)}, {"shares": {}}):
        with pytest.raises(AttributeError):
            setattr(plan, *next(iter(change.items())))
    with pytest.raises(AttributeError):
        plan["count"].event = noisy_table(3, "add_remove")


@pytest.mark.parametrize("composition", ["tight", "basic"])
def test_a_plan_over_its_budget_is_refused(composition):
    within = two_steps(steps=(step("a"), step("b")))
    budget = Budget(Fraction(1), 1e-5, composition=composition)
    assert replace(within, budget=budget).total().spent == 1
    over = replace(within, budget=budget, steps=(*within.steps, step("c")))
    for ask in (over.total, lambda: over.open(Noise(0))):
        with pytest.raises(BudgetError, match="nothing was charged"):
            ask()


def test_a_budget_is_per_person():
    budget = Budget(Fraction(3), 1e-5, rows_per_unit=2)
    assert budget.row_epsilon == Fraction(3, 2)
    assert budget.row_delta == Ledger(3, 1e-5, rows_per_unit=2).row_budget[1] < 1e-5 / 2
    plan = FitPlan(budget, (step(event=noisy_table("3/2", "add_remove")),))
    assert plan.total().spent == 3


@pytest.mark.parametrize(
    "bad", [{"epsilon": Fraction(0)}, {"delta": 0.0}, {"relation": "x"}, {"rows_per_unit": 0}]
)
def test_an_impossible_budget_is_refused(bad):
    with pytest.raises(InputError):
        replace(BUDGET, **bad).ledger()


# The run


def test_a_run_is_charged_when_it_opens_and_draws_nothing_yet():
    class Silent(Noise):
        def take(self, count):
            raise AssertionError("noise before it was asked for")

    run = two_steps().open(Silent())
    assert [e.event for e in run.ledger.entries] == [TRAINING, COUNTING]
    with pytest.raises(AssertionError):
        run["count"].draw(COUNTING).discrete_laplace([1])


def test_a_run_draws_its_plan_once_and_nothing_else():
    run = two_steps().open(Noise(0))
    with pytest.raises(ReceiptError, match="'check' is not in the plan"):
        run["check"]
    training = run["train"]
    with pytest.raises(ReceiptError, match="'train' was taken before"):
        run["train"]
    for other in (COUNTING, step_event(19.0, 1.0), TRAINING):
        with pytest.raises(ReceiptError):
            training.draw(other)
    for _ in range(3):
        training.draw(step_event(20.0, 1.0))
    with pytest.raises(ReceiptError, match="Nothing is left"):
        training.draw(step_event(20.0, 1.0))
    run["count"].draw(COUNTING)
    run.close()


def test_the_same_event_composed_otherwise_is_the_same_plan():
    steps = (step("train", event=compose([step_event(20.0, 1.0)] * 3)),)
    run = FitPlan(BUDGET, steps).open(Noise(0))
    training = run["train"]
    for _ in range(3):
        training.draw(step_event(20.0, 1.0))
    run.close()


def test_the_ledger_of_a_run_accepts_no_further_charge():
    run = two_steps().open(Noise(0))
    little = noisy_table(1e-9, "add_remove")
    for scope, event in [("release", COUNTING), ("train", TRAINING), ("", little)]:
        with pytest.raises(ReceiptError, match="'more' is not in the plan"):
            run.ledger.charge(event, scope=scope, purpose="more")
    assert len(run.ledger.entries) == 2
    with pytest.raises(ReceiptError, match="plan"):
        copy.deepcopy(run.ledger).charge(COUNTING, scope="", purpose="more")


@pytest.mark.parametrize("forgotten", ["train", "count", "a part of train"])
def test_a_run_that_did_not_draw_all_is_an_error_at_its_end(forgotten):
    run = two_steps().open(Noise(0))
    if forgotten != "count":
        run["count"].draw(COUNTING)
    if forgotten != "train":
        training = run["train"]
        for _ in range(3 if forgotten == "count" else 2):
            training.draw(step_event(20.0, 1.0))
    name = "count" if forgotten == "count" else "train"
    with pytest.raises(ReceiptError, match=f"'{name}' did not draw all"):
        run.close()


def test_every_run_of_a_plan_has_receipts_of_its_own():
    plan = two_steps()
    for _ in range(2):
        run = plan.open(Noise(0))
        draw_all(run)
        run.close()
    assert len(run.ledger.entries) == 2


def test_the_coins_of_a_run_are_drawn_when_they_are_needed_and_once():
    run, untouched = two_steps().open(Noise(7)), Noise(7)
    assert run.noise.take(4) == untouched.take(4)
    assert run.coin_key == untouched.take(32) == run.coin_key
    assert run.noise.take(4) == untouched.take(4)


def records(n, units=None):
    zeros = np.zeros(n, dtype=np.int64)
    return Records.of_arrays(np.zeros((n, 1)), np.zeros((n, 0), dtype=np.int32), zeros, units=units)


def test_records_are_split_by_the_shares_of_the_plan():
    parts = two_steps().open(Noise(1)).parts(records(20_000))
    assert set(parts) == {"train", "release"}
    places = np.concatenate([part.places for part in parts.values()])
    assert sorted(places.tolist()) == list(range(20_000))
    assert len(parts["train"]) == pytest.approx(15_000, abs=300)
    [everybody] = FitPlan(BUDGET, (step(),)).open(Noise(1)).parts(records(9)).values()
    assert everybody.places.tolist() == list(range(9))


def test_the_records_of_a_person_are_in_one_scope():
    people = np.repeat(np.array([f"p{i}" for i in range(500)], dtype=object), 3)
    parts = two_steps().open(Noise(1)).parts(records(1500, people))
    train, release = (set(part.units) for part in parts.values())
    assert not train & release
    assert len(train) > 300


def test_what_a_run_assumes_is_in_its_ledger():
    run, sizes = two_steps().open(Noise(0)), np.array([3, 4])
    fact = Assumption(("group",), "release")
    assert run.assume(fact, sizes).tolist() == [3, 4]
    run.assume_all({Assumption(): np.array([7])})
    assert run.ledger.assumptions == (fact, Assumption())
    assert run.ledger.facts[Assumption()].tolist() == [7]


# As plain data


@pytest.mark.parametrize("composition", ["tight", "basic"])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_json_round_trip(composition, relation):
    budget = Budget(Fraction(7, 3), 1e-5, relation, composition, rows_per_unit=2)
    steps = (
        step("train", "train", gaussian_steps(200.0, 0.5, 10)),
        step("count", "release", noisy_table("1/10", relation)),
    )
    plan = FitPlan(budget, steps, SHARES, protects="the sensitive attribute")
    data = json.loads(json.dumps(plan.to_json(), allow_nan=False))
    again = FitPlan.from_json(data)
    assert again == plan
    assert again.to_json() == data
    assert again.total().to_json() == plan.total().to_json()
    more = replace(again, steps=(*steps, step("more", "release", noisy_table("7/6", relation))))
    with pytest.raises(BudgetError):
        more.total()


def test_json_leaves_out_how_a_step_is_run():
    how = Step("count", "", "count", COUNTING, how=(0.5,))
    plan = FitPlan(BUDGET, (how,))
    assert "how" not in str(plan.to_json())
    again = FitPlan.from_json(plan.to_json())
    assert again["count"].how is None
    assert again == plan


def test_data_cannot_hide_what_an_event_costs():
    """The cost of a plan follows from its events, whatever else is said about them."""
    plan = two_steps(Budget(Fraction(3), 1e-5, composition="basic"))
    data = plan.to_json() | {"spent": 0.0}
    data["steps"] = [one | {"epsilon": 0.0, "delta": 0.0} for one in data["steps"]]
    assert FitPlan.from_json(data).total().spent == plan.total().spent
    cheap = data | {"epsilon": "1/4"}
    with pytest.raises(BudgetError):
        FitPlan.from_json(cheap).total()


def nudged(plan, by):
    """The same plan from a machine whose last digits differ."""
    data = json.loads(json.dumps(plan.to_json()))
    gaussian = data["steps"][0]["event"]["event"]
    gaussian["noise_multiplier"] *= 1 + by
    return FitPlan.from_json(data)


def test_plans_agree_up_to_rounding_and_not_beyond():
    plan = two_steps()
    assert plan.agrees(plan)
    for by in (1e-12, -1e-9, 1e-7):
        other = nudged(plan, by)
        assert other != plan
        assert plan.agrees(other)
        assert other.agrees(plan)
    for by in (1e-5, -1e-5, 0.1):
        assert not plan.agrees(nudged(plan, by))
        assert not nudged(plan, by).agrees(plan)


@pytest.mark.parametrize(
    "other",
    [
        {"budget": replace(BUDGET, epsilon=Fraction(3_000_001, 1_000_000))},
        {"budget": replace(BUDGET, delta=2e-5)},
        {"budget": replace(BUDGET, relation="replace_one")},
        {"budget": replace(BUDGET, composition="basic")},
        {"budget": replace(BUDGET, rows_per_unit=2)},
        {"shares": {"train": 0.7, "release": 0.3}},
        {"shares": SHARES | {"check": 0.1}},
        {"protects": "the sensitive attribute"},
        {"steps": (step("count", "release"), step("train", "train", TRAINING))},
        {"steps": (step("train", "train", TRAINING),)},
        {"steps": (step("train", "train", TRAINING), step("count", "train"))},
        {"steps": (step("train", "train", TRAINING), step("count", "release", TRAINING))},
        {"steps": (step("train", "train", TRAINING), step("counts", "release"))},
    ],
    ids=str,
)
def test_other_plans_do_not_agree(other):
    plan = two_steps(steps=(step("train", "train", TRAINING), step("count", "release")))
    assert not plan.agrees(replace(plan, **other))
    assert not replace(plan, **other).agrees(plan)


# Through an estimator


class Forgetful(PrivateFairClassifier):
    """Draws only some of its steps."""

    forgets = ""

    def train(self, records, run):
        return super().train(records, Without(run, self.forgets))


class Without:
    """A run whose receipt for one step is another's, which nobody notices before the end."""

    def __init__(self, run, forgotten):
        self.run, self.forgotten = run, forgotten

    def __getattr__(self, name):
        return getattr(self.run, name)

    def __getitem__(self, name):
        if name != self.forgotten:
            return self.run[name]
        ledger = Ledger(1000, 1e-5, noise=self.run.noise)  # a ledger that nobody asked for
        return ledger.charge(self.run.plan[name].event, scope="", purpose="aside")


@pytest.mark.parametrize("name", ["train", "plan", "decisions", "count"])
def test_a_fit_that_forgets_a_step_fails(name, loans, loan_schema):
    model = Forgetful(2, schema=loan_schema, learner=LogisticLearner(steps=3))
    assert name in model.plan()
    model.forgets = name
    with pytest.raises(ReceiptError, match=f"'{name}' did not draw all"):
        model.fit(*loans)
    assert not hasattr(model, "certificate_")
    assert not hasattr(model, "fitted_")
    model.forgets = ""
    model.fit(*loans)


class Greedy(PrivateLogisticRegression):
    """Draws a step twice, or one that is not in its plan."""

    wants = "train"

    def train(self, records, run):
        fitted = super().train(records, run)
        run[self.wants]
        return fitted


@pytest.mark.parametrize(
    ("wants", "why"), [("train", "was taken before"), ("count", "is not in the plan of this fit")]
)
def test_a_fit_that_takes_more_than_its_plan_fails(wants, why, loans, loan_schema, tmp_path):
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    model = Greedy(2, schema=loan_schema, steps=3, ledger=file.path)
    model.wants = wants
    with pytest.raises(ReceiptError, match=f"'{wants}' {why}"):
        model.fit(*loans)
    assert not hasattr(model, "certificate_")
    assert len(file.entries) == 1  # what was drawn is never refunded


def test_the_ledger_of_a_model_is_closed(loans, loan_schema):
    model = PrivateLogisticRegression(2, schema=loan_schema, steps=3).fit(*loans)
    with pytest.raises(ReceiptError, match="not in the plan of this fit"):
        model.ledger_.charge(noisy_table("1/100", "add_remove"), scope="", purpose="more")


class Counting(LogisticLearner):
    """Counts how often it is asked for a plan."""

    plans: ClassVar[list] = []

    def plan(self, schema, budget):
        self.plans.append(budget)
        return super().plan(schema, budget)


@pytest.mark.parametrize("mode", ["certified", "reuse"])
@pytest.mark.parametrize("paid", [False, True])
def test_a_fit_plans_once(mode, paid, loans, loan_schema, tmp_path):
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    model = PrivateFairClassifier(
        2,
        schema=loan_schema,
        mode=mode,
        learner=Counting(steps=3),
        ledger=file.path if paid else None,
    )
    Counting.plans.clear()
    model.fit(*loans)
    [budget] = Counting.plans
    assert budget.epsilon == 2
    assert budget.share == model.plan_.share("train")
    train = model.plan_["train"]
    others = [s.event for s in model.plan_.steps if s is not train and s.scope == train.scope]
    assert list(budget.other_events) == others


def test_the_noise_of_a_plan_made_before_is_not_searched_for_again(loans, loan_schema):
    model = PrivateFairClassifier(2, schema=loan_schema, learner=Counting(steps=3))
    plan = model.plan()
    Counting.plans.clear()
    model.fit_planned(plan, *loans)
    [budget] = Counting.plans
    assert budget.stated == plan["train"].event
    assert model.plan_ == plan
