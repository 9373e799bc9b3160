"""What a review found: models and plans that are changed between two steps."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans

from dpfair import (
    Algorithm2,
    FairPostProcessor,
    FairRule,
    InputError,
    LogisticLearner,
    PrivateFairClassifier,
    PrivateSearchCV,
    load_model,
    save_model,
)
from dpfair.errors import ReceiptError
from dpfair.models.file import same_release
from dpfair.privacy.events import noisy_table, scopes_overlap
from dpfair.privacy.ledger import Ledger

QUICK = LogisticLearner(steps=4)


def fair(schema, **settings):
    return PrivateFairClassifier(2, schema=schema, learner=QUICK, **settings)


def searched(schema, estimator, grid, **how):
    return PrivateSearchCV(estimator, grid, epsilon=3, mean_runs=4, schema=schema, **how)


@pytest.mark.parametrize("changes", [{"rows_per_unit": 5}, {"mode": "reuse"}, {"epsilon": 1.0}])
def test_a_plan_does_not_pay_for_other_parameters(changes, loan_schema):
    X, y = make_loans(600)
    X = X.with_columns(person=pl.Series(np.arange(600) // 5))
    model = fair(loan_schema, unit="person")
    plan = model.plan()
    with pytest.raises(InputError, match="made for other parameters"):
        model.set_params(**changes).fit_planned(plan, X, y)


def test_candidates_that_assume_other_facts_are_not_searched(loan_schema):
    estimator, grid = Algorithm2(learner=QUICK), {"public_sizes": [True, False]}
    with pytest.raises(InputError, match="the same facts as public"):
        searched(loan_schema, estimator, grid).plan()


@pytest.mark.parametrize("changes", [{"unit": "age"}, {"mode": "reuse"}, {"confidence": 0.5}])
def test_a_model_with_changed_parameters_is_neither_saved_nor_changed(changes, loan_schema):
    model = fair(loan_schema).fit(*make_loans(600)).set_params(**changes)
    for use in (lambda: save_model(model, "new.dpfair"), lambda: model.with_rule(tolerance=0.1)):
        with pytest.raises(InputError, match="changed after fit"):
            use()


def test_a_search_of_added_up_costs_is_read_back(loan_schema, tmp_path):
    estimator = Algorithm2(learner=QUICK, composition="basic")
    search = searched(loan_schema, estimator, {"target": [0.3, 0.5]}).fit(*make_loans(600))
    again = load_model(save_model(search, tmp_path / "m.dpfair"))
    assert again.certificate_ == search.certificate_


def test_a_search_decides_and_evaluates_as_its_winner(loan_schema):
    X, y = make_loans(600)
    estimator = fair(loan_schema, mode="reuse", confidence=0.99)
    search = searched(loan_schema, estimator, {"rule__coins": ["fresh"]}, random_state=1).fit(X, y)
    assert search.coins == search.best_estimator_.coins == "fresh"
    assert search.confidence == 0.99


def test_a_counted_number_of_records_is_not_stated_for_a_search(loan_schema):
    schema = type(loan_schema).from_dict(
        {k: v for k, v in loan_schema.to_dict().items() if k != "rows"}
    )
    search = searched(schema, fair(schema), {"mode": ["reuse"]}).fit(*make_loans(600))
    assert search.certificate_.privacy.records is None
    assert fair(schema).fit(*make_loans(600)).certificate_.privacy.records is not None


def test_a_row_does_not_pay_for_forged_counts_of_decisions(loans, loan_schema):
    model = fair(loan_schema).fit(*loans)
    forged, table = copy.copy(model), model.fitted_.releases["decisions"]
    tables = model.fitted_.releases | {"decisions": replace(table, counts=50 * table.counts)}
    forged.fitted_ = forged.choose(replace(model.fitted_, releases=tables))
    assert same_release(model, model)
    assert not same_release(forged, model)
    assert same_release(model.with_rule(tolerance=0.1), model)
    other = fair(loan_schema, confidence=0.9).fit(*loans)
    assert not same_release(other.with_rule(tolerance=0.1), model)


def test_settings_are_not_shared_by_accident(loan_schema):
    rule = FairRule()
    first, second = fair(loan_schema, rule=rule), fair(loan_schema, rule=rule)
    second.set_params(rule__coins="fresh", learner__steps=9)
    assert first.coins == "keyed"
    assert QUICK.steps == 4
    assert second.coins == "fresh"


def test_a_draw_cannot_be_copied():
    event = noisy_table(1, "add_remove")
    draw = Ledger(2, 1e-5).charge(event, scope="", purpose="count").draw(event)
    with pytest.raises(ReceiptError, match="answer twice"):
        copy.copy(draw)


def test_a_part_of_the_training_records_is_no_other_records():
    assert scopes_overlap("", "release")
    assert scopes_overlap("a/b", "a")
    assert not scopes_overlap("a", "ab")


def test_a_table_of_undeclared_groups_does_not_reach_a_classifier():
    X, _ = make_loans(50)

    def refuses_empty_tables(table):
        assert len(table)
        return (table["income"] > 50).to_numpy().astype(int)

    how = {"sensitive": "sex", "groups": ["female", "male"], "held_out": True}
    model = FairPostProcessor(refuses_empty_tables, 1.0, **how).fit(X)
    assert model.certificate_.privacy.private
