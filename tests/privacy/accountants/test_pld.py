"""Privacy loss distributions against exact formulas and integration."""

import math

import pytest
from dp_accounting.dp_event import ComposedDpEvent
from dp_accounting.pld import privacy_loss_distribution as pld
from privacy.accountants.references import DELTA, exact_gaussian, exact_one_step, spent

from dpfair.errors import InputError
from dpfair.privacy.accountants import epsilon
from dpfair.privacy.events import RELATIONS, compose, gaussian_steps, noisy_table, step_event


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


def test_a_delta_below_the_arithmetic_is_refused():
    with pytest.raises(InputError, match="no finite answer"):
        epsilon(gaussian_steps(1.0, 0.01, 100_000), 1e-15)
