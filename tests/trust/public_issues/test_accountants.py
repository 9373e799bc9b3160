"""Bugs of accountants."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpfair import InputError, Ledger, epsilons
from dpfair.privacy.accountants import epsilon
from dpfair.privacy.events import gaussian_steps, noisy_table


def exact_gaussian_epsilon(sigma, delta):
    """Balle and Wang (2018): the exact epsilon of one Gaussian mechanism."""

    def excess(eps):
        a, b = 1 / (2 * sigma) - eps * sigma, -1 / (2 * sigma) - eps * sigma
        return norm.cdf(a) - math.exp(eps + norm.logcdf(b)) - delta

    return brentq(excess, 0, 1000)


def test_synthcity_276_the_accountant_underestimates():
    """An index in the moments accountant was one too low, and so was every epsilon."""
    for sigma in (1.0, 3.0, 20.0):
        for steps in (1, 25):
            exact = exact_gaussian_epsilon(sigma / math.sqrt(steps), 1e-5)
            for name, found in epsilons(gaussian_steps(sigma, 1.0, steps), 1e-5).items():
                if found.is_bound:
                    assert found.epsilon >= exact, name
            assert epsilon(gaussian_steps(sigma, 1.0, steps), 1e-5).epsilon <= exact * 1.02


def test_opacus_384_gdp_underestimates():
    """The central limit theorem gives no upper bound, but its epsilon was reported as one."""
    found = epsilons(gaussian_steps(0.6, 0.001, 400), 1e-5)
    assert found["gdp"].epsilon < found["pld"].epsilon
    assert not found["gdp"].is_bound
    ledger = Ledger(10, 1e-5)
    ledger.charge(gaussian_steps(0.6, 0.001, 400), scope="", purpose="p")
    assert ledger.spent >= found["pld"].epsilon > found["gdp"].epsilon


def test_opacus_585_a_negative_epsilon():
    """With much noise the accountant answered with an epsilon below zero."""
    for sigma in (1e2, 1e4, 1e6):
        for found in epsilons(gaussian_steps(sigma, 0.001, 3), 1e-5).values():
            assert found.epsilon >= 0
        ledger = Ledger(1, 1e-5)
        ledger.charge(gaussian_steps(sigma, 0.001, 3), scope="", purpose="p")
        assert ledger.spent > 0


def test_tensorflow_privacy_166_small_is_not_zero():
    """At an order near one a small divergence was rounded to an epsilon of exactly zero."""
    few, more = (epsilon(gaussian_steps(1.0, 0.00105, s), 1e-3).epsilon for s in (1, 300))
    assert 0 < few < more


@pytest.mark.parametrize("event", [(0.2, 1.0, 10), (0.05, 0.7, 400), (0.3, 1.2, 60)])
def test_prv_accountant_36_no_answer_near_epsilon_seven(event):
    """The discretised mean was off for ordinary parameters, and the accountant gave up."""
    rate, sigma, steps = event
    pld = epsilon(gaussian_steps(sigma, rate, steps), 1e-5).epsilon
    rdp = epsilon(gaussian_steps(sigma, rate, steps), 1e-5, accountant="rdp").epsilon
    assert 2 < pld <= rdp < 2 * pld


def test_prv_accountant_17_a_tiny_delta():
    """Between delta = 1.13e-18 and 1.1e-18 the answer fell from 3.8 to 0.056."""
    answers = []
    for delta in (1e-6, 1e-10, 1.13e-18, 1.1e-18):
        try:
            answers.append(epsilon(gaussian_steps(4.0, 0.00033, 10_000), delta).epsilon)
        except InputError:
            answers.append(math.inf)  # no answer is an honest one
    assert answers == sorted(answers)
    assert answers[0] > 0


def test_opacus_535_asking_takes_away():
    """Asking for epsilon popped a step from the history, so the next answer was smaller."""
    ledger = Ledger(3, 1e-5)
    ledger.charge(gaussian_steps(2.0, 0.1, 30), scope="", purpose="p")
    ledger.charge(noisy_table("0.2", "add_remove"), scope="", purpose="q")
    answers = {(ledger.spent, len(ledger.entries), str(ledger.to_json())) for _ in range(3)}
    assert len(answers) == 1
