"""The entries of a ledger, run again: within their claims, with the noise that they paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from trust.broken_noise import BATCH, GRID, LAPLACE, NORMALS, broken

from dpfair.audit.distinguish import Listening, distinguish
from dpfair.audit.entries import entry_mechanisms, losses, sharp_delta
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import (
    OneOfDpEvent,
    ThresholdedDpEvent,
    best_of_runs,
    compose,
    gaussian_steps,
    noisy_table,
    step_event,
)
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise

EVENTS = {
    "full batches": lambda relation: gaussian_steps(8.0, 1.0, 50),
    "Poisson batches": lambda relation: gaussian_steps(1.0, 0.05, 60),
    "exact Poisson batches": lambda relation: gaussian_steps(1.0, 0.05, 60, exact=True),
    "two kinds of steps": lambda relation: compose(
        [gaussian_steps(4.0, 1.0, 3), gaussian_steps(3.0, 1.0, 2, exact=True)]
    ),
    "steps and a table": lambda relation: compose([step_event(2.0, 1.0), noisy_table(1, relation)]),
    "a table": lambda relation: noisy_table("1.5", relation),
    "words": lambda relation: ThresholdedDpEvent(2.0, 1e-7),
    "exact counts and words": lambda relation: compose(
        [step_event(2.0, 1.0, exact=True), ThresholdedDpEvent(3.0, 1e-7)]
    ),
    "the best of runs": lambda relation: best_of_runs(
        [noisy_table(1, relation), step_event(2.0, 1.0)], 2.0, 0.0
    ),
}


def entry_of(event, relation="add_remove"):
    ledger = Ledger(50, 1e-5, relation=relation)
    ledger.charge(event, scope="train", purpose="something")
    return ledger.entries[0]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("name", EVENTS)
def test_an_entry_stays_within_its_claim_and_shows_much_of_it(name, relation):
    entry = entry_of(EVENTS[name](relation), relation)
    mechanisms = entry_mechanisms(entry, relation)
    assert (mechanisms[0].epsilon, mechanisms[0].delta) == (entry.epsilon, entry.delta)
    samples = 2000 if name == "the best of runs" else 6000
    findings = [distinguish(m, samples, Listening(1)) for m in mechanisms]
    assert not any(finding.exceeds for finding in findings)
    if name != "the best of runs":  # whose price has much to spare
        sharpest = max(finding.shown.epsilon / finding.epsilon for finding in findings)
        # Counts of words have more noise than they pay for, because they are whole numbers.
        assert sharpest > (0.1 if "words" in name else 0.35)


def test_noise_is_tested_where_sampling_sees_it():
    event = gaussian_steps(8.0, 1.0, 50)
    assert sharp_delta(event, "add_remove") == 0.1
    small = gaussian_steps(70.0, 1.0, 100)
    assert epsilon_of(small, 0.03, "add_remove") >= 0.05 > epsilon_of(small, 0.04, "add_remove")
    assert sharp_delta(small, "add_remove") == 0.03
    assert sharp_delta(step_event(1000.0, 1.0), "add_remove") is None
    [stated, sharp] = entry_mechanisms(entry_of(event), "add_remove")
    assert (stated.delta, sharp.delta) == (1e-5, 0.1)
    assert [m.delta for m in entry_mechanisms(entry_of(noisy_table(1, "add_remove")), "")] == [0]


LESS = {
    "normals": lambda self, count: 0.6 * NORMALS(self, count),
    "discrete_laplace": lambda self, parameter, size: LAPLACE(
        self, parameter * Fraction(5, 3), size
    ),
    "discrete_gaussian": lambda self, variance, size: GRID(self, variance // 3, size),
    "poisson_batch": lambda self, population, rate: BATCH(self, population, 5 * rate),
}


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("full batches", "normals"),
        ("Poisson batches", "normals"),
        ("Poisson batches", "poisson_batch"),
        ("exact Poisson batches", "discrete_gaussian"),
        ("words", "discrete_gaussian"),
        pytest.param("a table", "discrete_laplace", marks=pytest.mark.slow),
    ],
)
def test_less_noise_than_the_entry_says_is_caught(name, drawn):
    less = broken(**{drawn: LESS[drawn]})
    mechanisms = entry_mechanisms(entry_of(EVENTS[name]("add_remove")), "add_remove")
    assert any(distinguish(m, 20_000, less(1)).failed for m in mechanisms)


@pytest.mark.parametrize("exact", [False, True])
def test_half_of_the_noise_of_a_small_budget_is_caught(exact):
    """Epsilon 0.5 at delta 1e-5, where sampling sees nothing."""
    entry = entry_of(gaussian_steps(7.03, 1.0, 1, exact=exact))
    assert entry.epsilon == pytest.approx(0.5, abs=0.01)
    mechanisms = entry_mechanisms(entry, "add_remove")
    assert not any(distinguish(m, 20_000, Listening(1)).exceeds for m in mechanisms)
    half = broken(
        normals=lambda self, count: 0.5 * NORMALS(self, count),
        discrete_gaussian=lambda self, variance, size: GRID(self, variance // 4, size),
    )
    assert [distinguish(m, 20_000, half(1)).failed for m in mechanisms] == [False, True]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_word_that_one_record_alone_has_must_not_be_named(relation, monkeypatch):
    mechanisms = entry_mechanisms(entry_of(ThresholdedDpEvent(20.0, 1e-7), relation), relation)
    assert not any(distinguish(m, 6000, Listening(1)).exceeds for m in mechanisms)
    monkeypatch.setattr("dpfair.privacy.draw.naming_threshold", lambda variance, delta: 1)
    assert all(distinguish(m, 6000, Listening(1)).failed for m in mechanisms)


def test_a_charge_of_one_group_moves_one_cell_under_either_relation():
    """With public sizes each group has a charge of its own, priced for one cell."""
    entry = entry_of(noisy_table(1, "add_remove"), "replace_one")
    [mechanism] = entry_mechanisms(entry, "replace_one")
    assert not distinguish(mechanism, 6000, Listening(1)).exceeds


def test_the_ratio_of_a_gaussian_is_normal_with_the_variance_of_the_loss():
    """Log-likelihood ratios of N(0, m^2) and N(1, m^2) have mean -+1/(2 m^2) and variance 1/m^2."""
    noise = Noise(3)
    for moved, sign in ((0.0, -1), (1.0, 1)):
        loss = losses(gaussian_steps(2.0, 1.0, 4), np.full(20_000, moved), noise, "add_remove")
        assert loss.mean() == pytest.approx(sign * 4 / 8, abs=0.03)
        assert loss.var() == pytest.approx(4 / 4, rel=0.05)


def test_a_choice_of_events_is_a_mixture():
    one_of = OneOfDpEvent((noisy_table(1, "add_remove"), noisy_table(3, "add_remove")))
    values = losses(one_of, np.ones(2000), Noise(4), "add_remove")
    share = np.mean(np.abs(values) == 3)
    assert set(np.abs(values)) == {1.0, 3.0}
    assert 0.45 < share < 0.55
