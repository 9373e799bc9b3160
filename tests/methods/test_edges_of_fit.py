"""What happens around a fit: refusals before the charge, failures after it, odd parameters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpfair import (
    BudgetError,
    InputError,
    LogisticLearner,
    PrivateFairClassifier,
    load_model,
    save_model,
)


def test_a_failed_refit_leaves_no_certificate_behind(loans, loan_schema):
    model = PrivateFairClassifier(5, schema=loan_schema, random_state=0).fit(*loans)
    model.set_params(mode="reuse", rule__small_groups="refuse", rule__smallest_group=10**6)
    with pytest.raises(InputError, match=r"Too few records.*The budget is spent"):
        model.fit(*loans)
    assert not hasattr(model, "certificate_")
    with pytest.raises(NotFittedError):
        model.predict(loans[0])


def test_a_release_without_a_rule_still_gives_another_one(loans, loan_schema):
    model = PrivateFairClassifier(
        5, schema=loan_schema, random_state=0, rule={"notion": "accuracy_parity", "target": 1.0}
    )
    with pytest.raises(InputError, match=r"No rule fits.*with_rule"):
        model.fit(*loans)
    rescued = model.with_rule(target=None)
    assert rescued.certificate_.fairness.certified
    assert rescued.predict(loans[0]).shape == (len(loans[0]),)


def test_noise_that_the_budget_does_not_pay_for_is_refused_before_any_charge(loans, loan_schema):
    learner = LogisticLearner(noise_multiplier=18.0)
    model = PrivateFairClassifier(1, schema=loan_schema, mode="reuse", learner=learner)
    with pytest.raises(BudgetError, match="nothing was charged"):
        model.fit(*loans)
    assert not hasattr(model, "ledger_")


def test_plan_knows_the_models_own_groups(loans, loan_schema):
    bare = loan_schema.with_sensitive("job")
    model = PrivateFairClassifier(2, schema=bare, sensitive="sex", random_state=0)
    planned = model.plan(bare)
    model.fit(*loans)
    assert planned == model.plan() == model.plan_
    assert planned.charges == [(entry.scope, entry.event) for entry in model.ledger_.entries]


def test_the_release_may_use_the_whole_budget(loans, loan_schema):
    for epsilon in (0.1, 0.3, 0.7):
        model = PrivateFairClassifier(
            epsilon, schema=loan_schema, division={"release_epsilon": epsilon}
        )
        assert model.plan().total().spent <= epsilon


def test_a_batch_of_one_person_is_charged_as_one_person(loans, loan_schema):
    X, y = loans
    numbered = X.with_row_index("id")
    model = PrivateFairClassifier(5, schema=loan_schema, unit="id", rows_per_unit=2)
    model.fit(numbered, y)
    import polars as pl

    same = numbered.with_columns(id=pl.lit(7))
    batch = model.decide_batch(same, epsilon=4)
    assert batch.ledger.rows_per_unit == 2
    assert batch.ledger.spent <= 4
    assert batch.ledger.entries[0].epsilon <= 2
    assert "every person" in batch.protects
    assert "every person" in model.decide_batch(numbered, epsilon=4).protects


def test_what_a_batch_tells_does_not_depend_on_records_that_were_not_counted(loans, loan_schema):
    """A bound that changed when somebody has one record too many would tell on that person."""
    X, y = loans
    numbered = X.with_row_index("id")
    model = PrivateFairClassifier(5, schema=loan_schema, unit="id", random_state=0)
    model.fit(numbered, y)
    twice = numbered.vstack(numbered[:1])  # the first person comes again
    once, again = (model.decide_batch(table, epsilon=1) for table in (numbered, twice))
    assert (once.cuts, once.gap_bound) == (again.cuts, again.gap_bound)
    assert again.decisions.tolist() == [*once.decisions.tolist(), once.decisions[0]]


def test_infeasible_points_are_left_out_of_a_frontier(loans, loan_schema):
    model = PrivateFairClassifier(5, schema=loan_schema, random_state=0, rule={"target": 1.0}).fit(
        *loans
    )
    points = model.frontier("accuracy_parity", [0.0, 1.0])
    assert [point.tolerance for point in points] == [1.0]


def test_numpy_settings_survive_a_file(tmp_path, loans, loan_schema):
    model = PrivateFairClassifier(
        5,
        schema=loan_schema,
        random_state=0,
        rule={
            "smallest_group": np.int64(40),
            "tolerance": np.float64(0.125),
            "costs": np.array([1.0, 2.0]),
        },
    ).fit(*loans)
    loaded = load_model(save_model(model, tmp_path / "m.dpfair"))
    rule = loaded.rule_settings
    assert (rule.tolerance, rule.smallest_group, rule.costs) == (0.125, 40, (1.0, 2.0))


def test_what_could_not_be_read_back_is_not_written(tmp_path, loans, loan_schema):
    model = PrivateFairClassifier(5, schema=loan_schema, mode="reuse", random_state=0).fit(*loans)
    model.set_params(rule__tolerance=0.4)
    with pytest.raises(InputError, match="changed after fit"):
        save_model(model, tmp_path / "m.dpfair")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "parameters",
    [
        {"learner": "boost"},
        {"rule": {"costs": 5}},
        {"rule": {"costs": ("a", "b")}},
        {"rule": {"tolerance": None}},
        {"rule": {"tolerance": "small"}},
        {"rule": {"smallest_group": float("inf")}},
        {"confidence": 1 - 1e-9},
        {"rule": "algorithm2"},
        {"division": 0.5},
    ],
    ids=str,
)
def test_odd_parameters_are_refused_in_a_sentence(parameters, loans, loan_schema):
    with pytest.raises(InputError):
        PrivateFairClassifier(5, schema=loan_schema, **parameters).fit(*loans)


def test_a_hundred_groups_are_the_most(loan_schema):
    data = loan_schema.to_dict()
    data["sensitive"]["values"] = [f"g{i}" for i in range(101)]
    schema = type(loan_schema).from_dict(data)
    with pytest.raises(InputError, match="at most 100 groups"):
        PrivateFairClassifier(5, schema=schema).plan()


@pytest.mark.parametrize(
    ("epsilon", "rows", "groups", "placed"),
    [
        (3, 200_000, 2, True),
        (3, 200_001, 2, False),
        (3, None, 2, False),
        (3, 3000, 2, False),
        (1, 90_000, 2, False),
        (1, 110_000, 2, True),
        (0.75, 190_000, 2, True),
        (0.7, 190_000, 2, False),
        (3, 10**5, 20, True),
        (3, 10**5, 21, False),
    ],
)
def test_thresholds_are_placed_where_that_is_worth_its_time(
    loan_schema, epsilon, rows, groups, placed
):
    """Elsewhere a planned rule is corrected by flips: there is a table of its decisions."""
    data = loan_schema.to_dict() | {"rows": rows}
    data["sensitive"]["values"] = [f"g{i}" for i in range(groups)]
    schema = type(loan_schema).from_dict(data)
    plan = PrivateFairClassifier(epsilon, schema=schema).plan()
    assert "plan" in plan
    assert ("decisions" in plan) == (not placed)
