"""Only the winner of a search is seen, and it states the cost of the search."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest
from methods.search.searching import FiveRuns, make_search, watched
from sklearn.base import clone

from dpfair import Algorithm2, InputError, Ledger, LogisticLearner, Noise, load_model, save_model
from dpfair.certificate.rule import rule_claim
from dpfair.certificate.text import round_up
from dpfair.errors import FairnessWarning
from dpfair.privacy.noise import noise_from
from dpfair.report import render_report
from dpfair.report.wording import mechanism


def test_losers_and_their_number_are_gone(loans, loan_schema):
    seen, scores, sources = [], [], []

    class Scored(FiveRuns):
        """Remembers the noisy counts of right and wrong decisions."""

        def answer(self, question, noisy):
            answer = super().answer(question, noisy)
            if question.scope == "validate":
                right, wrong = answer
                scores.append(right / (right + wrong))
            return answer

    def source(seed):
        sources.append(Scored(seed))
        return sources[-1]

    estimator = watched(lambda model: seen.append(weakref.ref(model)))
    with noise_from(source):
        search = make_search(loan_schema, estimator, random_state=None).fit(*loans)
    gc.collect()
    assert len(seen) == len(scores) == 5
    assert [r() for r in seen if r() is not None] == [search.best_estimator_]
    assert search.best_score_ == max(scores)
    # What is left of the noise of the search would show how many runs there were.
    assert type(search.ledger_.noise) is Noise
    copy = pickle.loads(pickle.dumps(search))
    for fitted in (search, copy):
        values = list(reachable(fitted))
        assert sum(type(v).__name__ == "LinearScorer" for v in values) == 1
        assert sum(isinstance(v, Ledger) for v in values) == 1
        assert not any(isinstance(v, Scored) for v in values)
        for score in set(scores) - {search.best_score_}:
            assert not any(isinstance(v, float) and v == score for v in values)
        assert len(fitted.ledger_.entries) == 1
    public = {"epsilon", "score_epsilon", "mean", "shape", "candidates", "plans", "event"}
    assert {f.name for f in dataclasses.fields(search.runs_)} == public


def reachable(thing, seen=None):
    """Everything that attributes, slots, keys and items of an object lead to."""
    seen = {} if seen is None else seen
    if id(thing) in seen or isinstance(thing, type) or callable(thing):
        return
    seen[id(thing)] = thing
    yield thing
    inner = [*getattr(thing, "__dict__", {}).values()]
    inner += [getattr(thing, s, None) for s in getattr(type(thing), "__slots__", ())]
    if isinstance(thing, dict):
        inner += [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        inner += list(thing)
    for value in inner:
        yield from reachable(value, seen)


def test_warnings_do_not_count_the_runs(loans, loan_schema, five_runs):
    X, y = loans
    blind = dataclasses.replace(loan_schema, sensitive=None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make_search(blind).fit(X.drop("sex"), y)
    assert [w.category for w in caught] == [FairnessWarning]


@pytest.mark.parametrize("failures", [3, 5])
def test_a_losing_run_that_fails_is_not_seen(loans, loan_schema, five_runs, failures):
    calls = []

    def sometimes(model):
        calls.append(1)
        if len(calls) <= failures:
            raise InputError("No rule fits.")

    search = make_search(loan_schema, watched(sometimes))
    if failures == 5:
        with pytest.raises(InputError, match="No rule fits"):
            search.fit(*loans)
    else:
        assert search.fit(*loans).best_score_ > 0
    assert len(calls) == 5


def test_winner_states_the_total_and_divided_confidence(fitted):
    winner = fitted.best_estimator_
    assert winner.certificate_ is fitted.certificate_
    assert winner.ledger_ is fitted.ledger_
    privacy, fairness = fitted.certificate_.privacy, fitted.certificate_.fairness
    assert (privacy.epsilon, privacy.spent) == (3, fitted.ledger_.spent)
    assert fitted.runs_.epsilon < 1.5
    assert "the candidates of the search" in privacy.assumed_public
    assert "seed" in str(fitted.certificate_)
    assert fairness.confidence == 0.95
    assert winner.confidence == pytest.approx(1 - 0.05 / 3)
    at = {}
    for confidence in (0.95, winner.confidence):
        claim = rule_claim(
            winner.release_, winner.fitted_.chosen, winner.rule_settings.goal(), confidence
        )
        at[confidence] = claim.gap_bound
    assert fairness.gap_bound == at[winner.confidence] > at[0.95]


def test_bounds_on_the_mean_are_dropped(loans, loan_schema):
    estimator = Algorithm2(public_sizes=True, learner=LogisticLearner(steps=20))
    search = make_search(loan_schema, estimator).fit(*loans)
    bounds = search.certificate_.fairness.bounds
    assert "paper theorem" in bounds
    assert not any("mean" in name for name in bounds)


def test_saved_and_reported_like_any_model(fitted, loans, tmp_path):
    X, _ = loans
    again = load_model(save_model(fitted.best_estimator_, tmp_path / "m.dpfair"))
    assert again.certificate_.to_json() == fitted.certificate_.to_json()
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    [entry] = fitted.ledger_.entries
    assert "best of a random number of runs (mean 3)" in mechanism(entry.event)
    page = render_report(again)
    assert page == render_report(fitted.best_estimator_)
    assert "the best of a private search" in page
    assert round_up(fitted.certificate_.fairness.gap_bound) in page


def test_another_rule_of_a_winner_keeps_the_confidence_of_the_search(fitted, tmp_path):
    winner = fitted.best_estimator_
    other = winner.with_rule(tolerance=0.05)
    assert other.certificate_.fairness.confidence == 0.95
    assert "the best of a private search" in other.certificate_.method
    assert other.certificate_.privacy.epsilon == 3
    again = load_model(save_model(other, tmp_path / "m.dpfair"))
    assert again.certificate_ == other.certificate_


def test_a_saved_winner_cannot_claim_its_own_confidence(fitted, tmp_path):
    """A file does not say what is certified; it follows from the charge for the search."""
    winner = clone(fitted.best_estimator_)
    winner.__dict__.update(fitted.best_estimator_.__dict__)
    claim = dataclasses.replace(fitted.certificate_.fairness, confidence=winner.confidence)
    winner.certificate_ = dataclasses.replace(fitted.certificate_, fairness=claim)
    again = load_model(save_model(winner, tmp_path / "m.dpfair"))
    assert again.certificate_ == fitted.certificate_ != winner.certificate_
    assert again.certificate_.fairness.confidence == 0.95
