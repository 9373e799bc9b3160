"""What a refusal names is granted, and one per cent more is not."""

import re
from fractions import Fraction

import pytest
from sklearn.base import clone

from dpfair import (
    BudgetError,
    ChargeTo,
    FairPostProcessor,
    LedgerFile,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
)
from dpfair.errors import InputError
from dpfair.evaluation import check_budget
from dpfair.privacy.events import gaussian_steps, noisy_table
from dpfair.privacy.room import Kind, largest, rounded_down

FIT = "fit"
STATES = {
    "one fit": [(FIT, 2)],
    "two fits": [(FIT, 1), (FIT, 1)],
    "counts": [("count", "1/3"), ("count", "1/7")],
    "a count and a fit": [("count", "3/2"), (FIT, 0.4)],
    "a small fit": [(FIT, 0.05)],
}


def ledger_in(state, path, schema, planned):
    file = LedgerFile.create(path, 3, 1e-5, planned=planned)
    for kind, amount in STATES[state]:
        event = noisy_table(amount, "add_remove") if kind == "count" else fit_event(amount, schema)
        file.charge(event, scope="", purpose="before")
    return file


def fit_event(epsilon, schema):
    return PrivateFairClassifier(epsilon, schema=schema).plan().event


def ask(model, **change):
    """Plan a fit and check that its ledger file can pay for it."""
    model = clone(model).set_params(**change)
    model.payment(model.plan(), model.schema)


def named(error):
    return float(re.search(r"At most epsilon (\S+) would be granted", str(error.value))[1])


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("mode", ["certified", "reuse"])
def test_a_refused_fit_is_told_what_would_be_granted(tmp_path, loan_schema, state, planned, mode):
    file = ledger_in(state, tmp_path / "x", loan_schema, planned)
    model = PrivateFairClassifier(3, schema=loan_schema, mode=mode, ledger=file.path)
    with pytest.raises(BudgetError) as refused:
        ask(model)
    epsilon = named(refused)
    ask(model, epsilon=epsilon)
    with pytest.raises(BudgetError):
        ask(model, epsilon=1.01 * epsilon)


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("state", STATES)
def test_a_refused_evaluation_is_told_what_would_be_granted(
    tmp_path, loans, loan_schema, state, planned
):
    file = ledger_in(state, tmp_path / "x", loan_schema, planned)
    model = PrivateFairClassifier(3, schema=loan_schema, random_state=0).fit(*loans)
    with pytest.raises(BudgetError) as refused:
        check_budget(model, epsilon=3, ledger=file.path)
    epsilon = named(refused)
    assert file.largest() == pytest.approx(epsilon, rel=3e-3)
    check_budget(model, epsilon=epsilon, ledger=file.path)
    with pytest.raises(BudgetError):
        check_budget(model, epsilon=1.01 * epsilon, ledger=file.path)


@pytest.mark.parametrize("planned", [False, True])
def test_a_refused_search_is_told_what_would_be_granted(tmp_path, loans, loan_schema, planned):
    file = ledger_in("one fit", tmp_path / "x", loan_schema, planned)
    search = PrivateSearchCV(
        PrivateLogisticRegression(),
        {"steps": [3, 5]},
        epsilon=3,
        schema=loan_schema,
        mean_runs=2,
        ledger=file.path,
    )
    with pytest.raises(BudgetError) as refused:
        search.fit(*loans)
    epsilon = named(refused)
    with pytest.raises(BudgetError):
        clone(search).set_params(epsilon=1.01 * epsilon).fit(*loans)
    clone(search).set_params(epsilon=epsilon).fit(*loans)
    assert len(file.entries) == 2


def test_a_refused_job_per_person_is_told_what_would_be_granted(tmp_path, loan_schema):
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5, unit="job", rows_per_unit=2)
    model = PrivateFairClassifier(
        2, schema=loan_schema, unit="job", rows_per_unit=2, ledger=file.path
    )
    file.charge(model.plan().event, scope="", purpose="before")
    with pytest.raises(BudgetError) as refused:
        ask(model)
    epsilon = named(refused)
    ask(model, epsilon=epsilon)
    with pytest.raises(BudgetError):
        ask(model, epsilon=1.01 * epsilon)


@pytest.mark.parametrize(
    "model",
    [
        lambda s, p: PrivateLogisticRegression(4, schema=s, steps=5, ledger=p),
        lambda s, p: FairPostProcessor(len, 4, sensitive="sex", groups=["f", "m"], ledger=p),
    ],
)
def test_every_method_is_told(tmp_path, loans, loan_schema, model):
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    with pytest.raises(BudgetError, match="At most epsilon 3 would be granted to this job"):
        model(loan_schema, file.path).fit(*loans)


def test_the_part_that_the_job_is_about_counts(tmp_path, loan_schema):
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    file.charge(noisy_table(2, "add_remove"), scope="north", purpose="x", new_scope=True)
    for to, most in (("", 1), ("north", 1), ("south", 3)):
        ledger = ChargeTo(file.path, to, new_scope=True)
        model = PrivateFairClassifier(4, schema=loan_schema, mode="reuse", ledger=ledger)
        with pytest.raises(BudgetError) as refused:
            ask(model)
        assert 0.7 * most < named(refused) <= most
    assert file.largest(scope="north") == 1
    with pytest.raises(InputError, match="was not declared"):
        file.largest(scope="south")


def test_any_other_event_is_told_of_pure_jobs(tmp_path):
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    file.charge(noisy_table("1/2", "add_remove"), scope="", purpose="x")
    with pytest.raises(BudgetError, match=r"At most epsilon 2\.5 would be granted to a pure job"):
        file.charge(gaussian_steps(0.5, 1.0, 1), scope="", purpose="x")
    file.charge(noisy_table("5/2", "add_remove"), scope="", purpose="x")
    with pytest.raises(BudgetError, match="No epsilon would be granted to a pure job"):
        file.charge(noisy_table(1, "add_remove"), scope="", purpose="x")


def test_a_filter_that_is_used_up_has_no_room(tmp_path, loan_schema):
    """0.2 is not spent, but no second job fits beside a first that costs 2.8."""
    file = LedgerFile.create(tmp_path / "x", 3, 1e-5)
    file.charge(fit_event(2.8, loan_schema), scope="", purpose="x")
    assert file.spent == pytest.approx(2.8)
    assert file.largest() is None
    with pytest.raises(BudgetError, match="No epsilon would be granted"):
        file.charge(noisy_table("1/100", "add_remove"), scope="", purpose="x")


def kind(smallest=0.0, largest=100.0, most=100.0):
    def event(epsilon):
        if not smallest <= epsilon <= largest:
            raise InputError("cannot be planned")
        return epsilon

    return Kind("x", event, most)


@pytest.mark.parametrize("root", [0.00123, 0.5, 1.0, 1.0005, 9.9999, 33.3333, 99.99])
@pytest.mark.parametrize("power", [0.3, 1.0, 3.0])
def test_the_root_is_bracketed_whatever_the_curve(root, power):
    def excess(epsilon):
        return Fraction(epsilon**power - root**power)

    found = largest(kind(), excess, 1e-4)
    assert found <= root
    assert excess(1.003 * found) > 0


def test_jobs_that_cannot_be_planned():
    def excess(epsilon):
        return Fraction(epsilon - 5)

    assert largest(kind(smallest=1), excess, 1e-4) == 5
    assert largest(kind(smallest=6), excess, 1e-4) is None
    assert largest(kind(largest=20), excess, 1e-4) == 5
    assert largest(kind(largest=2), excess, 1e-4) == pytest.approx(2, rel=2e-3)
    assert largest(kind(smallest=60, largest=50), excess, 1e-4) is None
    assert largest(kind(most=3), excess, 1e-4) == 3


def test_numbers_are_rounded_down():
    assert [rounded_down(x) for x in (0.12349, 0.3, 1.2, 12.345, 1e-5)] == [
        *(0.1234, 0.3, 1.2, 12.34, 1e-5)
    ]
