"""PrivateFairClassifier: what it charges, whom it protects, what it promises."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans

from dpfair import BudgetError, InputError, PrivacyLeakWarning, PrivateFairClassifier, Schema
from dpfair import PrivateLogisticRegression as Learner
from dpfair.certificate import Certificate
from dpfair.errors import SchemaError
from dpfair.learners.logistic import PAPER_SETTINGS
from dpfair.methods.algorithm2 import paper_algorithm2
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.ledger import Ledger


@pytest.fixture(scope="module")
def fitted(loans, loan_schema):
    return PrivateFairClassifier(2, schema=loan_schema, random_state=5).fit(*loans)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"relation": "replace_one"},
        {"composition": "basic"},
        {"composition": "basic", "public_sizes": True, "release_epsilon": 0.05},
        {"public_sizes": True},
        {"learner": Learner(**PAPER_SETTINGS | {"batch_size": 256, "epochs": 2})},
        {"unit": "age", "rows_per_unit": 2},
    ],
)
def test_what_is_planned_is_what_is_charged_and_within_the_budget(settings, loans, loan_schema):
    model = PrivateFairClassifier(2, 1e-5, schema=loan_schema, **settings)
    planned = [(scope, event) for scope, _, event in model.planned_events(loan_schema)]
    model.fit(*loans)
    assert [(e.scope, e.event) for e in model.ledger_.entries] == planned
    assert 1.9 < model.ledger_.spent <= 2


def test_tight_composition_pays_the_worst_scope_and_basic_the_sum(loans, loan_schema):
    tight = PrivateFairClassifier(2, schema=loan_schema).fit(*loans)
    for entry in tight.ledger_.entries:
        assert entry.epsilon == pytest.approx(2, abs=1e-3)
    basic = paper_algorithm2(2, 1e-5, schema=loan_schema, release_epsilon=0.05, epochs=2)
    train, first, second = basic.fit(*loans).ledger_.entries
    assert pure_epsilon(first.event) == pure_epsilon(second.event) <= 0.05
    assert train.epsilon == pytest.approx(1.9, abs=1e-3)
    assert basic.ledger_.spent == pytest.approx(
        train.epsilon + first.epsilon + second.epsilon, abs=1e-12
    )


def test_replace_one_needs_about_twice_the_noise(loans, loan_schema):
    multipliers, parameters = [], []
    for relation in ("add_remove", "replace_one"):
        model = PrivateFairClassifier(2, schema=loan_schema, relation=relation)
        (_, _, train), (_, _, release) = model.planned_events(loan_schema)
        multipliers.append(train.event.noise_multiplier)
        parameters.append(float(pure_epsilon(release)) / (2 if relation == "replace_one" else 1))
    assert multipliers[1] / multipliers[0] == pytest.approx(2, rel=0.02)
    assert parameters[0] / parameters[1] == pytest.approx(2, rel=1e-9)


def test_training_values_that_contradict_the_schema_never_raise(loan_schema):
    X, y = make_loans(400)
    odd = X.with_columns(
        age=pl.Series([np.nan, -1e308, 1e308, np.inf] * 100),
        income=pl.Series(["?", "", None, "1e3"] * 100),
        job=pl.Series([None, "astronaut", "", "clerk"] * 100),
        sex=pl.Series(["f", "m", None, "unknown"] * 100),
    )
    labels = np.where(np.arange(400) % 7 == 0, "perhaps", y)
    model = PrivateFairClassifier(2, schema=loan_schema).fit(odd, labels)
    assert model.certificate_.fairness.certified
    assert np.isfinite(model.scorer_.weights).all()


@pytest.mark.parametrize("change", ["one class", "one group", "no category", "single record"])
def test_the_shape_of_a_model_tells_nothing_about_its_records(change, loans, loan_schema):
    X, y = loans
    X, y = X[:300], y[:300]
    if change == "one class":
        y = np.full(300, "yes")
    elif change == "one group":
        X = X.with_columns(sex=pl.lit("m"))
    elif change == "no category":
        X = X.with_columns(job=pl.lit("clerk"))
    else:
        X, y = X[:1], y[:1]
    usual = PrivateFairClassifier(2, schema=loan_schema).fit(*loans)
    model = PrivateFairClassifier(2, schema=loan_schema).fit(X, y)
    assert model.scorer_.weights.shape == usual.scorer_.weights.shape
    assert np.all(model.scorer_.weights != 0), "a weight without noise tells that a cell is empty"
    assert model.classes_.tolist() == usual.classes_.tolist()
    assert [e.event for e in model.ledger_.entries] == [e.event for e in usual.ledger_.entries]


def test_a_person_is_in_one_scope_and_gives_a_bounded_number_of_rows(loan_schema):
    X, y = make_loans(1200)
    X = X.with_columns(person=pl.Series(np.arange(1200) // 4))
    seen = {}

    class Spy(PrivateFairClassifier):
        def _train(self, records, ledger):
            seen["train"] = records
            return super()._train(records, ledger)

        def _release(self, records, ledger):
            seen["release"] = records
            super()._release(records, ledger)

    Spy(2, schema=loan_schema, unit="person", rows_per_unit=3, random_state=0).fit(X, y)
    assert len(seen["train"]) + len(seen["release"]) == 900
    incomes = X["income"].to_list()
    owner = {v: i // 4 for i, v in enumerate(incomes) if incomes.count(v) == 1}
    people = {
        scope: {owner[v] for v in records.numeric[:, 1].tolist() if v in owner}
        for scope, records in seen.items()
    }
    assert len(people["train"]) > 100
    assert not people["train"] & people["release"]


def test_k_rows_per_person_cost_k_times_as_much(loan_schema):
    one = PrivateFairClassifier(2, schema=loan_schema, unit="p")
    three = PrivateFairClassifier(2, schema=loan_schema, unit="p", rows_per_unit=3)
    release = [pure_epsilon(m.planned_events(loan_schema)[1][2]) for m in (one, three)]
    assert float(release[0] / release[1]) == pytest.approx(3)
    ledger = Ledger(2, 1e-5, rows_per_unit=3)
    assert ledger.row_budget[1] == pytest.approx(1e-5 / (3 * np.exp(2 * 2 / 3)))


def test_several_rows_per_person_are_not_certified(loans, loan_schema):
    model = PrivateFairClassifier(2, schema=loan_schema, unit="age", rows_per_unit=2).fit(*loans)
    assert not model.certificate_.fairness.certified
    assert model.certificate_.fairness.gap_bound is None
    assert "NOT CERTIFIED" in str(model.certificate_)


def test_records_of_no_declared_group_are_not_counted(loan_schema):
    """They cannot be predicted, so counting them would certify another population."""
    X, y = make_loans(4000, seed=3)
    unknown = np.arange(4000) % 5 < 2
    X = X.with_columns(sex=pl.when(pl.Series(unknown)).then(None).otherwise(pl.col("sex")))
    model = PrivateFairClassifier(3, schema=loan_schema, random_state=2).fit(X, y)
    counted = sum(map(sum, model.release_.counts))
    assert counted == pytest.approx(4000 * 0.6 / 3, abs=120)
    known = X.filter(~unknown)
    accept = model.predict_proba(known)[:, 1]
    male = (known["sex"] == "m").to_numpy()
    gap = abs(accept[male].mean() - accept[~male].mean())
    assert gap < model.certificate_.fairness.gap_bound


def test_the_type_of_classes_tells_nothing_about_the_labels(loans, loan_schema):
    from dataclasses import replace

    from dpfair.schema import Outcome

    X, y = loans
    schema = replace(loan_schema, label=Outcome("ok", ("0", "1")))
    labels = (y == "yes").astype(float)
    gap = labels.copy()
    gap[0] = np.nan
    for given in (labels.astype(int), labels, gap, labels.astype(int).astype(object)):
        model = PrivateFairClassifier(2, schema=schema, random_state=1).fit(X, given)
        assert model.classes_.dtype == np.int64
        assert model.score(X, labels) > 0.6


def test_persons_without_an_identifier_do_not_share_a_coin(loan_schema):
    X, y = make_loans(2000)
    X = X.with_columns(person=pl.Series([str(i) for i in range(2000)]))
    model = PrivateFairClassifier(2, schema=loan_schema, unit="person", random_state=0).fit(X, y)
    nameless = X.with_columns(person=pl.lit(None, dtype=pl.String))
    chance = model.predict_proba(nameless)[:, 1]
    unsure = (chance > 0.05) & (chance < 0.95)
    assert unsure.sum() > 100
    assert len(set(model.predict(nameless)[unsure])) == 2


def test_hopeless_budgets_are_refused_at_once(loan_schema):
    for settings in ({"epsilon": 1e6}, {"epsilon": 2, "rows_per_unit": 3}):
        with pytest.raises(InputError):
            PrivateFairClassifier(schema=loan_schema, **settings).planned_events(loan_schema)


def test_the_printed_confidence_is_not_rounded_up(loans, loan_schema):
    model = PrivateFairClassifier(2, schema=loan_schema, confidence=0.995).fit(*loans)
    assert "with 99.5% confidence" in str(model.certificate_)


def test_an_inferred_schema_warns_and_is_listed_and_strict_refuses(loans):
    X, y = loans
    with pytest.warns(PrivacyLeakWarning, match="not private"):
        model = PrivateFairClassifier(2, sensitive="sex").fit(X, y)
    assert not model.certificate_.privacy.private
    assert "NOT PRIVATE: the schema was read off the data" in str(model.certificate_)
    assert not model.certificate_.fairness.certified
    with pytest.raises(SchemaError):
        PrivateFairClassifier(2, sensitive="sex", strict=True).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"epsilon": 0}, InputError),
        ({"epsilon": float("nan")}, InputError),
        ({"delta": 0}, InputError),
        ({"delta": 1}, InputError),
        ({"release_share": 1}, InputError),
        ({"confidence": 1.0}, InputError),
        ({"coins": "loaded"}, InputError),
        ({"relation": "none"}, InputError),
        ({"rows_per_unit": 0}, InputError),
        ({"release_epsilon": 3}, BudgetError),
        ({"learner": Learner(solver="guess")}, InputError),
    ],
)
def test_bad_parameters_raise_before_anything_is_charged(settings, error, loans, loan_schema):
    model = PrivateFairClassifier(**{"epsilon": 2, "schema": loan_schema, **settings})
    with pytest.raises(error):
        model.fit(*loans)
    assert not hasattr(model, "ledger_") or model.ledger_.entries == ()


def test_the_certificate_survives_json(fitted):
    import json

    data = json.loads(json.dumps(fitted.certificate_.to_json()))
    assert Certificate.from_json(data) == fitted.certificate_


def test_any_column_of_the_schema_can_hold_the_groups(loans, loan_schema):
    X, y = loans
    model = PrivateFairClassifier(3, schema=loan_schema, sensitive="job").fit(X, y)
    assert model.schema_.groups == ("clerk", "farmer", "nurse")
    assert len(model.certificate_.fairness.after) == 3
    rates = [
        model.predict_proba(X)[(X["job"] == job).to_numpy(), 1].mean()
        for job in model.schema_.groups
    ]
    assert max(rates) - min(rates) < model.certificate_.fairness.gap_bound


def test_parity_holds_on_adult_and_the_certificate_covers_it(adult):
    parity = PrivateFairClassifier(3, schema=adult.schema, random_state=11)
    parity.fit(adult.X[:30000], adult.y[:30000])
    test, sex = adult.X[30000:], (adult.X["sex"][30000:] == "Male").to_numpy()
    accepted = parity.predict_proba(test)[:, 1]
    gap = abs(accepted[sex].mean() - accepted[~sex].mean())
    assert gap < parity.certificate_.fairness.gap_bound < 0.02
    assert parity.score(test, adult.y[30000:]) > 0.79


def test_a_schema_may_lack_groups(loans):
    X, y = loans
    schema = Schema.from_dict(
        {
            "label": {"name": "repaid", "values": ["no", "yes"]},
            "columns": [{"name": "income", "kind": "numeric", "bounds": [0, 100]}],
        }
    )
    model = PrivateFairClassifier(2, schema=schema).fit(X, y)
    assert not model.certificate_.fairness.certified
    assert model.score(X, y) > 0.6
