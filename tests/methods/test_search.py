"""Choosing hyper-parameters is paid for, and only the winner is seen."""

import dataclasses
import gc
import json
import math
import pickle
import warnings
import weakref

import numpy as np
import polars as pl
import pytest
from dp_accounting.dp_event import GaussianDpEvent, LaplaceDpEvent, RepeatAndSelectDpEvent
from dp_accounting.rdp import RdpAccountant
from sample_tables import make_loans
from scipy.special import logsumexp
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dpfair import (
    Algorithm1,
    Algorithm2,
    BudgetError,
    DPFermi,
    FairPostProcessor,
    InputError,
    Ledger,
    LedgerFile,
    LogisticLearner,
    Noise,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
    load_model,
    save_model,
)
from dpfair.certificate.rule import rule_claim
from dpfair.certificate.text import round_up
from dpfair.errors import FairnessWarning, PrivacyLeakWarning, ReceiptError
from dpfair.privacy.accountants import ORDERS, epsilon, epsilon_of, epsilons, renyi_curve
from dpfair.privacy.draw import Draw
from dpfair.privacy.event_json import event_from_json, event_to_json
from dpfair.privacy.events import (
    best_of_runs,
    compose,
    gaussian_steps,
    noisy_table,
    path_events,
    step_event,
)
from dpfair.privacy.noise import noise_from
from dpfair.privacy.repetition import best_of_runs_curve, halting_probability
from dpfair.report import render_report
from dpfair.report.wording import mechanism

DELTA = 1e-5
GRID = {"learner__learning_rate": [0.01, 0.3], "learner__clip": [0.3, 1.0]}


def fair(**how):
    return PrivateFairClassifier(learner=LogisticLearner(steps=20), **how)


def make_search(schema, estimator=None, grid=GRID, **how):
    settings = {"epsilon": 3, "mean_runs": 3, "schema": schema, "random_state": 1} | how
    return PrivateSearchCV(fair() if estimator is None else estimator, grid, **settings)


@pytest.fixture(scope="module")
def fitted(loans, loan_schema):
    return make_search(loan_schema).fit(*loans)


class FiveRuns(Noise):
    """Makes every search one of five runs."""

    def repetitions(self, *law):
        return 5


@pytest.fixture
def five_runs():
    with noise_from(FiveRuns):
        yield


# The law of the number of runs


def law(mean, shape, most=400):
    """Definition 1 of Papernot and Steinke, from binomial coefficients."""
    g, k = float(halting_probability(mean, shape)), np.arange(1, most)
    if shape == 0:
        return (1 - g) ** k / (k * math.log(1 / g))
    rising = np.cumsum(np.log((k - 1 + shape) / k))
    return np.exp(rising + k * np.log1p(-g)) / (g**-shape - 1)


def fits(sample, probabilities):
    top = 6
    expected = np.append(probabilities[:top], 1 - probabilities[:top].sum()) * len(sample)
    found = np.bincount(np.minimum(sample, top + 1), minlength=top + 2)[1:]
    return chisquare(found, expected).pvalue > 1e-4


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mean", [2.5, 6.0])
def test_number_of_runs_has_the_law_that_is_paid_for(mean, shape):
    event, noise = best_of_runs([step_event(9, 1)], mean, shape), Noise(seed=5)
    sample = np.array([Draw(event, noise).runs() for _ in range(5000)])
    assert law(mean, shape) @ np.arange(1, 400) == pytest.approx(mean, rel=1e-6)
    assert fits(sample, law(mean, shape))
    assert not fits(sample, law(mean, 0.0 if shape == 1 else 1.0))
    assert not fits(sample, law(mean * 1.2, shape))


@pytest.mark.parametrize("shape", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("mean", [1 + 1e-12, 1.01, 7.0, 1e4])
def test_no_more_runs_on_average_than_stated(mean, shape):
    g = halting_probability(mean, shape)
    x = -math.log(g)
    exact = 1 / g if shape == 1 else (math.expm1(x) / x if x else 1.0)
    if shape == 0.3:
        exact = shape * math.expm1(x) / -math.expm1(-shape * x) if x else 1.0
    assert mean * (1 - 1e-9) <= exact <= mean


# What it costs


@pytest.mark.parametrize("shape", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mean", [3.0, 10.0])
@pytest.mark.parametrize("one_run", [gaussian_steps(20, 1.0, 60), gaussian_steps(2, 0.05, 40)])
def test_cost_is_what_dp_accounting_says(one_run, mean, shape):
    reference = RdpAccountant().compose(RepeatAndSelectDpEvent(one_run, mean, shape))
    paid = best_of_runs([one_run], mean, shape)
    assert epsilon_of(paid, DELTA, "add_remove") == pytest.approx(reference.get_epsilon(DELTA))
    assert epsilon_of(paid, DELTA, "add_remove") > epsilon_of(one_run, DELTA, "add_remove")


def divergence(p, q):
    p, q = np.log(p), np.log(q)
    return np.array([logsumexp(a * p + (1 - a) * q) / (a - 1) for a in ORDERS])


def test_curve_of_discrete_laplace_is_exact_and_above_that_of_laplace():
    z = np.arange(-400, 401)
    p = np.exp(-0.3 * np.abs(z)) * np.tanh(0.15)
    q = np.exp(-0.3 * np.abs(z - 1)) * np.tanh(0.15)
    curve = renyi_curve(noisy_table(0.3, "add_remove"), "add_remove")
    np.testing.assert_allclose(curve, divergence(p, q), rtol=1e-9)
    continuous = RdpAccountant(ORDERS).compose(LaplaceDpEvent(1 / 0.3)).rdp
    assert np.all(continuous < curve)


@pytest.mark.parametrize("shape", [0.0, 1.0])
def test_bound_holds_for_the_exact_law_of_the_winner(shape):
    """Runs that give 0..3 with neighbouring laws; the largest is released."""
    p, q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.4, 0.25, 0.2, 0.15])
    p, q = p / p.sum(), q / q.sum()
    weights = law(5.0, shape, 4000)

    def winner(one):
        below = np.cumsum(one)[:, None] ** np.arange(1, 4000) @ weights
        return np.diff(below, prepend=0.0)

    one_run = np.maximum(divergence(p, q), divergence(q, p))
    exact = np.maximum(*(divergence(winner(a), winner(b)) for a, b in ((p, q), (q, p))))
    assert np.all(exact <= best_of_runs_curve(ORDERS, one_run, 5.0, shape))
    assert np.any(exact > one_run)  # the choice is not free


def test_a_run_costs_its_dearest_alternative_at_every_order():
    gauss, table = step_event(4, 1), noisy_table(1, "add_remove")
    cost = {
        k: epsilon_of(best_of_runs(v, 5, 0), DELTA, "add_remove")
        for k, v in {"g": [gauss], "t": [table], "both": [gauss, table]}.items()
    }
    assert cost["both"] > max(cost["g"], cost["t"])


def test_replacing_a_record_costs_as_half_the_noise():
    half, whole = (best_of_runs([step_event(s, 1)], 5, 0) for s in (4, 8))
    assert epsilon_of(whole, DELTA, "replace_one") == epsilon_of(half, DELTA, "add_remove")
    with pytest.raises(InputError, match="add_remove only"):
        epsilon(best_of_runs([step_event(4, 0.1)], 5, 0), DELTA, relation="replace_one")


def test_only_renyi_answers_for_a_search_and_it_composes():
    event = best_of_runs([step_event(8, 1)], 5, 0)
    assert set(epsilons(event, DELTA)) == {"rdp"}
    assert epsilon(event, DELTA).accountant == "rdp"
    with pytest.raises(InputError, match="does not support a search"):
        epsilon(event, DELTA, accountant="gdp")
    both = compose([event, step_event(8, 1)])
    reference = RdpAccountant().compose(RepeatAndSelectDpEvent(GaussianDpEvent(8.0), 5, 0))
    reference.compose(GaussianDpEvent(8.0))
    assert epsilon_of(both, DELTA, "add_remove") == pytest.approx(reference.get_epsilon(DELTA))


def test_hopeless_runs_are_refused():
    with pytest.raises(InputError, match="protects nothing"):
        epsilon(best_of_runs([step_event(0.01, 0.5)], 5, 0), DELTA)


def test_event_survives_json_and_hostile_events_do_not():
    event = best_of_runs([compose([step_event(8, 1), noisy_table(1, "replace_one")])] * 2, 5, 0.5)
    assert len(event.event.events) == 1
    assert event_from_json(json.loads(json.dumps(event_to_json(event)))) == event
    good = event_to_json(event)
    for bad in ({"mean": 1.0}, {"mean": 1e9}, {"shape": 2.0}, {"one_of": []}, {"one_of": [good]}):
        with pytest.raises(InputError):
            event_from_json(good | bad)
    with pytest.raises(InputError):
        event_from_json(good | {"mean": "5"})


def test_a_receipt_opens_one_search_and_allows_what_was_paid():
    event = best_of_runs([step_event(8, 1)], 5, 0)
    receipt = Ledger(5, DELTA).charge(event, scope="", purpose="search")
    with pytest.raises(ReceiptError):
        receipt.draw(step_event(8, 1))
    draw = receipt.draw(event)
    with pytest.raises(ReceiptError, match="for a search"):
        receipt.draw(event)
    assert draw.runs() >= 1
    with pytest.raises(ReceiptError):
        draw.runs()
    draw.allow([("train", step_event(8, 1)), ("release", step_event(8, 1))])
    for dear in ([("", step_event(7, 1))], [("", step_event(8, 1)), ("a", step_event(8, 1))]):
        with pytest.raises(ReceiptError, match="did not pay"):
            draw.allow(dear)
    with pytest.raises(ReceiptError):
        draw.discrete_laplace([1])


# The search


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


class Watched(PrivateFairClassifier):
    """Calls ``before`` with every run that starts."""

    before = None

    def learn(self, records, run):
        Watched.before(self)
        super().learn(records, run)


def watched(before):
    Watched.before = staticmethod(before)
    return Watched(learner=LogisticLearner(steps=20))


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


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLogisticRegression(steps=20),
        PrivateLogisticRegression(solver="sgd", batch_size=300, steps=10, noise_multiplier=2),
        PrivateLogisticRegression(steps=20, relation="replace_one"),
    ],
)
def test_logistic_regression_is_searched_and_promises_privacy_only(loans, loan_schema, estimator):
    X, y = loans
    search = make_search(loan_schema, estimator, {"learning_rate": [0.1, 0.3]}, mean_runs=2)
    search.fit(X, y)
    assert search.score(X, y) > 0.6
    assert search.predict_proba(X).shape == (len(y), 2)
    assert search.certificate_.fairness.certified is False
    assert search.certificate_.privacy.spent <= 3


def test_the_better_candidate_wins(loans, loan_schema, five_runs):
    X, y = loans
    estimator = PrivateLogisticRegression(steps=20)
    search = make_search(loan_schema, estimator, {"learning_rate": [1e-9, 0.3]}).fit(X, y)
    assert search.best_params_ == {"learning_rate": 0.3}
    assert abs(search.best_score_ - search.score(X, y)) < 0.1


def test_seeds_repeat_and_mark_as_not_private(fitted, loans, loan_schema):
    X, y = loans
    again = clone(fitted).fit(X, y)
    assert again.best_params_ == fitted.best_params_
    assert again.best_score_ == fitted.best_score_
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    other = make_search(loan_schema, random_state=2).fit(X, y)
    assert other.best_score_ != fitted.best_score_
    assert not fitted.certificate_.privacy.private
    assert make_search(loan_schema, random_state=None).fit(X, y).certificate_.privacy.private


def test_clone_and_get_params(fitted):
    params = clone(fitted).get_params()
    assert params["mean_runs"] == 3
    assert params["estimator__learner__steps"] == 20
    assert not hasattr(clone(fitted), "best_estimator_")


def test_groups_apart_and_persons(loans, loan_schema):
    X, y = loans
    apart = make_search(loan_schema).fit(X.drop("sex"), y, sensitive_features=X["sex"])
    inside = make_search(loan_schema).fit(X, y)
    assert apart.best_score_ == inside.best_score_
    persons = X.with_columns(person=pl.Series([f"p{i // 3}" for i in range(len(y))]))
    search = make_search(loan_schema, fair(unit="person", rows_per_unit=2)).fit(persons, y)
    assert "person" in search.certificate_.privacy.unit
    assert search.ledger_.rows_per_unit == 2
    assert search.ledger_.spent <= 3


def test_undeclared_groups_do_not_raise(loans, loan_schema):
    X, y = loans
    odd = X.with_columns(sex=pl.when(pl.arange(0, len(y)) % 5 == 0).then(None).otherwise("sex"))
    make_search(loan_schema).fit(odd, y)


def test_a_schema_read_off_the_data_is_a_leak(loans):
    X, y = loans
    with pytest.warns(PrivacyLeakWarning):
        search = make_search(None, sensitive="sex").fit(X, y)
    assert any("schema" in leak for leak in search.certificate_.privacy.leaks)


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


def test_a_decision_about_an_undeclared_label_is_never_right(loans, loan_schema):
    """Else a candidate that accepts everybody would win by the unknown labels."""
    X, y = loans
    unknown = np.where(np.arange(len(y)) % 10 < 6, "?", y)
    estimator = fair(mode="reuse")
    search = PrivateSearchCV(
        estimator,
        {"rule__target": [0.1, 0.95]},
        epsilon=8,
        mean_runs=6,
        schema=loan_schema,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, unknown)
    assert search.best_score_ < 0.45  # four tenths can be right


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (DPFermi(batch_size=300, epochs=2), {"weight": [0.5, 2.0]}),
        (Algorithm2(learner=LogisticLearner(steps=5)), {"target": ["lower", "upper"]}),
        (fair(), {"rule__notion": ["demographic_parity", "equal_opportunity"]}),
    ],
    ids=["dp-fermi", "algorithm 2", "fair"],
)
def test_every_method_can_be_searched(loans, loan_schema, estimator, grid, tmp_path):
    X, y = loans
    search = make_search(loan_schema, estimator, grid, mean_runs=2).fit(X, y)
    assert type(search.best_estimator_) is type(estimator)
    assert 2.9 < search.ledger_.spent <= 3
    assert search.best_params_ in search.runs_.candidates
    again = load_model(save_model(search, tmp_path / "m.dpfair"))
    assert again.certificate_ == search.certificate_
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


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
