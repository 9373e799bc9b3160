"""The door where noise meets integers: what was paid, what is asked, and who hears it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfair.errors import InputError, ReceiptError
from dpfair.privacy.draw import Draw
from dpfair.privacy.events import noisy_table, step_event
from dpfair.privacy.grid import grid_variance
from dpfair.privacy.noise import Noise

EXACT, PLAIN = step_event(2.0, 1.0, exact=True), step_event(2.0, 1.0)
ZEROS, UNITS = np.zeros(4, dtype=np.int64), np.array([0.5, 0.01, 0.5, 0.01])


class Listening(Noise):
    """Keeps every question that passes the door."""

    def __init__(self):
        super().__init__(3)
        self.questions = []

    def answer(self, question, noisy):
        self.questions.append(question)
        return super().answer(question, noisy)


def test_every_number_gets_noise_of_its_own_scale():
    noise = Noise(1)
    drawn = np.array([Draw(EXACT, noise).discrete_gaussian(ZEROS, UNITS, 1.5) for _ in range(5000)])
    assert drawn.dtype == np.int64
    scales = np.sqrt([grid_variance(2.0, 1.5, unit) for unit in UNITS.tolist()])
    np.testing.assert_allclose(drawn.std(axis=0), scales, rtol=0.05)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.06
    # In units of the value: what the multiplier promises, the same in all directions.
    np.testing.assert_allclose(UNITS * scales, 3.0, rtol=0.25)


def test_noise_is_added_to_the_value():
    value = np.array([10**15, -(10**15)])
    noisy = Draw(EXACT, Noise(1)).discrete_gaussian(value, np.ones(2), 1.0)
    assert 0 < np.abs(noisy - value).max() < 100


def test_tables_of_numbers_keep_their_shape():
    value = np.zeros((2, 3), dtype=np.int64)
    assert Draw(EXACT, Noise(1)).discrete_gaussian(value, np.ones((2, 3)), 1.0).shape == (2, 3)


def test_the_door_hears_what_an_audit_needs():
    noise = Listening()
    Draw(EXACT, noise, "train").discrete_gaussian(ZEROS, UNITS, 1.5)
    [question] = noise.questions
    assert question.kind == "grid"
    assert question.value is ZEROS
    assert question.units is UNITS
    assert (question.event, question.scope) == (EXACT, "train")
    assert (question.sensitivity, question.noise_multiplier) == (1.5, 2.0)


def test_a_draw_is_used_once():
    draw = Draw(EXACT, Noise(1))
    draw.discrete_gaussian(ZEROS, UNITS, 1.0)
    with pytest.raises(ReceiptError, match="so little"):
        draw.discrete_gaussian(ZEROS, UNITS, 1.0)


def test_the_event_decides_the_arithmetic():
    with pytest.raises(ReceiptError, match="on a grid, not in floating point"):
        Draw(EXACT, Noise(1)).gaussian(np.zeros(2), 1.0)
    for event in (PLAIN, noisy_table(1, "add_remove")):
        with pytest.raises(ReceiptError, match="did not pay for noise on a grid"):
            Draw(event, Noise(1)).discrete_gaussian(ZEROS, UNITS, 1.0)


def test_a_sampled_event_needs_its_batch_first():
    event = step_event(2.0, 0.3, exact=True)
    with pytest.raises(ReceiptError, match="take it before"):
        Draw(event, Noise(1)).discrete_gaussian(ZEROS, UNITS, 1.0)
    draw = Draw(event, Noise(1))
    assert 200 < len(draw.batch(1000)) < 400
    draw.discrete_gaussian(ZEROS, UNITS, 1.0)


class OnlyExact(Noise):
    poisson_batch = None


class OnlyFloating(Noise):
    exact_batch = None


def test_exact_events_sample_with_exact_coins():
    Draw(step_event(2.0, 0.3, exact=True), OnlyExact(1)).batch(10)
    Draw(step_event(2.0, 0.3), OnlyFloating(1)).batch(10)


@pytest.mark.parametrize("units", [np.ones(3), np.array([1, 1, 0, 1.0]), -UNITS, UNITS * math.nan])
def test_every_number_needs_a_positive_unit(units):
    with pytest.raises(ReceiptError):
        Draw(EXACT, Noise(1)).discrete_gaussian(ZEROS, units, 1.0)


def test_floats_are_no_integers():
    with pytest.raises(ReceiptError, match="integers"):
        Draw(EXACT, Noise(1)).discrete_gaussian(np.zeros(4), UNITS, 1.0)


@pytest.mark.parametrize("sensitivity", [0, -1, math.nan, math.inf])
def test_a_sensitivity_must_be_positive(sensitivity):
    with pytest.raises(ReceiptError, match="sensitivity"):
        Draw(EXACT, Noise(1)).discrete_gaussian(ZEROS, UNITS, sensitivity)


def test_too_fine_a_grid_is_refused():
    with pytest.raises(InputError, match="coarser"):
        Draw(EXACT, Noise(1)).discrete_gaussian(ZEROS, np.full(4, 1e-30), 1.0)
