"""Accountants against published numbers, exact formulas and each other."""

import math

import numpy as np
import pytest
from dp_accounting.dp_event import ComposedDpEvent
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import norm

from dpfair.errors import InputError
from dpfair.privacy import accountants
from dpfair.privacy.accountants import ACCOUNTANTS, epsilon, epsilons
from dpfair.privacy.events import RELATIONS, compose, gaussian_steps, noisy_table, step_event

DELTA = 1e-5

# The published noise levels: standard deviation (clip 1.5), q, T, and the four answers.
PUBLISHED = [
    (3.13, 0.034, 1500, {"pld": 2.831, "rdp": 3.082, "gdp": 2.765, "prv": 2.842}),
    (3.27, 0.034, 1500, {"pld": 2.677, "rdp": 2.914, "gdp": 2.617, "prv": 2.687}),
    (3.01, 0.034, 1500, {"pld": 2.979, "rdp": 3.242, "gdp": 2.906, "prv": 2.989}),
    (1.50, 0.034, 1500, {"pld": 8.818, "rdp": 9.620, "gdp": 8.351, "prv": 8.828}),
    (1.56, 0.034, 1500, {"pld": 8.178, "rdp": 8.920, "gdp": 7.756, "prv": 8.188}),
    (1.45, 0.034, 1500, {"pld": 9.430, "rdp": 10.296, "gdp": 8.922, "prv": 9.441}),
    (4.44, 0.0683, 750, {"pld": 2.735, "rdp": 2.977, "gdp": 2.678, "prv": 2.745}),
    (4.65, 0.0683, 750, {"pld": 2.586, "rdp": 2.815, "gdp": 2.534, "prv": 2.596}),
    (4.30, 0.0683, 750, {"pld": 2.844, "rdp": 3.095, "gdp": 2.782, "prv": 2.854}),
    (2.49, 0.0683, 1500, {"pld": 8.678, "rdp": 9.377, "gdp": 8.489, "prv": 8.688}),
    (2.60, 0.0683, 1500, {"pld": 8.152, "rdp": 8.812, "gdp": 7.979, "prv": 8.163}),
    (2.43, 0.0683, 1500, {"pld": 8.993, "rdp": 9.718, "gdp": 8.796, "prv": 9.004}),
]

GRID = [(s, q, t) for s in (0.8, 2.0, 6.0) for q in (0.005, 0.1, 1.0) for t in (20,)]


def spent(event, delta=DELTA, **how):
    return epsilon(event, delta, **how).epsilon


def gaussian_delta(mu, eps):
    """Balle and Wang (2018), Theorem 8: the exact delta of a Gaussian of sensitivity mu sigma."""
    first = log_ndtr(mu / 2 - eps / mu)
    second = eps + log_ndtr(-mu / 2 - eps / mu)
    return math.exp(first) * -math.expm1(second - first)


def exact_gaussian(mu, delta):
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    top = 1.0
    while gaussian_delta(mu, top) > delta:
        top *= 2
    return brentq(lambda e: gaussian_delta(mu, e) - delta, 0, top, xtol=1e-12)


def exact_one_step(sigma, q, relation, delta):
    """One Poisson-sampled Gaussian, by plain integration of the hockey-stick divergence."""
    x, step = np.linspace(-20 * sigma, 20 * sigma, 100_001, retstep=True)
    nobody = norm.pdf(x, 0, sigma)
    mixture = (1 - q) * nobody + q * norm.pdf(x, 1, sigma)
    other = (1 - q) * nobody + q * norm.pdf(x, -1, sigma)
    pairs = {
        "add_remove": [(mixture, nobody), (nobody, mixture)],
        "replace_one": [(mixture, other)],
    }[relation]

    def excess(eps):
        return max(np.maximum(p - math.exp(eps) * r, 0).sum() for p, r in pairs) * step - delta

    return brentq(excess, 0, 60, xtol=1e-9) if excess(0) > 0 else 0.0


@pytest.mark.parametrize(("std", "q", "steps", "expected"), PUBLISHED)
def test_every_published_noise_level(std, q, steps, expected):
    answers = epsilons(gaussian_steps(std / 1.5, q, steps), DELTA)
    assert set(answers) == set(expected)
    for name, value in expected.items():
        assert answers[name].epsilon == pytest.approx(value, abs=0.02), name
        assert answers[name].delta == DELTA
        assert answers[name].accountant == name


@pytest.mark.parametrize(("std", "q", "steps", "expected"), PUBLISHED)
def test_central_limit_accountant_is_no_bound_and_says_so(std, q, steps, expected):
    event = gaussian_steps(std / 1.5, q, steps)
    limit = epsilon(event, DELTA, accountant="gdp")
    assert not limit.is_bound
    assert limit.epsilon < spent(event)
    assert epsilon(event, DELTA).is_bound


def test_central_limit_accountant_is_exact_for_full_batches():
    event = gaussian_steps(20.0, 1.0, 100)
    assert spent(event, accountant="gdp") == pytest.approx(exact_gaussian(0.5, DELTA), rel=1e-6)


@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9, 1e-14])
@pytest.mark.parametrize("mu", [0.05, 0.5, 1.6, 5.0])
@pytest.mark.parametrize("steps", [1, 200])
def test_pld_is_never_below_the_exact_gaussian(mu, steps, delta):
    event = gaussian_steps(math.sqrt(steps) / mu, 1.0, steps)
    exact = exact_gaussian(mu, delta)
    assert exact <= spent(event, delta) <= exact * 1.002 + 1e-4


@pytest.mark.parametrize("delta", [1e-5, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("mu", [0.5, 1.58113883, 3.0])
@pytest.mark.parametrize("steps", [10, 1000, 10_000])
def test_rounding_of_the_composition_is_covered(mu, steps, delta):
    """Issue class prv_accountant#17: composed by Fourier transforms, small deltas came out low.

    A sampling rate of almost one takes the path of composition and has an exact answer.
    """
    try:
        found = spent(gaussian_steps(math.sqrt(steps) / mu, 1 - 1e-12, steps), delta)
    except InputError:
        assert steps * 2**-52 >= delta
    else:
        assert found >= exact_gaussian(mu, delta)


def test_an_optimistic_discretisation_would_be_caught():
    loose = pld.from_gaussian_mechanism(
        1 / 1.6, pessimistic_estimate=False, value_discretization_interval=1e-2
    )
    assert loose.get_epsilon_for_delta(DELTA) < exact_gaussian(1.6, DELTA)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("sigma", "q"), [(0.7, 0.3), (1.0, 0.05), (2.0, 0.5)])
def test_one_sampled_step_against_integration(sigma, q, relation):
    exact = exact_one_step(sigma, q, relation, DELTA)
    found = spent(step_event(sigma, q), relation=relation)
    assert exact - 1e-7 <= found <= exact * 1.01 + 1e-3


@pytest.mark.parametrize(("sigma", "q", "steps"), GRID)
def test_renyi_is_above_pld(sigma, q, steps):
    event = gaussian_steps(sigma, q, steps)
    assert spent(event, accountant="rdp") >= spent(event)


@pytest.mark.parametrize("relation", RELATIONS)
def test_monotone_in_rate_steps_and_noise(relation):
    def cost(sigma=2.0, q=0.05, steps=100):
        return spent(gaussian_steps(sigma, q, steps), relation=relation)

    for costs in (
        [cost(q=q, steps=10) for q in (0.01, 0.03, 0.1, 0.3, 0.9, 0.999999, 1.0)],
        [cost(steps=t) for t in (1, 3, 10, 100, 101)],
        [cost(sigma=s) for s in (20.0, 7.0, 3.0, 2.0, 1.9)],
    ):
        assert costs == sorted(costs)
        assert costs[0] < costs[-1]


def test_smaller_delta_costs_more():
    event = gaussian_steps(2.0, 0.05, 100)
    costs = [spent(event, delta) for delta in (1e-3, 1e-5, 1e-7, 1e-9)]
    assert costs == sorted(costs)


def test_one_composition_is_tighter_than_adding():
    training = gaussian_steps(3.13 / 1.5, 0.034, 1500)
    one = noisy_table(2, "add_remove")
    ten = compose([noisy_table("0.2", "add_remove")] * 10)
    assert max(spent(training), 2) < spent(compose([training, one])) < spent(training) + 2
    assert spent(compose([training, ten])) < spent(training) + 2 - 0.3


def test_the_other_accountants_add_pure_costs():
    training, table = gaussian_steps(2.0, 0.05, 100), noisy_table("0.5", "add_remove")
    for name in ("rdp", "prv", "gdp"):
        together = spent(compose([training, table]), accountant=name)
        assert together == pytest.approx(spent(training, accountant=name) + 0.5, abs=1e-9)
        assert spent(table, accountant=name) == pytest.approx(0.5)


def test_pure_events_cost_at_most_their_epsilon():
    for eps in ("0.01", "0.3", "5"):
        value = spent(noisy_table(eps, "add_remove"))
        assert float(eps) * 0.99 < value <= math.nextafter(float(eps), math.inf)
    ten = ComposedDpEvent([noisy_table("0.1", "add_remove")] * 10)
    assert spent(ten) < 1


@pytest.mark.parametrize("q", [0.02, 1.0])
def test_replacing_costs_more_than_removing(q):
    event = gaussian_steps(3.0, q, 50)
    assert spent(event, relation="replace_one") > 1.2 * spent(event)


def test_replacing_doubles_the_contribution_of_a_full_batch():
    event = gaussian_steps(10.0, 1.0, 25)
    exact = exact_gaussian(1.0, DELTA)
    assert exact <= spent(event, relation="replace_one") <= exact * 1.001


@pytest.mark.parametrize("name", ["rdp", "prv", "gdp"])
def test_only_pld_knows_replacement(name):
    """Each of these would silently answer for add/remove, at half the sensitivity."""
    event = gaussian_steps(2.0, 1.0, 10)
    with pytest.raises(InputError, match=name):
        epsilon(event, DELTA, relation="replace_one", accountant=name)
    assert set(epsilons(event, DELTA, relation="replace_one")) == {"pld"}


@pytest.mark.parametrize("name", ACCOUNTANTS)
@pytest.mark.parametrize(("sigma", "q", "steps"), [(2.0, 1.0, 1), (300.0, 0.001, 1)])
def test_finite_and_positive(sigma, q, steps, name):
    """Issue class opacus#585 (negative epsilon) and tf-privacy#166 (zero)."""
    value = spent(gaussian_steps(sigma, q, steps), accountant=name)
    assert value > 0
    assert math.isfinite(value)


def test_the_answer_is_rounded_up(monkeypatch):
    monkeypatch.setitem(ACCOUNTANTS, "pld", (lambda *_: 1.0, True))
    assert spent(step_event(1.0, 1.0)) > 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_no_answer_is_an_error(monkeypatch, value):
    """Issue class mlforhealthlabpub#38: a NaN epsilon must not pass any comparison."""
    monkeypatch.setitem(ACCOUNTANTS, "pld", (lambda *_: value, True))
    with pytest.raises(InputError, match="no finite answer"):
        epsilon(step_event(1.0, 1.0), DELTA)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0, -1, -0.0])
def test_bad_numbers_are_refused(bad):
    event = step_event(1.0, 1.0)
    with pytest.raises(InputError):
        gaussian_steps(bad, 0.1, 10)
    with pytest.raises(InputError):
        gaussian_steps(1.0, bad, 10)
    with pytest.raises(InputError):
        gaussian_steps(1.0, 0.1, bad)
    with pytest.raises(InputError):
        epsilon(event, bad)
    with pytest.raises(InputError):
        accountants.calibrate(bad, DELTA, 0.1, 10)
    with pytest.raises(InputError):
        accountants.calibrate(1.0, bad, 0.1, 10)
    with pytest.raises(InputError):
        accountants.calibrate(1.0, DELTA, bad, 10)
    with pytest.raises(InputError):
        accountants.calibrate(1.0, DELTA, 0.1, bad)


def test_out_of_range_parameters_are_refused():
    event = step_event(1.0, 1.0)
    for call in (
        lambda: gaussian_steps(1.0, 1.5, 10),
        lambda: gaussian_steps(1.0, 0.5, 2.5),
        lambda: epsilon(event, 1.0),
        lambda: epsilon(event, DELTA, relation="swap"),
        lambda: epsilon(event, DELTA, accountant="moments"),
        lambda: epsilon(ComposedDpEvent([]), DELTA),
    ):
        with pytest.raises(InputError):
            call()


def test_a_delta_below_the_arithmetic_is_refused():
    with pytest.raises(InputError, match="no finite answer"):
        epsilon(gaussian_steps(1.0, 0.01, 100_000), 1e-15)
