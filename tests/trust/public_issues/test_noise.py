"""Bugs of noise: its size, the clipping before it, and the numbers that it meets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from trust.public_issues.asking import (
    EXTREME,
    asked,
    fair,
    first_sum,
    loans,
    one_step,
    sums,
    with_rows,
)

from dpfair import Ledger, Noise, Schema, epsilons
from dpfair.data.columns import Levels, Numeric
from dpfair.privacy.events import gaussian_steps, noisy_table, step_event

# Sensitivity


@pytest.mark.parametrize("bounds", [(0, 100), (-100, 0), (-1, 1000)])
def test_diffprivlib_105_sensitivity_from_one_bound_only(bounds):
    """The largest feature value was taken from the lower bound twice: zero for bounds (0, 100)."""
    schema = Schema((Numeric("x", bounds, center=0.0, scale=1.0),), Levels("y", ("0", "1")))
    model = one_step(schema=schema, features="standardised", clip=0.7)

    def table(values):
        return pl.DataFrame({"x": [float(v) for v in values]})

    for extreme in bounds:
        rows = [0.0] * 9
        without, _ = first_sum(model, table(rows), ["0"] * 9)
        value, sensitivity = first_sum(model, table([*rows, extreme]), ["0"] * 9 + ["1"])
        assert sensitivity == 0.7
        moved = np.linalg.norm(value - without)
        assert moved <= sensitivity * (1 + 1e-6)
        assert moved > 0.3  # it does reach about the bound that is claimed


def test_smartnoise_core_356_sensitivity_from_the_present_size():
    """Under add/remove the size of the present data was used in the sensitivity of a mean."""
    small, large = (
        [h.question for h in asked(fair(rule={"notion": "equalized_odds"}), *loans(n))]
        for n in (8, 800)
    )
    promised = [(q.kind, q.sensitivity, q.noise_multiplier, q.event) for q in small]
    assert promised == [(q.kind, q.sensitivity, q.noise_multiplier, q.event) for q in large]


def test_mlforhealthlabpub_36_scale_is_one_over_epsilon():
    """Laplace noise was drawn with the scale lambda where 1 / lambda was meant."""
    for t in (Fraction(1, 10), Fraction(2)):
        drawn = np.abs(Noise(seed=1).discrete_laplace(t, 4000))
        mean = 1 / math.sinh(t)  # of |z| with probability proportional to exp(-t |z|)
        assert abs(drawn.mean() - mean) < 5 * drawn.std() / math.sqrt(4000)


def test_pysyft_6914_less_noise_costs_less():
    """A release with less noise was charged less of the budget."""
    costs = [epsilons(gaussian_steps(s, 0.1, 50), 1e-5) for s in (0.8, 1.0, 2.0, 8.0)]
    for name in costs[0]:
        found = [cost[name].epsilon for cost in costs]
        assert found == sorted(found, reverse=True)
        assert len(set(found)) == len(found)
    tables = [
        Ledger(9, 1e-5).charge(noisy_table(e, "add_remove"), scope="", purpose="p") for e in (1, 2)
    ]
    wide, narrow = (
        np.abs(t.draw(noisy_table(e, "add_remove")).discrete_laplace([0] * 3000)).mean()
        for t, e in zip(tables, (1, 2), strict=True)
    )
    assert wide > narrow


# Clipping


@pytest.mark.parametrize("arithmetic", ["exact", "float64"])
@pytest.mark.parametrize("solver", ["full_batch", "sgd"])
def test_opacus_664_the_clip_argument_is_ignored(solver, arithmetic):
    """The engine did not pass max_grad_norm on: gradients were clipped to another norm."""
    X, y = loans()
    for clip in (0.05, 0.3, 7.0):
        model = one_step(solver=solver, clip=clip, batch_size=10**6, arithmetic=arithmetic)
        without, _ = first_sum(model, X, y)
        value, sensitivity = first_sum(model, *with_rows(X, y, [EXTREME]))
        assert sensitivity == clip
        assert np.linalg.norm(value - without) <= clip * (1 + 1e-6)


def test_tensorflow_privacy_81_records_are_clipped_together():
    """Microbatches clip the mean of several gradients, so that one record counts double or not."""
    X, y = loans(1)
    model = one_step(clip=0.1)
    alone, _ = first_sum(model, X, y)
    assert 0.09 < np.linalg.norm(alone) <= 0.1
    for copies in (2, 5, 9):
        together, _ = first_sum(model, pl.concat([X] * copies), np.repeat(y, copies))
        np.testing.assert_allclose(together, copies * alone, rtol=1e-12)


def test_dpwgan_2_weights_are_clipped_instead_of_gradients():
    """Weights were clipped after the step, and gradients never: noise protected nothing."""
    X, y = with_rows(*loans(), [EXTREME] * 40)
    model = one_step(clip=0.01, learning_rate=50.0, features="standardised", steps=3)
    for _, exact, _ in sums(asked(model, X, y)):
        assert np.linalg.norm(exact) <= 0.01 * len(y)
    assert np.abs(model.scorer_.weights).max() > 0.01  # nothing clips these


# The noise meets the right numbers


def test_nvflare_343_noise_on_the_wrong_index():
    """Noise went to a subset drawn twice, and the values that were in neither passed unchanged."""
    event, cells = noisy_table("0.05", "add_remove"), 64
    differences = []
    for seed in range(40):
        ledger = Ledger(1, 1e-5, noise=Noise(seed=seed))
        draw = ledger.charge(event, scope="", purpose="p").draw(event)
        differences.append(np.array(draw.discrete_laplace(list(range(cells)))) - np.arange(cells))
    noise = np.array(differences)
    assert (noise != 0).mean() > 0.95
    assert (noise.std(axis=0) > 10).all()  # every cell, in every position
    correlations = np.corrcoef(noise.T) - np.eye(cells)
    assert np.abs(correlations).max() < 0.75
    assert np.abs(correlations.mean()) < 0.02
    ledger, step = Ledger(9, 1e-5, noise=Noise(seed=1)), step_event(2.0, 1.0)
    noisy = ledger.charge(step, scope="", purpose="p").draw(step).gaussian(np.zeros(500), 1.0)
    assert len(set(noisy.tolist())) == 500
    assert noisy.std() == pytest.approx(2.0, rel=0.15)


def test_optax_337_noise_after_the_learning_rate():
    """Noise came after scaling by the learning rate, which thereby changed what it protects."""
    X, y = loans()
    asked_at = {}
    for rate in (0.001, 10.0):
        for question, exact, noisy in sums(asked(one_step(learning_rate=rate, steps=2), X, y)):
            asked_at[rate] = (question.noise_multiplier, question.sensitivity)
            assert np.std(noisy - exact) == pytest.approx(50.0 * question.sensitivity, rel=0.5)
    assert len(set(asked_at.values())) == 1


def test_optax_527_noise_for_every_part_of_a_batch():
    """Gradients were accumulated after their noise: a step had more noise than was reported."""
    X, y = loans(700)
    found = sums(asked(one_step(steps=5), X, y))
    assert len(found) == 5  # one sum and one noise per step, whatever the number of records
    assert {question.event for question, _, _ in found} == {step_event(50.0, 1.0, exact=True)}
