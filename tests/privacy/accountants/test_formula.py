"""The formula says what the accountant will say, where there is a formula."""

import math

import pytest

from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.accountants.formula import formula_epsilon
from dpfair.privacy.accountants.pld import grid_of
from dpfair.privacy.events import (
    RELATIONS,
    OneOfDpEvent,
    ThresholdedDpEvent,
    compose,
    gaussian_steps,
    noisy_table,
    parts,
    step_event,
)

DELTA = 1e-5


def exact_events(relation):
    table, odd = noisy_table("1/2", relation), noisy_table("0.1234567", relation)
    steps = gaussian_steps(10.0, 1.0, 25, exact=True)
    return {
        "one": step_event(4.0, 1.0),
        "much noise": gaussian_steps(400.0, 1.0, 25),
        "little noise": gaussian_steps(2.0, 1.0, 10),
        "several": compose([steps, step_event(3.0, 1.0), gaussian_steps(60.0, 1.0, 66)]),
        "with a table": compose([steps, table]),
        "with tables": compose([steps, table, odd, odd]),
        "naming": compose([steps, ThresholdedDpEvent(5.0, 1e-6), table]),
    }


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", exact_events("add_remove"))
def test_it_is_what_the_accountant_says(relation, name):
    event = exact_events(relation)[name]
    certified, leaves = epsilon_of(event, DELTA, relation), parts(event)
    on_grid = formula_epsilon(leaves, DELTA, relation, grid=grid_of(leaves))
    assert on_grid == pytest.approx(certified, rel=1e-5)
    # The accountant rounds up, and the formula does not.
    assert formula_epsilon(leaves, DELTA, relation) * (1 - 1e-9) < certified


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("multiplier", "rate", "steps"), [(4.0, 0.05, 1000), (1.5, 0.02, 1000)])
def test_sampled_batches_are_in_the_limit_gaussian(relation, multiplier, rate, steps):
    event = gaussian_steps(multiplier, rate, steps)
    about = formula_epsilon(parts(event), DELTA, relation)
    assert about == pytest.approx(epsilon_of(event, DELTA, relation), rel=0.1)


def test_what_has_no_formula():
    choice = OneOfDpEvent((step_event(2.0, 1.0), step_event(3.0, 1.0)))
    assert formula_epsilon(parts(choice), DELTA, "add_remove") is None
    table = noisy_table(1, "add_remove")
    assert formula_epsilon(parts(table), DELTA, "add_remove") is None  # its cost is exact
    many = {noisy_table(0.1 + i / 1000, "add_remove"): 1 for i in range(20)}
    assert formula_epsilon(many | {step_event(2.0, 1.0): 1}, DELTA, "add_remove") is None


def test_a_cost_without_limit():
    named = compose([step_event(2.0, 1.0), ThresholdedDpEvent(2.0, 1e-4)])
    assert formula_epsilon(parts(named), DELTA, "add_remove") == math.inf
    assert formula_epsilon(parts(step_event(0.01, 1.0)), DELTA, "add_remove") == math.inf
