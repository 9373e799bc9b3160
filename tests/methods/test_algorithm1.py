"""Algorithm 1: exact rates, the fewest flips, and no privacy."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from methods.accepting import says, table
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from dpfair import Algorithm1, FairPostProcessor, InputError

BOTH = pytest.mark.parametrize("method", [Algorithm1, FairPostProcessor])
"""The class, and the post-processor without a budget."""


@BOTH
@pytest.mark.parametrize(("accepted", "high", "low"), [((60, 30), 0, 1), ((30, 60), 1, 0)])
def test_the_flips_are_the_papers(method, accepted, high, low):
    rule = method(says, sensitive=0).fit(table(accepted)).rule_.accept
    big, small = max(accepted) / 100, min(accepted) / 100
    assert rule[high] == pytest.approx([0, (big + small) / (2 * big)])
    assert rule[low] == pytest.approx([(big - small) / (2 * (1 - small)), 1])


@BOTH
def test_all_groups_come_to_the_middle_of_their_rates(method):
    X = table((20, 255, 10), (100, 300, 200))  # 0.2, 0.85 and 0.05
    accept = method(says, sensitive=0).fit(X).predict_proba(X)[:, 1]
    for group in range(3):
        assert accept[X[:, 0] == group].mean() == pytest.approx((0.85 + 0.05) / 2)


def test_it_is_the_post_processor_without_noise():
    X = table((20, 85), (90, 300))
    one = Algorithm1(says, sensitive=0, random_state=3).fit(X)
    other = FairPostProcessor(says, sensitive=0, random_state=3).fit(X)
    assert one.certificate_ == other.certificate_
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_it_has_no_budget():
    parameters = inspect.signature(Algorithm1).parameters
    assert not {"epsilon", "delta", "ledger", "relation"} & set(parameters)


@BOTH
def test_it_never_claims_privacy(method):
    model = method(says, sensitive=0).fit(table())
    assert model.plan_.steps == ()
    assert model.ledger_.entries == ()
    privacy = model.certificate_.privacy
    assert (privacy.private, privacy.epsilon) == (False, math.inf)
    assert model.certificate_.method == "Algorithm 1"
    assert "the counts are exact" in str(model.certificate_)
    assert not model.release_.undeclared
    assert model.release_.noise == (math.inf, math.inf)


@pytest.mark.parametrize("held_out", [False, True])
def test_the_gap_is_certified_on_records_that_were_held_out(held_out):
    fairness = Algorithm1(says, sensitive=0, held_out=held_out).fit(table()).certificate_.fairness
    assert fairness.certified is held_out
    assert (fairness.gap_bound is not None) is held_out


def test_decoupled_classifiers_are_trained_on_their_own_group(loans):
    X, y = loans
    numbers = X.select("age", "income").with_columns(m=(X["sex"] == "m").cast(int))
    parts = {group: LogisticRegression(max_iter=1000) for group in ("0", "1")}
    model = Algorithm1(parts, sensitive="m", random_state=0).fit(numbers, y)
    first, second = (model.classifier_.parts[group].coef_ for group in ("0", "1"))
    assert not np.allclose(first, second)
    assert model.certificate_.fairness.certified  # the rates are from other records
    assert model.score(numbers, y) > 0.6
    accept, male = model.predict_proba(numbers)[:, 1], numbers["m"].to_numpy() == 1
    gap = abs(accept[male].mean() - accept[~male].mean())
    assert gap < model.certificate_.fairness.gap_bound


def test_a_clone_has_the_same_parameters():
    model = Algorithm1(says, sensitive=0, confidence=0.9, random_state=1)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(confidence=0.8).fit(table()).certificate_.fairness.confidence == 0.8


@pytest.mark.parametrize(
    "settings", [{"release_share": 0}, {"confidence": 1}, {"coins": "x"}, {"sensitive": ["a", "b"]}]
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(InputError):
        Algorithm1(says, **{"sensitive": 0} | settings).fit(table())
