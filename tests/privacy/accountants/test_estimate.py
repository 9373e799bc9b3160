"""The estimate for sampled batches is close to what the accountant says."""

import pytest

from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.accountants.estimate import estimated_epsilon
from dpfair.privacy.events import (
    RELATIONS,
    OneOfDpEvent,
    compose,
    gaussian_steps,
    noisy_table,
    parts,
)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("noise", "rate", "steps", "delta"),
    [
        *((17.34, 0.0453, 1150, 1e-5), (1.09, 0.0453, 1150, 1e-5), (0.8, 0.01, 3000, 1e-6)),
        *((0.6, 0.2, 50, 1e-5), (2.0, 0.5, 1, 1e-9), (1.0, 1e-4, 100_000, 1e-6)),
        (0.5, 0.9, 60, 1e-5),  # losses whose exponentials overflow
    ],
)
def test_as_the_accountant_says(noise, rate, steps, delta, relation):
    event = gaussian_steps(noise, rate, steps)
    found = estimated_epsilon(parts(event), delta, relation)
    assert found == pytest.approx(epsilon_of(event, delta, relation), rel=1e-5)


@pytest.mark.parametrize("relation", RELATIONS)
def test_several_mechanisms(relation):
    tables = [noisy_table(1, relation), noisy_table("0.2", relation)]
    event = compose([gaussian_steps(2.0, 0.1, 100), gaussian_steps(5.0, 1.0, 20), *tables])
    found = estimated_epsilon(parts(event), 1e-5, relation)
    assert found == pytest.approx(epsilon_of(event, 1e-5, relation), rel=1e-5)


def test_a_cost_of_hardly_anything():
    assert estimated_epsilon(parts(gaussian_steps(1e6, 1e-6, 1)), 1e-5, "add_remove") == 0


def test_only_for_sampled_batches_beside_gaussians_and_tables():
    table = noisy_table(1, "add_remove")
    choice = OneOfDpEvent((table, gaussian_steps(2.0, 1.0, 1)))
    sampled = gaussian_steps(2.0, 0.1, 10)
    for event in (gaussian_steps(2.0, 1.0, 10), table, compose([sampled, choice])):
        assert estimated_epsilon(parts(event), 1e-5, "add_remove") is None
