"""Every accountant against published numbers, and what all of them refuse."""

import math

import pytest
from dp_accounting.dp_event import ComposedDpEvent
from privacy.accountants.references import DELTA, PUBLISHED, spent

from dpfair.errors import InputError
from dpfair.privacy import accountants
from dpfair.privacy.accountants import ACCOUNTANTS, calibrate, epsilon, epsilons
from dpfair.privacy.events import compose, gaussian_steps, noisy_table, step_event


@pytest.mark.parametrize(("std", "q", "steps", "expected"), PUBLISHED)
def test_every_published_noise_level(std, q, steps, expected):
    answers = epsilons(gaussian_steps(std / 1.5, q, steps), DELTA)
    assert set(answers) == set(expected)
    for name, value in expected.items():
        assert answers[name].epsilon == pytest.approx(value, abs=0.02), name
        assert answers[name].delta == DELTA
        assert answers[name].accountant == name


def test_the_other_accountants_add_pure_costs():
    training, table = gaussian_steps(2.0, 0.05, 100), noisy_table("0.5", "add_remove")
    for name in ("rdp", "prv", "gdp"):
        together = spent(compose([training, table]), accountant=name)
        assert together == pytest.approx(spent(training, accountant=name) + 0.5, abs=1e-9)
        assert spent(table, accountant=name) == pytest.approx(0.5)


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
        calibrate(bad, DELTA, 0.1, 10)
    with pytest.raises(InputError):
        calibrate(1.0, bad, 0.1, 10)
    with pytest.raises(InputError):
        calibrate(1.0, DELTA, bad, 10)
    with pytest.raises(InputError):
        calibrate(1.0, DELTA, 0.1, bad)


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


def test_the_table_is_keyed_by_name_and_documented():
    assert all(row.name == name for name, row in ACCOUNTANTS.items())
    assert all(f"``{name}``" in accountants.__doc__ for name in ACCOUNTANTS)
