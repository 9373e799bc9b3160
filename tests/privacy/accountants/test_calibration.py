"""Calibration never promises more than the accountant certifies, and wastes little."""

import json
import math

import pytest
from scipy.optimize import brentq
from scipy.special import log_ndtr

from dpfair import BlockLearner, BoostingLearner, LogisticLearner
from dpfair.errors import InputError
from dpfair.learners.protocols import TrainingBudget
from dpfair.privacy.accountants import calibrate, calibrate_event, calibration, epsilon, epsilon_of
from dpfair.privacy.accountants.calibration import smallest_multiplier
from dpfair.privacy.events import RELATIONS, compose, gaussian_steps, noisy_table

DELTA = 1e-5
EPSILONS = [0.05, 0.3, 1.0, 3.0, 9.0, 20.0]
CASES = [
    *((eps, 1.0, 200, "add_remove") for eps in EPSILONS),
    *((eps, 0.0453, 1150, "add_remove") for eps in (0.05, 1.0, 9.0)),
    *((eps, q, t, "replace_one") for eps in (0.05, 1.0, 5.0) for q, t in ((1.0, 1), (0.1, 100))),
]


def exact_multiplier(eps, steps, relation):
    """The Gaussian mechanism's smallest multiplier, from its exact trade-off."""

    def excess(log_mu):
        mu = math.exp(log_mu)
        first, second = log_ndtr(mu / 2 - eps / mu), eps + log_ndtr(-mu / 2 - eps / mu)
        return math.exp(first) * -math.expm1(second - first) - DELTA

    mu = math.exp(brentq(excess, math.log(1e-4), math.log(50), xtol=1e-12))
    return math.sqrt(steps) / mu * (2 if relation == "replace_one" else 1)


@pytest.mark.parametrize(("eps", "q", "steps", "relation"), CASES)
def test_certified_and_nearly_the_smallest(eps, q, steps, relation):
    multiplier = calibrate(eps, DELTA, q, steps, relation=relation)

    def cost(factor):
        event = gaussian_steps(multiplier * factor, q, steps)
        return epsilon(event, DELTA, relation=relation).epsilon

    assert cost(1.0) <= eps
    assert cost(0.999) > eps


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("eps", "steps"), [(0.05, 200), (1.0, 1), (3.0, 200), (9.0, 1)])
def test_full_batches_against_the_exact_formula(eps, steps, relation):
    multiplier = calibrate(eps, DELTA, 1.0, steps, relation=relation)
    exact = exact_multiplier(eps, steps, relation)
    assert exact * (1 - 1e-9) <= multiplier <= exact * 1.002


@pytest.mark.parametrize(
    ("eps", "q", "steps", "multiplier"),
    [
        (2.831, 0.034, 1500, 3.13 / 1.5),
        (2.735, 0.0683, 750, 4.44 / 1.5),
    ],
)
def test_known_values(eps, q, steps, multiplier):
    assert calibrate(eps, DELTA, q, steps) == pytest.approx(multiplier, rel=0.002)


def test_more_privacy_needs_more_noise():
    found = [calibrate(eps, DELTA, 0.0453, 1150) for eps in (0.3, 1, 3)]
    assert found == sorted(found, reverse=True)
    assert calibrate(1, 1e-7, 1.0, 10) > calibrate(1, 1e-5, 1.0, 10)


def test_other_costs_can_be_part_of_the_target():
    table = noisy_table("0.5", "add_remove")
    multiplier = calibrate_event(
        lambda s: compose([gaussian_steps(s, 1.0, 50), table]), 2.0, DELTA, start=30.0
    )
    total = compose([gaussian_steps(multiplier, 1.0, 50), table])
    assert 1.99 < epsilon(total, DELTA).epsilon <= 2.0
    assert multiplier > calibrate(2.0, DELTA, 1.0, 50)


@pytest.mark.parametrize("start", [1.0, 50.0, 1e4])
def test_the_start_does_not_matter(start):
    found = calibrate_event(lambda s: gaussian_steps(s, 1.0, 10), 1.0, DELTA, start=start)
    assert found == pytest.approx(calibrate(1.0, DELTA, 1.0, 10), rel=2e-4)


def test_an_impossible_target_ends():
    with pytest.raises(InputError, match="No amount of noise"):
        calibrate(1e-14, DELTA, 1.0, 1)
    # The event's fixed part alone costs more than the target.
    with pytest.raises(InputError, match="No amount of noise"):
        calibrate_event(
            lambda s: compose([gaussian_steps(s, 1.0, 1), noisy_table(2, "add_remove")]),
            1.0,
            DELTA,
        )


def test_a_search_from_a_wrong_accountant_is_caught():
    """The twin: calibrated by the limit theorem, the certified epsilon exceeds the target."""

    def event(multiplier):
        return gaussian_steps(multiplier, 0.0453, 1150)

    def approximate(multiplier):
        return epsilon(event(multiplier), DELTA, accountant="gdp").epsilon

    multiplier = smallest_multiplier(approximate, 9.0, start=1.0)
    assert approximate(multiplier) <= 9.0
    assert epsilon(event(multiplier), DELTA).epsilon > 9.0


@pytest.fixture
def asked(monkeypatch):
    """The events that the accountant was asked about."""
    events = []

    def listening(event, *how):
        events.append(event)
        return epsilon_of(event, *how)

    monkeypatch.setattr(calibration, "epsilon_of", listening)
    return events


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("eps", [0.3, 1.0, 3.0, 9.0])
@pytest.mark.parametrize("learner", [BlockLearner(), BoostingLearner(), LogisticLearner()])
def test_the_accountant_is_asked_once_about_full_batches(asked, adult, learner, eps, relation):
    others = (noisy_table(eps / 5, relation),)
    plan = learner.plan(adult.schema, TrainingBudget(eps, DELTA, relation, other_events=others))
    assert len(asked) == 1
    assert 0.9999 * eps < epsilon_of(compose([plan.event, *others]), DELTA, relation) <= eps


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("eps", [0.3, 1.0, 3.0, 9.0])
@pytest.mark.parametrize(("rate", "steps"), [(0.0453, 1150), (0.01, 3000), (0.2, 50)])
def test_the_accountant_is_asked_once_about_sampled_batches(asked, eps, rate, steps, relation):
    calibrate(eps, DELTA, rate, steps, relation=relation)
    assert len(asked) == 1


@pytest.mark.parametrize("wrong", [0.2, 0.999, 1.001, 5.0, None])
def test_a_wrong_estimate_costs_time_but_no_privacy(monkeypatch, wrong):
    right, rightly = calibration.estimated_epsilon, calibrate(1.0, DELTA, 0.1, 50)
    monkeypatch.setattr(
        calibration,
        "estimated_epsilon",
        lambda *how: None if wrong is None else wrong * right(*how),
    )
    multiplier = calibrate(1.0, DELTA, 0.1, 50)
    assert epsilon_of(gaussian_steps(multiplier, 0.1, 50), DELTA, "add_remove") <= 1.0
    assert multiplier == pytest.approx(rightly, rel=1e-4)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DPFAIR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def searches(monkeypatch):
    """How often noise was searched for."""
    found, right = [], calibration._likely

    def listening(*how):
        found.append(how)
        return right(*how)

    monkeypatch.setattr(calibration, "_likely", listening)
    return found


HOW = {"relation": "replace_one", "exact": True}


def test_kept_noise_is_the_same_and_is_certified_again(monkeypatch, cache, asked, searches):
    found = calibrate(1.0, DELTA, 0.1, 50, **HOW)
    asked.clear()
    assert calibrate(1.0, DELTA, 0.1, 50, **HOW) == found
    assert (len(searches), len(asked)) == (1, 1)
    monkeypatch.setenv("DPFAIR_CACHE", "off")
    assert calibrate(1.0, DELTA, 0.1, 50, **HOW) == found
    assert len(searches) == 2


def test_noise_of_full_batches_is_not_kept(cache):
    calibrate(1.0, DELTA, 1.0, 50)
    assert not cache.exists()


def of_two_kinds(steps=50, rate=0.1):
    """Noise for sampled and for full batches."""
    return lambda s: compose([gaussian_steps(s, rate, steps), gaussian_steps(3 * s, 1.0, 2)])


@pytest.mark.parametrize(
    "other",
    [
        {"event_of": of_two_kinds(steps=51)},
        {"event_of": of_two_kinds(rate=0.1 + 2**-50)},
        {"target": 1.0 + 2**-50},
        {"delta": 2e-5},
        {"relation": "replace_one"},
        {"other_events": [noisy_table("0.1", "add_remove")]},
        {"start": 2.0},
    ],
)
def test_noise_for_other_inputs_is_searched_for(cache, searches, other):
    inputs = {"event_of": of_two_kinds(), "target": 1.0, "delta": DELTA, "relation": "add_remove"}
    for _ in range(2):
        calibrate_event(**inputs)
        calibrate_event(**inputs | other)
    assert len(searches) == 2


@pytest.mark.parametrize(
    "kept", [0.5, 0.999, 1.001, 1e6, -1.0, 0.0, 1e-300, math.inf, math.nan, None, "much", [1.0], 1]
)
def test_kept_noise_that_is_not_certified_is_not_used(cache, searches, kept):
    found = calibrate_event(of_two_kinds(), 1.0, DELTA)
    [file] = cache.iterdir()
    key, right = json.loads(file.read_text())
    assert right == found
    wrong = kept * right if isinstance(kept, float) else kept
    file.write_text(json.dumps([key, wrong]))
    assert calibrate_event(of_two_kinds(), 1.0, DELTA) == found
    assert len(searches) == 2
    assert json.loads(file.read_text()) == [key, found]


@pytest.mark.parametrize("wrong", [0.2, 0.999, 1.001, 5.0, None])
def test_a_wrong_formula_costs_time_but_no_privacy(monkeypatch, wrong):
    right = calibration.formula_epsilon
    monkeypatch.setattr(
        calibration,
        "formula_epsilon",
        lambda *how, **named: None if wrong is None else wrong * right(*how, **named),
    )
    multiplier = calibrate(1.0, DELTA, 1.0, 10)
    assert epsilon_of(gaussian_steps(multiplier, 1.0, 10), DELTA, "add_remove") <= 1.0
    assert multiplier == pytest.approx(exact_multiplier(1.0, 10, "add_remove"), rel=1e-4)


def test_noise_that_costs_hardly_anything_is_recognised_as_what_the_budget_leads_to():
    """Beside a table that takes nearly all of it, costs fall so slowly that much noise is right."""
    other = [noisy_table(0.9999, "add_remove")]
    multiplier = calibrate(1.0, 1e-5, 0.01, 200, other_events=other)
    stated = gaussian_steps(multiplier, 0.01, 200)
    assert calibrate(1.0, 1e-5, 0.01, 200, other_events=other, stated=stated) == multiplier
