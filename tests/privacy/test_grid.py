"""Noise on a grid costs what the Gaussian of its multiplier costs: the proof in numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from privacy.accountants.references import gaussian_delta
from scipy.stats import norm

from dpfair.errors import InputError
from dpfair.privacy import grid
from dpfair.privacy.accountants import ACCOUNTANTS, epsilon, epsilons
from dpfair.privacy.events import RELATIONS, GridGaussianDpEvent, gaussian_steps, step_event
from dpfair.privacy.grid import grid_variance

DELTA = 1e-5


def law(variance, shift=0, reach=None):
    """The discrete Gaussian around a whole number, on the same values for every shift."""
    reach = reach or math.ceil(30 * math.sqrt(variance))
    weights = np.exp(-((np.arange(-reach, reach + 1.0) - shift) ** 2) / (2 * float(variance)))
    return weights / math.fsum(weights)


def hockey_stick(p, q, eps):
    return math.fsum(np.maximum(p - math.exp(eps) * q, 0).ravel())


# --- the variance -----------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "c", "unit"), [(20.3, 0.4, 2.0**-27), (0.1, 1.5, 0.3), (7, 1, 1)])
def test_the_variance_is_whole_and_never_below_what_is_paid(m, c, unit):
    paid = (Fraction(m) * Fraction(c) / Fraction(unit)) ** 2
    variance = grid_variance(m, c, unit)
    assert type(variance) is int
    assert paid + 16 <= variance < paid + 17


def test_a_grid_that_is_too_fine_is_refused():
    with pytest.raises(InputError, match="coarser grid"):
        grid_variance(1e10, 1.0, 1e-10)


# --- the proof --------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.4, 0.5, 0.7])
@pytest.mark.parametrize(("sigma", "shift"), [(0.1, 0), (0.3, 2)])
def test_a_rounded_gaussian_is_a_discrete_gaussian_up_to_the_stated_factor(tau, sigma, shift):
    """By integration over the continuous value; tau is small here, to see the deviation."""
    z, step = np.linspace(shift - 20 * sigma, shift + 20 * sigma, 20_001, retstep=True)
    x = np.arange(-15, 16)
    weights = np.exp(-((x[:, None] - z) ** 2) / (2 * tau**2))
    rounded = (norm.pdf(z, shift, sigma) * weights / weights.sum(axis=0)).sum(axis=1) * step
    near = np.abs(x - shift) <= 3
    ratio = rounded[near] / law(sigma**2 + tau**2, shift, reach=15)[near]
    eta = 2.1 * math.exp(-2 * math.pi**2 * tau**2)
    assert np.abs(np.log(ratio)).max() <= math.log((1 + eta) / (1 - eta))
    assert np.abs(np.log(ratio)).max() > eta / 100  # seen, not lost in rounding


def test_the_factor_is_beyond_all_rounding():
    eta = 2.1 * math.exp(-2 * math.pi**2 * grid._EXTRA_VARIANCE)
    assert 0 < eta < 1e-136


EPSILONS = np.concatenate([[0.0], np.geomspace(0.01, 8, 40)])


@pytest.mark.parametrize("paid", [0.3, 0.7, 1.5, 4.0, 40.0])
@pytest.mark.parametrize("moved", [1, 3])
def test_one_number_is_protected_as_by_the_gaussian(paid, moved):
    """The exact delta at every epsilon, for noise of a few steps and a record that moves few."""
    variance = grid_variance(paid / moved, moved, 1.0)
    p, q = law(variance, moved), law(variance)
    for eps in EPSILONS:
        bound = gaussian_delta(moved / paid, eps)
        assert hockey_stick(p, q, eps) <= bound * (1 + 1e-9) + 1e-13
        assert hockey_stick(q, p, eps) <= bound * (1 + 1e-9) + 1e-13


def test_without_the_extra_variance_a_coarse_grid_would_leak_more():
    """The discrete Gaussian of the paid variance alone is no bound: the extra is needed."""
    p, q = law(0.5**2, 1), law(0.5**2)
    excess = [hockey_stick(p, q, eps) - gaussian_delta(2.0, eps) for eps in EPSILONS]
    assert max(excess) > 0.01


def test_two_numbers_with_units_of_their_own():
    units, multiplier, clip = np.array([0.25, 0.7]), 1.2, 1.0
    moved = np.array([2, 1])
    assert np.sum((units * moved) ** 2) <= clip**2
    laws = [[law(grid_variance(multiplier, clip, u), v) for v in (v, 0)]
            for u, v in zip(units, moved, strict=True)]  # fmt: skip
    p, q = (np.outer(laws[0][i], laws[1][i]) for i in (0, 1))
    for eps in EPSILONS[::4]:
        assert hockey_stick(p, q, eps) <= gaussian_delta(1 / multiplier, eps) + 1e-13


@pytest.mark.parametrize("q", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_accountants_epsilon_holds_for_a_sampled_step(q, relation):
    """And is nearly reached on a fine grid, where 2 % less noise would exceed it."""
    multiplier, step = 0.8, 400
    eps = epsilon(step_event(multiplier, q, exact=True), DELTA, relation=relation).epsilon

    def delta(variance):
        nobody, one = law(variance), (1 - q) * law(variance) + q * law(variance, step)
        other = (1 - q) * nobody + q * law(variance, -step)
        pairs = [(one, nobody), (nobody, one)] if relation == "add_remove" else [(one, other)]
        return max(hockey_stick(*pair, eps) for pair in pairs)

    assert 0.9 * DELTA < delta(grid_variance(multiplier, step, 1.0)) <= DELTA
    assert delta(grid_variance(multiplier * 0.98, step, 1.0)) > DELTA


@pytest.mark.parametrize("q", [0.01, 0.3, 1.0])
@pytest.mark.parametrize(("scale", "moved"), [(1.0, 1), (3.0, 2), (40.0, 30)])
def test_moments_of_whole_orders_are_those_of_the_gaussian(q, scale, moved):
    """Canonne, Kamath and Steinke: a second proof, for Renyi divergences of whole orders.

    Around a whole shift k v the lattice sum is the same, so the moments agree exactly, and with
    them the binomial expansion for Poisson batches; the other direction is no larger.
    """
    orders = [2, 3, 5, 8]
    event = step_event(scale / moved, q, exact=True)
    claimed = RdpAccountant(orders).compose(event).rdp
    reach = math.ceil(60 * scale) + 20 * moved
    x = np.arange(-reach, reach + 1.0)
    log_nobody = -(x**2) / (2 * scale**2) - math.log(np.exp(-(x**2) / (2 * scale**2)).sum())
    log_ratio = (2 * x * moved - moved**2) / (2 * scale**2)
    if q < 1:
        log_ratio = np.logaddexp(math.log1p(-q), math.log(q) + log_ratio)
    for order, bound in zip(orders, claimed, strict=True):
        there = np.exp(log_nobody + order * log_ratio).sum()
        back = np.exp(log_nobody + (1 - order) * log_ratio).sum()
        assert math.log(there) / (order - 1) == pytest.approx(bound, rel=1e-6)
        assert math.log(back) / (order - 1) <= bound * (1 + 1e-6)


# --- the price --------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.05, 1.0])
def test_every_accountant_prices_it_as_the_gaussian(q):
    exact, plain = (gaussian_steps(3.0, q, 20, exact=flag) for flag in (True, False))
    assert exact != plain
    answers = epsilons(exact, DELTA)
    assert set(answers) == set(ACCOUNTANTS)
    assert answers == epsilons(plain, DELTA)
    assert epsilon(exact, DELTA, relation="replace_one") == epsilon(
        plain, DELTA, relation="replace_one"
    )


def test_it_is_an_event_of_its_own():
    assert GridGaussianDpEvent(2.0) != step_event(2.0, 1.0)
    assert GridGaussianDpEvent(2.0) == step_event(2.0, 1.0, exact=True)
    assert len({GridGaussianDpEvent(2.0), step_event(2.0, 1.0), GridGaussianDpEvent(2.0)}) == 2
