"""What every method shares, seen through the smallest method that there can be."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from dpfair import BudgetError, InputError, LedgerFile, PrivacyLeakWarning, save_model
from dpfair.certificate.fairness import FairnessClaim
from dpfair.errors import FairnessWarning, SchemaError
from dpfair.fairness.counting import release_table, table_events
from dpfair.fairness.rules import Rule
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.fitted import Fitted
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.plan import FitPlan, Step


@dataclass(frozen=True)
class GroupRates:
    """The score of a record is the rate of its group."""

    rates: np.ndarray

    def scores(self, records):
        return self.rates[records.groups]

    def tensors(self):
        return {"rates": self.rates}


@dataclass(eq=False, repr=False)
class Counts(PrivateClassifier):
    """Counts the labels of every group; with a lottery, everybody has the same chance."""

    without_groups = "There is nobody to compare."

    _: KW_ONLY
    share: float = 1.0
    lottery: bool = False
    confidence: float = 0.95
    unit: str | None = None
    rows_per_unit: int = 1
    coins: str = "keyed"

    def make_plan(self, schema, budget, facts):
        part = budget.row_epsilon * Fraction(self.share)
        [event] = table_events(part, len(schema.groups), budget.relation, public_sizes=False)
        return FitPlan(budget, (Step("count", "", "count labels", event, how=(0.5,)),))

    def train(self, records, run):
        table = release_table(
            np.zeros(len(records)),
            records.groups,
            self.schema_.groups,
            labels=records.labels,
            receipt=run["count"],
            dependence=self.dependence("count"),
        )
        by_label = table.counts.sum(axis=2)
        rates = np.clip(by_label[:, 1] / np.maximum(by_label.sum(axis=1), 1), 0, 1)
        return self.choose(Fitted(GroupRates(rates), {"count": table}))

    def choose(self, fitted):
        if not self.lottery:
            return fitted
        table = fitted.releases["count"].counts.sum(axis=(0, 2))
        chance = np.clip(table[1] / max(table.sum(), 1), 0, 1)
        return replace(fitted, rule=Rule(np.full((len(self.schema_.groups), 2), chance)))


@pytest.fixture(scope="module")
def fitted(loans, loan_schema):
    return Counts(2, schema=loan_schema, random_state=0).fit(*loans)


@pytest.fixture(scope="module")
def lottery(loans, loan_schema):
    return Counts(2, schema=loan_schema, lottery=True, random_state=0).fit(*loans)


# Planning


def test_a_fit_is_planned_without_records(loan_schema):
    plan = Counts(2, schema=loan_schema).plan()
    [step] = plan.steps
    assert (step.name, step.scope, pure_epsilon(step.event)) == ("count", "", 2)
    assert plan.total().spent == 2
    assert plan.budget.delta == 1e-5
    assert Counts(2).plan(loan_schema) == plan


def test_without_a_schema_there_is_no_plan():
    with pytest.raises(InputError, match="only if its schema is declared"):
        Counts(2).plan()


def test_the_sensitive_column_decides_what_is_planned(loan_schema):
    seen = []

    class Seeing(Counts):
        def make_plan(self, schema, budget, facts):
            seen.append(schema.groups)
            return super().make_plan(schema, budget, facts)

    Seeing(2, schema=loan_schema).plan()
    Seeing(2, schema=loan_schema, sensitive="job").plan()
    assert seen == [("f", "m"), ("clerk", "farmer", "nurse")]


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0},
        {"delta": 1},
        {"relation": "x"},
        {"confidence": 1},
        {"coins": "x"},
        {"rows_per_unit": 2},
    ],
    ids=str,
)
def test_bad_parameters_are_refused_before_anything_is_charged(settings, loans, loan_schema):
    model = Counts(**{"schema": loan_schema} | settings)
    for ask in (model.plan, lambda: model.fit(*loans)):
        with pytest.raises(InputError):
            ask()
    assert not hasattr(model, "ledger_")


def test_a_plan_over_the_budget_is_refused(loans, loan_schema):
    with pytest.raises(BudgetError, match="nothing was charged"):
        Counts(2, schema=loan_schema, share=1.5).fit(*loans)


def test_a_method_writes_its_own_plan_and_training(loans, loan_schema):
    with pytest.raises(NotImplementedError):
        PrivateClassifier(schema=loan_schema).fit(*loans)


# Fitting


def test_a_fit_charges_its_plan_and_keeps_its_parts(fitted, loans, loan_schema):
    assert fitted.plan_ == fitted.plan()
    assert [(e.scope, e.event) for e in fitted.ledger_.entries] == fitted.plan_.charges
    assert fitted.schema_ == loan_schema
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.scorer_ is fitted.fitted_.scorer
    assert fitted.release_ is fitted.fitted_.releases["count"]
    assert fitted.release_.total == pytest.approx(3000, abs=50)
    X, y = loans
    true = [np.mean(y[(X["sex"] == group).to_numpy()] == "yes") for group in ("f", "m")]
    np.testing.assert_allclose(fitted.scorer_.rates, true, atol=0.02)


def test_a_seed_repeats_a_fit_and_makes_it_not_private(fitted, loans, loan_schema):
    again = clone(fitted).fit(*loans)
    assert again.release_ == fitted.release_
    assert clone(fitted).set_params(random_state=1).fit(*loans).release_ != fitted.release_
    assert not fitted.certificate_.privacy.private
    secure = clone(fitted).set_params(random_state=None)
    assert secure.fit(*loans).certificate_.privacy.private
    assert secure.release_ != clone(secure).fit(*loans).release_


def test_undeclared_groups_and_labels_never_raise_in_a_fit(loan_schema):
    X, y = make_loans(500)
    X = X.with_columns(sex=pl.when(pl.arange(0, 500) % 5 == 0).then(pl.lit("x")).otherwise("sex"))
    y = np.where(np.arange(500) % 5 == 1, "?", y)
    model = Counts(8, schema=loan_schema, random_state=0).fit(X, y)
    assert model.release_.undeclared["group"] == pytest.approx(100, abs=10)
    assert model.release_.undeclared["label"] == pytest.approx(100, abs=10)


def test_a_schema_is_read_off_the_data_with_a_warning_and_strict_refuses(loans):
    X, y = loans
    with pytest.warns(PrivacyLeakWarning, match="not private"):
        model = Counts(2, sensitive="sex").fit(X, y)
    assert not model.schema_.reviewed
    assert any("schema" in leak for leak in model.certificate_.privacy.leaks)
    with pytest.raises(SchemaError, match="not private"):
        Counts(2, sensitive="sex", strict=True).fit(X, y)


def test_a_fit_without_groups_warns_if_the_method_needs_them(loans, loan_schema):
    X, y = loans
    with pytest.warns(FairnessWarning, match="nobody to compare"):
        Counts(2, schema=replace(loan_schema, sensitive=None)).fit(X.drop("sex"), y)


def test_a_refit_that_fails_leaves_no_earlier_model(loans, loan_schema):
    class Failing(Counts):
        def train(self, records, run):
            if self.share == 0.5:
                raise InputError("No.")
            return super().train(records, run)

    model = Failing(2, schema=loan_schema).fit(*loans)
    with pytest.raises(BudgetError):  # refused before it began: the model stays
        model.set_params(share=2.0).fit(*loans)
    model.predict(loans[0])
    with pytest.raises(InputError, match="No"):
        model.set_params(share=0.5).fit(*loans)
    assert not hasattr(model, "certificate_")
    with pytest.raises(NotFittedError):
        model.predict(loans[0])


def test_a_ledger_file_pays_once(loans, loan_schema, tmp_path):
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    model = Counts(2, schema=loan_schema, ledger=file.path).fit(*loans)
    [entry] = file.entries
    assert entry.purpose == "fit Counts"
    assert entry.event == model.plan_.event
    assert model.ledger_.row == file.head
    with pytest.raises(BudgetError, match="At most epsilon 1 would be granted"):
        clone(model).fit(*loans)


def test_a_ledger_file_does_not_pay_for_a_leak(loans, loan_schema, tmp_path):
    class Leaking(Counts):
        def leaks(self, schema):
            return [*super().leaks(schema), "it peeks"]

    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    with pytest.raises(InputError, match="private work only, and it peeks"):
        Leaking(2, schema=loan_schema, ledger=file.path).fit(*loans)
    assert not file.entries
    model = Leaking(2, schema=loan_schema).fit(*loans)
    assert model.certificate_.privacy.leaks == ("it peeks",)


SIZE = Assumption(("group",))


class Assuming(Counts):
    """Costs what the smallest group says."""

    def assumes(self, schema):
        return (SIZE,)

    def make_plan(self, schema, budget, facts):
        share = 0.5 if facts[SIZE].min() > 1000 else 1.0
        return Counts(share=share).make_plan(schema, budget, facts)


def test_a_plan_may_need_facts_which_are_then_listed(loans, loan_schema, tmp_path):
    X, y = loans
    model = Assuming(2, schema=loan_schema)
    with pytest.raises(InputError, match="depends on the number of records of each group"):
        model.plan()
    sizes = np.array([(X["sex"] == group).sum() for group in ("f", "m")])
    assert model.plan(facts={SIZE: sizes}).total().spent == 1
    model.fit(X, y)
    assert model.ledger_.spent == 1
    assert model.ledger_.facts[SIZE].tolist() == sizes.tolist()
    assert SIZE.text in model.certificate_.privacy.assumed_public
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    with pytest.raises(InputError, match="not known before records are read"):
        model.set_params(ledger=file.path).fit(X, y)
    assert not file.entries


# Deciding


def test_without_a_rule_scores_above_one_half_are_accepted(fitted, loans):
    X, _ = loans
    rates = dict(zip(fitted.schema_.groups, fitted.scorer_.rates, strict=True))
    scores = np.array([rates[group] for group in X["sex"]])
    assert fitted.rule_ is None
    assert fitted.fitted_.coin_key == b""
    np.testing.assert_array_equal(fitted.predict(X), np.where(scores > 0.5, "yes", "no"))
    np.testing.assert_array_equal(fitted.predict_proba(X), np.stack([1 - scores, scores], axis=1))
    assert len(set(fitted.predict(X))) == 2


@pytest.mark.parametrize("which", ["fitted", "lottery"])
def test_all_ways_to_decide_agree(which, loans, request):
    model, (X, y) = request.getfixturevalue(which), loans
    labels, chances = model.decide_all(X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(chances, model.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(labels, model.classes_[model.decide(model.new_records(X))])
    assert model.score(X, y) == np.mean(labels == y)


def test_decide_all_scores_once(fitted, loans):
    calls = []

    class Counted(GroupRates):
        def scores(self, records):
            calls.append(len(records))
            return super().scores(records)

    model = clone(fitted)
    model.__dict__.update(fitted.__dict__)
    model.fitted_ = replace(fitted.fitted_, scorer=Counted(fitted.scorer_.rates))
    model.decide_all(loans[0])
    assert calls == [3000]


def test_a_lottery_is_decided_by_coins_that_stay(lottery, loans):
    X, _ = loans
    chance = lottery.predict_proba(X)[:, 1]
    assert len(set(chance)) == 1
    assert 0.3 < chance[0] < 0.7
    accepted = lottery.predict(X) == "yes"
    assert accepted.mean() == pytest.approx(chance[0], abs=0.03)
    np.testing.assert_array_equal(lottery.predict(X[::-1]) == "yes", accepted[::-1])
    np.testing.assert_array_equal(lottery.predict(X[:7]) == "yes", accepted[:7])


def test_the_key_of_the_coins_is_secret_and_drawn_for_every_fit(loans, loan_schema):
    keys = set()
    for _ in range(3):
        model = Counts(2, schema=loan_schema, lottery=True).fit(*loans)
        assert len(model.fitted_.coin_key) == 32
        keys.add(model.fitted_.coin_key)
    assert len(keys) == 3


def test_fresh_coins_are_new_at_every_call(lottery, loans):
    model = clone(lottery).set_params(coins="fresh").fit(*loans)
    first, second = (model.predict(loans[0]) for _ in range(2))
    assert 0.3 < np.mean(first != second) < 0.7


def test_an_undeclared_group_is_an_error_only_for_decisions_by_a_rule(fitted, loans):
    X = loans[0][:10].with_columns(sex=pl.Series(["f", "x"] * 5))
    with_rule = clone(fitted).set_params(lottery=True).fit(*loans)
    for ask in (with_rule.predict, with_rule.predict_proba, with_rule.decide_all):
        with pytest.raises(InputError, match="5 of 10 records have a group"):
            ask(X)
    assert len(fitted.predict(X)) == 10
    with pytest.raises(InputError, match="5 have another value"):
        fitted.new_records(X)
    assert fitted.new_records(X, known=False).groups.tolist() == [0, -1] * 5


def test_groups_may_be_given_apart(fitted, loans):
    X, y = loans
    apart, groups = X.drop("sex"), {"sensitive_features": X["sex"]}
    again = clone(fitted).fit(apart, y, **groups)
    assert again.release_ == fitted.release_
    np.testing.assert_array_equal(again.predict(apart, **groups), fitted.predict(X))
    np.testing.assert_array_equal(again.predict_proba(apart, **groups), fitted.predict_proba(X))
    assert again.score(apart, y, **groups) == fitted.score(X, y)


def test_an_unfitted_model_says_so(loans):
    model = Counts(2)
    for ask in (model.predict, model.predict_proba, model.decide_all, model.new_records):
        with pytest.raises(NotFittedError):
            ask(loans[0])
    for name in ("scorer_", "rule_", "release_"):
        assert not hasattr(model, name)


def test_a_model_without_a_table_has_no_release(fitted):
    model = clone(fitted)
    model.__dict__.update(fitted.__dict__)
    model.fitted_ = Fitted(fitted.scorer_)
    with pytest.raises(AttributeError, match="released no table"):
        model.release_  # noqa: B018


# Persons


def people(n=1200, rows=4):
    X, y = make_loans(n)
    return X.with_columns(person=pl.Series([f"p{i // rows}" for i in range(n)])), y


def test_a_person_gives_a_bounded_number_of_records(loan_schema):
    X, y = people()
    model = Counts(30, schema=loan_schema, unit="person", rows_per_unit=3, random_state=0)
    model.fit(X, y)
    assert model.release_.total == pytest.approx(900, abs=5)  # three of four
    assert model.plan_.budget.row_epsilon == 10
    assert model.ledger_.spent == 30
    assert model.certificate_.privacy.unit == "every person (column 'person')"
    assert "several records of one person" in model.release_.dependence


def test_records_of_a_person_share_their_coin(loan_schema):
    X, y = people(rows=1)
    model = Counts(2, schema=loan_schema, unit="person", lottery=True, random_state=0).fit(X, y)
    assert len(set(model.predict(X.with_columns(person=pl.lit("p1"))))) == 1
    assert len(set(model.predict(X))) == 2


def test_the_column_of_the_person_must_be_there(loans, loan_schema):
    with pytest.raises(SchemaError, match="no column 'person'"):
        Counts(2, schema=loan_schema, unit="person").fit(*loans)


# What is certified


def test_a_method_that_claims_nothing_says_why(fitted):
    certificate = fitted.certificate_
    assert certificate.method == "Counts"
    assert (certificate.privacy.epsilon, certificate.privacy.spent) == (2, 2)
    assert not certificate.fairness.certified
    assert certificate.fairness.reason == "this method bounds no gap between groups"
    assert fitted.certify() == certificate


def test_the_claim_of_a_method_is_in_its_certificate(loans, loan_schema):
    class Claiming(Counts):
        title = "a method with a claim"

        def fairness(self, fitted):
            claim = FairnessClaim.nothing(self.schema_.groups, "it is a test")
            return replace(claim, gap_estimate=float(np.ptp(fitted.scorer.rates)))

    certificate = Claiming(2, schema=loan_schema, random_state=0).fit(*loans).certificate_
    assert certificate.method == "a method with a claim"
    assert certificate.fairness.reason == "it is a test"
    assert 0.1 < certificate.fairness.gap_estimate < 0.5


def test_what_is_public_is_listed(fitted, loan_schema, loans):
    assert "the size of the data set (3,000 rows)" in fitted.certificate_.privacy.assumed_public
    assert fitted.certificate_.privacy.records == 3000
    unsized = Counts(2, schema=replace(loan_schema, rows=None), random_state=0).fit(*loans)
    assert not any("size" in fact for fact in unsized.certificate_.privacy.assumed_public)
    assert unsized.certificate_.privacy.records == pytest.approx(3000, abs=50)  # from the table


# With scikit-learn


def test_parameters_are_those_of_all_methods_and_its_own():
    model = Counts(2, share=0.5)
    params = model.get_params()
    assert {"epsilon", "delta", "schema", "sensitive", "relation", "ledger"} <= set(params)
    assert (params["epsilon"], params["share"], params["lottery"]) == (2, 0.5, False)
    copy = clone(model).set_params(share=0.25)
    assert (copy.share, model.share) == (0.25, 0.5)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(shares=1)


def test_grid_search_and_cross_validation(loans, loan_schema):
    X, y = loans
    model = Counts(2, schema=loan_schema, random_state=0)
    search = GridSearchCV(model, {"lottery": [False, True]}, cv=3).fit(X, y)
    assert search.best_params_ == {"lottery": False}
    assert search.best_score_ > search.cv_results_["mean_test_score"][1]
    scores = cross_val_score(model, X, y, cv=3)
    assert (scores > 0.5).all()


def test_a_method_that_is_not_listed_cannot_be_saved(fitted, tmp_path):
    with pytest.raises(InputError, match="one of dpfair's methods, got Counts"):
        save_model(fitted, tmp_path / "m.dpfair")
    assert not list(tmp_path.iterdir())


def test_a_schema_that_is_not_reviewed_warns_and_strict_refuses(loans, loan_schema):
    """A person must confirm what was read off the data; until then a model is not private."""
    X, y = loans
    draft = replace(loan_schema, reviewed=False)
    with pytest.warns(PrivacyLeakWarning, match="not reviewed"):
        model = Counts(2, schema=draft).fit(X, y)
    assert not model.certificate_.privacy.private
    with pytest.raises(SchemaError, match="not reviewed"):
        Counts(2, schema=draft, strict=True).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        assert Counts(2, schema=loan_schema).fit(X, y).certificate_.privacy.private
