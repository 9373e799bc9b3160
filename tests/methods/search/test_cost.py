"""How many runs a search has, and what they cost."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent, LaplaceDpEvent, RepeatAndSelectDpEvent
from dp_accounting.rdp import RdpAccountant
from methods.search.searching import DELTA
from scipy.special import logsumexp
from scipy.stats import chisquare

from dpfair import InputError, Ledger, Noise
from dpfair.errors import ReceiptError
from dpfair.privacy.accountants import ORDERS, epsilon, epsilon_of, epsilons, renyi_curve
from dpfair.privacy.draw import Draw
from dpfair.privacy.event_json import event_from_json, event_to_json
from dpfair.privacy.events import best_of_runs, compose, gaussian_steps, noisy_table, step_event
from dpfair.privacy.repetition import best_of_runs_curve, halting_probability

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
