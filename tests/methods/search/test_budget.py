"""A search is paid for as a whole, before any run, and no run costs more."""

from __future__ import annotations

import warnings

import pytest
from methods.search.searching import DELTA, fair, make_search, watched
from sample_tables import make_loans
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dpfair import (
    Algorithm1,
    BudgetError,
    FairPostProcessor,
    InputError,
    LedgerFile,
    LogisticLearner,
    PrivateFairClassifier,
)
from dpfair.errors import FairnessWarning, ReceiptError
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import best_of_runs, noisy_table, path_events


def test_total_is_within_the_budget_and_a_run_gets_the_most(fitted, loan_schema):
    [entry] = fitted.ledger_.entries
    assert entry.scope == ""
    assert 3 * 0.99 < fitted.ledger_.spent == entry.epsilon <= 3
    more = fitted.runs_.epsilon * 1.002
    model = fair().set_params(epsilon=more)
    events = path_events(model.plan(loan_schema).charges)
    over = best_of_runs([*events, noisy_table(more / 4, "add_remove")], 3, 0)
    assert epsilon_of(over, DELTA, "add_remove") > 3


def test_every_candidate_is_paid_for(loan_schema):
    learner = LogisticLearner(solver="sgd", batch_size=300, steps=5, noise_multiplier=4)
    several = make_search(
        loan_schema,
        fair(),
        {"division__release_epsilon": [0.1], "learner": [LogisticLearner(steps=9), learner]},
    )
    [step] = several.plan().steps
    event = step.event
    assert len(event.event.events) == 4  # two trainings, one release, one score
    assert epsilon_of(event, DELTA, "add_remove") <= 3


@pytest.mark.parametrize(
    "how", [{"score_epsilon": 50}, {"estimator": fair(division={"release_epsilon": 2.5})}]
)
def test_over_budget_nothing_is_read_or_charged(loan_schema, tmp_path, how):
    file = LedgerFile.create(tmp_path / "x", 100, DELTA)
    search = make_search(loan_schema, ledger=file.path, random_state=None, **how)
    with pytest.raises(BudgetError, match="nothing was charged"):
        search.fit(object(), object())  # no table: touching it would be another error
    assert not file.entries
    assert not hasattr(search, "ledger_")


def test_the_search_is_charged_before_any_run_starts(loans, loan_schema, tmp_path):
    file, charged = LedgerFile.create(tmp_path / "x", 3, DELTA), []
    estimator = watched(lambda model: charged.append(len(file.entries)))
    make_search(loan_schema, estimator, ledger=file.path, random_state=None).fit(*loans)
    assert set(charged) == {1}
    [entry] = file.entries
    assert entry.purpose == "search for a model"


def test_runs_are_planned_once_and_before_any_record_is_read(loans, loan_schema):
    search = make_search(loan_schema)
    runs = search.plan()["search"].how
    search.fit(*loans)
    assert len(runs.plans) == len(runs.candidates) == 4
    assert search.runs_ == runs
    assert search.best_estimator_.plan_ in runs.plans


class Liar(PrivateFairClassifier):
    """Learns by another plan than the one that the search paid for."""

    def learn(self, records, run):
        dear = clone(self).set_params(epsilon=10 * self.epsilon).plan(self.schema_)
        super().learn(records, dear.open(run.noise))


def test_a_run_that_charges_more_than_planned_is_refused(loans, loan_schema):
    liar = Liar(learner=LogisticLearner(steps=20))
    with pytest.raises(ReceiptError, match="did not pay"):
        make_search(loan_schema, liar).fit(*loans)


def test_what_the_search_sets_itself_cannot_be_searched(loan_schema):
    for name in ("epsilon", "delta", "confidence", "relation", "random_state"):
        with pytest.raises(InputError, match=f"sets {name}"):
            make_search(loan_schema, grid={name: [1]}).plan()
    for how in ({"mean_runs": 1}, {"shape": 1.5}, {"validation_share": 1}, {"score_epsilon": -1}):
        with pytest.raises(InputError):
            make_search(loan_schema, **how).plan()
    for other in (LogisticRegression(), FairPostProcessor(len, 1.0), Algorithm1(len), fair):
        with pytest.raises(InputError, match="plans its cost"):
            make_search(loan_schema, other).fit(None, None)


def test_a_budget_of_the_estimator_that_is_not_used_is_named(loan_schema):
    grid = {"learner__steps": [2]}
    for given in ({"epsilon": 5}, {"delta": 1e-7}):
        [(name, value)] = given.items()
        estimator = fair().set_params(**given)
        with pytest.warns(UserWarning, match=f"{name}={value}, which is not used"):
            make_search(loan_schema, estimator, grid).fit(*make_loans(300))


@pytest.mark.parametrize("epsilon", [1.0, 3])
def test_a_default_or_equal_budget_of_the_estimator_is_no_mistake(epsilon, loan_schema):
    estimator = fair().set_params(epsilon=epsilon, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", FairnessWarning)
        make_search(loan_schema, estimator, {}).fit(*make_loans(300))


def test_a_ledger_of_the_estimator_is_refused(tmp_path, loan_schema):
    estimator = fair().set_params(ledger=tmp_path / "loans.ledger")
    with pytest.raises(InputError, match="give it to the search alone"):
        make_search(loan_schema, estimator, {}).fit(*make_loans(300))
