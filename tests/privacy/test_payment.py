"""Fits that a ledger file pays for: refused before reading, charged before noise, once per key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sample_tables import LOANS
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dpfair import (
    Algorithm2,
    BoostingLearner,
    BudgetError,
    ChargeTo,
    DPFermi,
    FairPostProcessor,
    FairRule,
    InputError,
    LedgerFile,
    LogisticLearner,
    PrivateBoosting,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
    Schema,
)
from dpfair.errors import PaidBeforeError, ReceiptError, SchemaError
from dpfair.evaluation import evaluate_privately
from dpfair.learners.logistic import LogisticTraining
from dpfair.models.file import model_bytes
from dpfair.privacy.events import DpEvent, OneOfDpEvent, gaussian_steps, noisy_table, parts
from dpfair.privacy.payment import job_digest
from dpfair.privacy.plan import whole_event


@pytest.fixture
def path(tmp_path):
    LedgerFile.create(tmp_path / "loans.ledger", 3, 1e-5, name="loans")
    return tmp_path / "loans.ledger"


def accepts_rich(table):
    return (np.asarray(table["income"]) > 40).astype(int)


def methods(schema, ledger):
    return {
        "logistic": PrivateLogisticRegression(1, schema=schema, steps=5, ledger=ledger),
        "boosting": PrivateBoosting(1, schema=schema, steps=5, trees=3, depth=2, ledger=ledger),
        "certified": PrivateFairClassifier(1, schema=schema, ledger=ledger),
        "reuse": PrivateFairClassifier(1, schema=schema, mode="reuse", ledger=ledger),
        "post": FairPostProcessor(
            accepts_rich, 1, sensitive="sex", groups=["f", "m"], ledger=ledger
        ),
        "algorithm 2": Algorithm2(1, schema=schema, public_sizes=True, ledger=ledger),
        "fermi": DPFermi(1, schema=schema, epochs=1, ledger=ledger),
        "search": PrivateSearchCV(
            PrivateLogisticRegression(), {"steps": [3]}, schema=schema, mean_runs=2, ledger=ledger
        ),
    }


NAMES = list(methods(None, None))


@pytest.mark.parametrize("name", NAMES)
def test_every_method_is_charged_to_the_file_as_a_whole_and_once(name, path, loans, loan_schema):
    model = methods(loan_schema, path)[name].fit(*loans)
    [entry] = LedgerFile(path).entries
    own = [(e.scope, e.event) for e in model.ledger_.entries]
    assert parts(entry.event) == parts(whole_event(own))
    assert 0 < LedgerFile(path).spent <= 1.0000001
    assert model.ledger_.row == LedgerFile(path).head


@pytest.mark.parametrize("name", NAMES)
def test_every_method_is_refused_before_a_record_is_read(name, tmp_path, loan_schema):
    LedgerFile.create(tmp_path / "small.ledger", 0.9, 1e-5)
    model = methods(loan_schema, tmp_path / "small.ledger")[name]
    table = Untouchable(["age", "income", "job", "sex"])
    with pytest.raises(BudgetError, match=r"over the budget of 0\.9"):
        model.fit(table, table)
    assert not LedgerFile(tmp_path / "small.ledger").entries


class Untouchable:
    """A table that has column names and no more."""

    def __init__(self, columns):
        self.columns = columns

    def __getattr__(self, name):
        raise AssertionError(f"{name} of a private table was read")


def test_a_budget_is_spent_exactly_and_then_refuses(path, loans, loan_schema):
    model = PrivateFairClassifier(3, schema=loan_schema, mode="reuse", ledger=path)
    model.fit(*loans)
    assert LedgerFile(path).spent <= 3
    with pytest.raises(BudgetError):
        PrivateLogisticRegression(0.1, schema=loan_schema, ledger=path).fit(*loans)


def test_two_fits_cost_less_than_their_sum_and_more_than_one(path, loans, loan_schema):
    for _ in range(2):
        PrivateLogisticRegression(1, schema=loan_schema, steps=5, ledger=path).fit(*loans)
    assert 1.2 < LedgerFile(path).spent < 1.9


def test_disjoint_parts_of_the_data_set_compose_in_parallel(path, loans, loan_schema):
    for scope in ("north", "south"):
        ledger = ChargeTo(path, scope=scope, new_scope=True)
        PrivateLogisticRegression(2, schema=loan_schema, steps=5, ledger=ledger).fit(*loans)
    assert LedgerFile(path).spent < 2.0001
    with pytest.raises(BudgetError):
        PrivateLogisticRegression(2.9, schema=loan_schema, steps=5, ledger=path).fit(*loans)


def test_coins_of_different_fits_do_not_make_their_scopes_disjoint():
    train, count = gaussian_steps(2.0, 1.0, 10), noisy_table(1, "add_remove")
    event = whole_event([("train", train), ("release", count)])
    assert isinstance(event, OneOfDpEvent)
    assert event == whole_event([("train", train), ("release", count)])


class Watched(PrivateLogisticRegression):
    """Remembers what it trained with."""

    runs: ClassVar[list] = []

    def train(self, records, run):
        self.runs.append(run)
        return super().train(records, run)


def test_a_job_tried_again_under_its_key_neither_pays_nor_draws(path, loans, loan_schema):
    Watched.runs.clear()
    how = {"schema": loan_schema, "steps": 5, "ledger": ChargeTo(path, key="nightly")}
    model = Watched(1, arithmetic="float64", **how)  # not by sums of integers: cannot go on
    model.fit(*loans)
    spent = LedgerFile(path).spent
    with pytest.raises(PaidBeforeError, match="nightly"):
        clone(model).fit(*loans)
    assert len(Watched.runs) == 1
    assert LedgerFile(path).spent == spent


def test_a_schema_error_charges_nothing(path, loans, loan_schema):
    X, y = loans
    model = PrivateFairClassifier(1, schema=loan_schema, ledger=path)
    with pytest.raises(SchemaError):
        model.fit(X.drop("income"), y)
    with pytest.raises(InputError):
        model.fit(X, y[:-1])
    assert not LedgerFile(path).entries


@pytest.mark.parametrize(
    "model",
    [
        lambda s, p: PrivateLogisticRegression(1, schema=s, random_state=1, ledger=p),
        lambda s, p: PrivateLogisticRegression(1, ledger=p),
        lambda s, p: PrivateFairClassifier(1, sensitive="sex", ledger=p),
        lambda s, p: DPFermi(1, schema=s, variant="reference", ledger=p),
        lambda s, p: FairPostProcessor(accepts_rich, sensitive="sex", ledger=p),
        lambda s, p: FairPostProcessor(accepts_rich, 1, sensitive="sex", ledger=p),
        lambda s, p: FairPostProcessor(LogisticRegression(), 1, sensitive="sex", ledger=p),
        lambda s, p: PrivateSearchCV(PrivateLogisticRegression(), {"steps": [3]}, ledger=p),
    ],
)
def test_a_ledger_pays_for_private_work_only(model, path, loans, loan_schema):
    with pytest.raises(InputError, match="private work only"):
        model(loan_schema, path).fit(*loans)
    assert not LedgerFile(path).entries


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"relation": "replace_one"}, "about add_remove neighbours"),
        ({"unit": "job", "rows_per_unit": 3}, "protects every record"),
    ],
)
def test_a_ledger_about_other_neighbours_does_not_pay(settings, words, path, loans, loan_schema):
    with pytest.raises(InputError, match=words):
        PrivateFairClassifier(1, schema=loan_schema, ledger=path, **settings).fit(*loans)


def test_a_ledger_per_person_pays_for_fits_per_person(tmp_path, loans, loan_schema):
    import polars as pl

    X, y = loans
    people = X.with_columns(person=pl.Series([str(i // 2) for i in range(len(y))]))
    path = tmp_path / "people.ledger"
    LedgerFile.create(path, 2, 1e-5, unit="person", rows_per_unit=2)
    model = PrivateFairClassifier(
        2, schema=loan_schema, unit="person", rows_per_unit=2, mode="reuse", ledger=path
    ).fit(people, y)
    assert LedgerFile(path).spent == pytest.approx(model.ledger_.spent)
    with pytest.raises(InputError, match="protects every person in 'person'"):
        PrivateFairClassifier(1, schema=loan_schema, ledger=path).fit(X, y)


class SaysMoreNoise(LogisticLearner):
    """States a cheap event and trains with less noise than that."""

    def plan(self, schema, budget):
        honest = super().plan(schema, budget)
        return Stated(gaussian_steps(50.0, 1.0, 5), honest)

    def train(self, plan, *rest):
        return super().train(plan.honest, *rest)


@dataclass(frozen=True)
class Stated:
    event: DpEvent
    honest: LogisticTraining


def test_a_fit_that_draws_what_it_did_not_plan_is_stopped(path, loans, loan_schema):
    model = PrivateFairClassifier(
        1, schema=loan_schema, mode="reuse", learner=SaysMoreNoise(steps=5), ledger=path
    )
    with pytest.raises(ReceiptError):
        model.fit(*loans)
    assert not hasattr(model, "fitted_")


def test_paid_metrics_are_charged_to_the_file_of_the_test_data(path, loans, loan_schema):
    model = PrivateFairClassifier(3, schema=loan_schema, mode="reuse").fit(*loans)
    evaluate_privately(model, *loans, epsilon=0.5, ledger=path)
    assert LedgerFile(path).spent == 0.5
    with pytest.raises(BudgetError):
        evaluate_privately(model, *loans, epsilon=2.6, ledger=path)


def test_cross_validation_pays_for_every_fold(path, loans, loan_schema):
    from sklearn.model_selection import cross_validate

    model = PrivateLogisticRegression(0.5, schema=loan_schema, steps=5, ledger=str(path))
    cross_validate(model, *loans, cv=3, error_score="raise")
    assert len(LedgerFile(path).entries) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"rule": {"tolerance": 0.1}},
        {"rule__tolerance": 0.1},
        {"learner": LogisticLearner(steps=7)},
        {"epsilon": 0.7},
    ],
)
def test_other_settings_under_the_same_key_are_another_job(change, path, loans, loan_schema):
    model = PrivateFairClassifier(0.5, schema=loan_schema, ledger=ChargeTo(path, key="monday"))
    model.fit(*loans)
    with pytest.warns(UserWarning, match="nothing is charged or drawn again"):
        clone(model).set_params(verbose=True).fit(*loans)
    with pytest.raises(InputError, match="belongs to another job"):
        clone(model).set_params(**change).fit(*loans)


def test_a_job_that_paid_is_told_so_although_nothing_is_left(path, loans, loan_schema):
    budget = LedgerFile(path).epsilon
    model = PrivateFairClassifier(budget, schema=loan_schema, ledger=ChargeTo(path, key="all"))
    model.fit(*loans)
    again = clone(model)
    assert again.payment(again.plan(), loan_schema).begun
    LedgerFile(path).keep("all", model_bytes(model))
    with pytest.raises(PaidBeforeError):
        again.payment(again.plan(), loan_schema)


def test_a_refused_fit_leaves_the_earlier_model_alone(path, loans, loan_schema):
    model = PrivateFairClassifier(0.5, schema=loan_schema, ledger=path).fit(*loans)
    certificate = model.certificate_
    with pytest.raises(BudgetError):
        model.set_params(epsilon=50).fit(*loans)
    assert model.certificate_ is certificate
    model.predict(loans[0])


def test_a_model_that_could_not_be_saved_is_not_paid_for(path, loans, loan_schema):
    model = PrivateFairClassifier(0.0003, schema=loan_schema, mode="reuse", ledger=path)
    with pytest.raises(InputError, match="smallest epsilon"):
        model.fit(*loans)
    assert not LedgerFile(path).entries


SAME = [
    ({"clip": 1}, {"clip": np.float64(1.0)}),
    ({"grid": {"a": [1], "b": [2]}}, {"grid": {"b": (2,), "a": (1.0,)}}),
    ({"names": {"x", "y", "z"}}, {"names": frozenset("zyx")}),
    ({"learner": LogisticLearner(steps=3)}, {"learner": LogisticLearner(steps=3)}),
    ({"rule": FairRule(tolerance=0.1)}, {"rule": FairRule(tolerance=np.float64(0.1))}),
    ({"clip": 1.0}, {"clip": 1.0, "verbose": True, "ledger": "elsewhere"}),
]
OTHER = [
    ({"clip": 1.0}, {"clip": 1.0 + 2**-52}),
    ({"x": np.arange(5000)}, {"x": np.where(np.arange(5000) == 2500, 0, np.arange(5000))}),
    ({"learner": LogisticLearner(steps=3)}, {"learner": LogisticLearner(steps=4)}),
    ({"learner": LogisticLearner()}, {"learner": BoostingLearner()}),
    ({"estimator": PrivateLogisticRegression()}, {"estimator": DPFermi()}),
    ({"rule": FairRule(tolerance=0.1)}, {"rule": FairRule(tolerance=0.2)}),
    ({"names": ["x", "y"]}, {"names": ["y", "x"]}),
    ({"target": None}, {"target": "None"}),
    ({"function": np.sort}, {"function": np.argsort}),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_equal_settings_are_one_job(one, two):
    assert job_digest("fit", one) == job_digest("fit", two)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_other_settings_are_another_job(one, two):
    assert job_digest("fit", one) != job_digest("fit", two)


def test_noise_that_was_calibrated_elsewhere_is_the_same_job(path):
    """The last digits of a noise multiplier differ from machine to machine."""
    file = LedgerFile(path)
    file.charge(gaussian_steps(44.0032405, 1.0, 2), scope="", purpose="fit", key="k", job="j")
    for multiplier in (44.0032405, 44.0032406):
        with pytest.raises(PaidBeforeError):
            file.check(
                gaussian_steps(multiplier, 1.0, 2), scope="", purpose="fit", key="k", job="j"
            )


@pytest.mark.parametrize(("planned", "cost"), [(False, 6.1), (True, 5.1)])
def test_five_fits_cost_what_the_readme_says(planned, cost, tmp_path, loan_schema):
    file = LedgerFile.create(tmp_path / "ten", 10, 1e-5, planned=planned)
    model = PrivateFairClassifier(2, schema=loan_schema, mode="reuse")
    for _ in range(5):
        file.charge(model.plan().event, scope="", purpose="fit")
    assert round(file.spent, 1) == cost


def test_a_ledger_whose_delta_is_too_small_says_so(tmp_path):
    """Naming values needs a delta of its own, which no epsilon replaces."""
    kinds = [{"name": c["name"], "kind": c["kind"]} for c in LOANS["columns"]]
    schema = Schema.from_dict({**LOANS, "columns": kinds})
    ledger = LedgerFile.create(tmp_path / "a.ledger", 9, 1e-9)
    model = PrivateFairClassifier(2, 1e-5, schema=schema, ledger=ledger.path)
    with pytest.raises(InputError, match=r"a.ledger has delta = 1e-09, and the fit needs .* 1e-05"):
        model.payment(model.plan(), schema)
    fitting = model.set_params(delta=1e-9)
    fitting.payment(fitting.plan(), schema)
