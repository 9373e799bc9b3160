"""Charges that are chosen one after the other cost what was promised, whatever was seen."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from dpfair.errors import BudgetError, InputError
from dpfair.privacy.accountants import cost
from dpfair.privacy.adaptive import filter_cost
from dpfair.privacy.events import (
    OneOfDpEvent,
    ThresholdedDpEvent,
    compose,
    gaussian_steps,
    noisy_table,
    step_event,
)
from dpfair.privacy.ledger import Ledger

DELTA = 1e-5
FIRST = 0.2  # mu of the Gaussian whose result decides what is asked next


def gaussian(mu):
    return step_event(1 / mu, 1.0)


def laplaces(amount, count=3):
    return compose([noisy_table(amount, "add_remove")] * count)


def delta_of_gaussian(epsilon, mu):
    return norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)


def delta_of_laplaces(epsilon, amount, count=3):
    """Each loses the amount, or gains it: randomised response."""
    up = 1 / (1 + math.exp(-amount))
    return sum(
        math.comb(count, k)
        * up**k
        * (1 - up) ** (count - k)
        * max(0.0, 1 - math.exp(epsilon - (2 * k - count) * amount))
        for k in range(count + 1)
    )


def delta_of_choosing(epsilon, amount, mu):
    """The first result decides: three counts of an amount, or a Gaussian with mu."""

    def worse(z):
        left = epsilon - FIRST**2 / 2 - FIRST * z
        return norm.pdf(z) * max(delta_of_laplaces(left, amount), delta_of_gaussian(left, mu))

    kinks = [(epsilon - FIRST**2 / 2 - j * amount) / FIRST for j in (1, 3)]
    ends = [-12.0, *sorted(k for k in kinks if abs(k) < 12), 12.0]
    return sum(quad(worse, a, b, limit=400, epsabs=1e-14)[0] for a, b in pairwise(ends))


def largest(price, budget, top):
    """The largest amount whose price is within the budget."""
    return brentq(lambda x: float(price(x)) - budget, 1e-3, top, xtol=1e-9) * (1 - 1e-6)


def branches(price, budget):
    """The dearest of either branch that a price allows beside the first charge."""
    amount = largest(lambda t: price(compose([gaussian(FIRST), laplaces(Fraction(t))])), budget, 3)
    mu = largest(lambda m: price(compose([gaussian(FIRST), gaussian(m)])), budget, 3)
    return amount, mu


BUDGETS = pytest.mark.parametrize("budget", [1.0, 2.0, 3.677])


@BUDGETS
def test_choosing_by_a_result_stays_within_the_delta(budget):
    price = lambda event: filter_cost(event, Fraction(budget), DELTA, "add_remove")  # noqa: E731
    assert delta_of_choosing(budget, *branches(price, budget)) <= DELTA


@BUDGETS
def test_with_the_price_of_a_fixed_list_it_would_not(budget):
    price = lambda event: cost(event, DELTA, "add_remove")  # noqa: E731
    assert delta_of_choosing(budget, *branches(price, budget)) > 1.05 * DELTA


@pytest.mark.parametrize("epsilon", [0.1, 1, 3, 10, 50])
@pytest.mark.parametrize("count", [2, 20])
def test_it_costs_a_little_more_than_a_fixed_list(epsilon, count):
    sigma = brentq(
        lambda s: float(cost(gaussian_steps(s, 1.0, count), DELTA, "add_remove")) - epsilon,
        0.1,
        999,
    )
    event = gaussian_steps(sigma, 1.0, count)
    fixed = float(cost(event, DELTA, "add_remove"))
    assert fixed < float(filter_cost(event, Fraction(epsilon), DELTA, "add_remove")) < 1.2 * fixed


def test_pure_charges_cost_their_sum():
    ledger = Ledger(1, DELTA, composition="adaptive")
    for _ in range(8):
        ledger.charge(noisy_table("1/8", "add_remove"), scope="", purpose="count")
    assert ledger.spent == 1.0
    with pytest.raises(BudgetError):
        ledger.charge(noisy_table("1/1000", "add_remove"), scope="", purpose="count")


def test_the_first_charge_costs_what_the_accountant_says():
    event = gaussian_steps(2.0, 1.0, 1)
    price = cost(event, DELTA, "add_remove")
    ledger = Ledger(price, DELTA, composition="adaptive")
    ledger.charge(event, scope="a", purpose="fit")
    ledger.charge(event, scope="b", purpose="fit, on other records")
    assert ledger.spent == float(price)
    with pytest.raises(BudgetError):
        ledger.charge(noisy_table("1/1000", "add_remove"), scope="a", purpose="count")


def test_what_has_no_renyi_divergence_is_said():
    ledger = Ledger(9, DELTA, relation="replace_one", composition="adaptive")
    ledger.charge(gaussian_steps(4.0, 0.1, 5), scope="", purpose="fit")
    with pytest.raises(InputError, match="not planned"):
        ledger.charge(gaussian_steps(4.0, 0.1, 5), scope="", purpose="fit")


def test_orders_without_an_answer_are_left_out():
    """Sampled noise has no divergence at low orders."""
    ledger = Ledger(100, DELTA, composition="adaptive")
    for _ in range(2):
        ledger.charge(gaussian_steps(1.0, 0.3, 5), scope="", purpose="fit")
    assert 5 < ledger.spent < 30


def test_the_counter_example_of_the_documentation():
    prices = [
        cost(compose([gaussian(FIRST), other]), DELTA, "add_remove")
        for other in (laplaces(1), gaussian(0.836))
    ]
    assert [float(price) for price in prices] == pytest.approx([3.677, 3.677], abs=1e-3)
    assert delta_of_choosing(3.677, 1.0, 0.836) == pytest.approx(1.99e-5, rel=0.01)


def fits_and_naming(delta):
    """Five fits with two scopes each, more than are tossed, and one that names words in a scope."""
    naming = compose([ThresholdedDpEvent(40.0, delta), step_event(40.0, 1.0)])
    scopes = [(step_event(30.0 + i, 1.0), noisy_table(0.01, "add_remove")) for i in range(5)]
    return compose([*map(OneOfDpEvent, scopes), OneOfDpEvent((naming, scopes[0][1]))])


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_naming_inside_of_alternatives_costs_its_noise(relation):
    spent = filter_cost(fits_and_naming(DELTA / 32), Fraction(3), DELTA, relation)
    assert 0 < spent < 3
    assert spent == filter_cost(fits_and_naming(DELTA / 1000), Fraction(3), DELTA, relation)


@pytest.mark.parametrize(("relation", "part"), [("add_remove", 15), ("replace_one", 31)])
def test_naming_inside_of_alternatives_needs_its_delta(relation, part):
    with pytest.raises(BudgetError, match="undeclared values"):
        filter_cost(fits_and_naming(DELTA / part), Fraction(3), DELTA, relation)
