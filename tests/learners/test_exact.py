"""Integer gradients: a record's contribution is its own to the last bit, and never too large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.recording import Recording
from scipy.special import expit

from dpfair.errors import InputError
from dpfair.jit import can_compile
from dpfair.learners.compiled import ClippedSums
from dpfair.learners.descent import Adam, Descent, FlatClip, GradientDescent, LogisticLoss, descend
from dpfair.learners.design import CHUNK, Design
from dpfair.learners.exact import MULTIPLIERS, NORMS, Grid, integer_sums, logistic_sum
from dpfair.learners.logistic_table import logistic
from dpfair.privacy.ledger import Receipt
from dpfair.privacy.noise import Noise

PATHS = pytest.mark.parametrize(
    "compiled",
    [
        False,
        pytest.param(
            True, marks=pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")
        ),
    ],
    ids=["plain", "compiled"],
)


def sample(rows=300, dense=3, columns=4, cells=20, seed=0, scale=2.0):
    """Rows with values of all sizes; every column has cells of its own."""
    rng = np.random.default_rng(seed)
    block = cells // max(1, columns)
    codes = rng.integers(0, block + 1, (rows, columns))
    codes = np.where(codes == block, cells, codes + block * np.arange(columns))
    design = Design.build(
        rng.standard_cauchy((rows, dense)) * scale, codes, cells, 0.3 + 0.1 * np.arange(cells)
    )
    return design, (rng.random(rows) < 0.4).astype(np.int64), rng.normal(size=design.width)


def contributions(design, labels, theta, clip=0.7, multiplier=5.0, **how):
    """The integers of every record alone, one row each."""
    grid, targets = Grid.of(clip, multiplier), labels.astype(np.float32)
    limit = FlatClip(clip).limit
    rows = [
        logistic_sum(design, np.array([i]), targets, theta, limit, grid, **how)
        for i in range(len(design))
    ]
    return np.array(rows), grid


# --- one record -------------------------------------------------------------------------------


@PATHS
@given(
    dense=st.lists(st.floats(-1e20, 1e20), min_size=2, max_size=2),
    cells=st.tuples(st.integers(0, 3), st.integers(4, 8)),
    values=st.lists(st.floats(1e-3, 50), min_size=8, max_size=8),
    theta=st.lists(st.floats(-1e3, 1e3), min_size=10, max_size=10),
    label=st.integers(0, 1),
    clip=st.floats(*NORMS),
    multiplier=st.floats(*MULTIPLIERS),
)
@settings(max_examples=150, deadline=None)
def test_one_record_contributes_at_most_the_clipping_norm(
    compiled, dense, cells, values, theta, label, clip, multiplier
):
    """Exactly: as rational numbers, without any tolerance."""
    design = Design.build([dense], [cells], 8, values)
    whole, grid = contributions(
        design, np.array([label]), np.array(theta), clip, multiplier, compiled=compiled
    )
    units = grid.units(design)
    squares = [(Fraction(u) * int(v)) ** 2 for u, v in zip(units.tolist(), whole[0], strict=True)]
    assert sum(squares) <= Fraction(clip) ** 2


@PATHS
def test_the_clipping_norm_is_reached_and_not_clipping_would_exceed_it(compiled):
    design, labels, theta = sample(scale=50)
    whole, grid = contributions(design, labels, theta, compiled=compiled)
    norms = np.linalg.norm(whole * grid.units(design), axis=1)
    assert 0.7 * (1 - 1e-5) < norms.max() <= 0.7
    targets, everything = labels.astype(np.float32), slice(None)
    unclipped = [
        logistic_sum(
            design.take(np.array([i])), everything, targets[i : i + 1], theta, 1e9, grid,
            compiled=compiled,
        )
        for i in range(len(design))
    ]  # fmt: skip
    assert np.linalg.norm(unclipped * grid.units(design), axis=1).max() > 50


@PATHS
def test_rounding_is_toward_zero_and_by_less_than_one_step(compiled):
    design, labels, theta = sample(60)
    whole, grid = contributions(design, labels, theta, compiled=compiled)
    coefficients = logistic(design.wide_scores(theta)) - labels
    coefficients *= 0.7 / np.maximum(np.abs(coefficients) * design.norms, 0.7)
    gradients = coefficients[:, None] * design.matrix()
    steps = np.abs(gradients) / grid.units(design) - np.abs(whole)
    assert (np.sign(whole) * np.sign(gradients) >= 0).all()
    # float32 cell values in the written-out matrix, and the hair that clipping is below the norm
    slack = 1e-5 * np.abs(whole)
    assert (steps >= -slack).all()
    assert (steps <= 1 + slack).all()


# --- many records -----------------------------------------------------------------------------


@PATHS
@pytest.mark.parametrize("shape", [{}, {"dense": 0}, {"columns": 0, "cells": 0}])
def test_a_sum_is_the_sum_of_its_records_whoever_is_in_it(shape, compiled):
    """Removing, adding or moving a record changes the sum by that record's own integers."""
    design, labels, theta = sample(**shape)
    targets, limit = labels.astype(np.float32), FlatClip(0.7).limit
    alone, grid = contributions(design, labels, theta, compiled=compiled)
    rng = np.random.default_rng(1)
    orders = [rng.permutation(300)[:n] for n in (300, 299, 150, 17, 2, 1, 0)]
    for chosen in [slice(None), *orders]:
        total = logistic_sum(design, chosen, targets, theta, limit, grid, compiled=compiled)
        assert total.dtype == np.int64
        assert (total == alone[chosen].sum(axis=0)).all()


def test_a_sum_in_floats_depends_on_the_order():
    """The twin: this is what integers are for."""
    design, labels, theta = sample(2000)
    targets = labels.astype(np.float32)
    orders = [np.arange(2000), np.random.default_rng(1).permutation(2000)]
    if not can_compile():
        pytest.skip("needs the extra 'fast'")
    first, second = (ClippedSums(design, targets, 0.7)(order, theta) for order in orders)
    assert (first != second).any()
    np.testing.assert_allclose(first, second, rtol=1e-9)


@pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")
@pytest.mark.parametrize("rows", [0, 1, 7, 40_000])
def test_the_compiled_loop_gives_the_very_same_integers(rows):
    design, labels, theta = sample(rows, seed=rows)
    grid, targets = Grid.of(0.7, 5.0), labels.astype(np.float32)
    sums = [
        logistic_sum(design, slice(None), targets, theta, 0.69, grid, compiled=flag)
        for flag in (True, False)
    ]
    assert (sums[0] == sums[1]).all()


@PATHS
def test_the_sum_is_the_gradient(compiled):
    design, labels, theta = sample(1000, scale=0.3)
    targets, grid = labels.astype(np.float32), Grid.of(0.7, 5.0)
    whole = logistic_sum(design, slice(None), targets, theta, 0.7, grid, compiled=compiled)
    x = design.matrix().astype(np.float64)
    gradients = (expit(x @ theta) - labels)[:, None] * x
    gradients *= 0.7 / np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True), 0.7)
    np.testing.assert_allclose(whole * grid.units(design), gradients.sum(axis=0), atol=2e-3)


@PATHS
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
def test_parameters_of_a_failed_run_do_no_harm(bad, compiled):
    design, labels, theta = sample(50, scale=1e14)
    theta[:] = bad
    whole, grid = contributions(design, labels, theta, compiled=compiled)
    assert np.linalg.norm(whole * grid.units(design), axis=1).max() <= 0.7


# --- the grid ---------------------------------------------------------------------------------


@given(st.floats(*NORMS), st.floats(*MULTIPLIERS))
def test_steps_are_powers_of_two_that_no_sum_can_overflow(norm, multiplier):
    grid = Grid.of(norm, multiplier)
    for step in (grid.cell, grid.dense):
        assert np.frexp(step)[0] == 0.5
    # A coefficient is at most one, a dense number at most the norm: 2^30 steps each. Then a
    # chunk is exact in float64, and 2^32 records are exact in 64-bit integers.
    assert 1 / grid.cell <= 2**30
    assert norm / grid.dense <= 2**30
    assert CHUNK * 2**30 < 2**53
    # And fine: the noise, or else the gradient, is half a billion steps.
    assert max(1.0, norm * multiplier) / grid.cell >= 2**29
    assert max(norm, norm * multiplier) / grid.dense >= 2**29


def test_integer_sums_are_exact_beyond_what_a_float_holds():
    # Of many chunks: those of a grid are at most 2^30, and one chunk may sum up to 2^53.
    places = np.zeros(100_000, dtype=np.int64)
    values = np.full(100_000, 2.0**37 + 1)
    assert integer_sums(places, values, 2).tolist() == [100_000 * (2**37 + 1), 0]
    assert int(np.bincount(places, values)[0]) != 100_000 * (2**37 + 1)


def test_the_logistic_table_is_close_and_blind_to_neighbours():
    scores = np.concatenate([np.linspace(-40, 40, 100_003), [-16, 16, 0, 1e300, -1e300]])
    chances = logistic(scores)
    assert np.abs(chances - expit(scores)).max() < 2e-7
    assert ((chances >= 0) & (chances <= 1)).all()
    for start, size in ((0, 1), (17, 3), (1001, 64), (5, 997)):
        part = slice(start, start + size)
        assert (logistic(scores[part].copy()) == chances[part]).all()


# --- a run ------------------------------------------------------------------------------------


def run(plan, design, labels, *, seed=0, noise=None, optimizer=None, **how):
    return descend(
        plan,
        design,
        labels,
        np.zeros(len(labels), dtype=np.int64),
        objective=LogisticLoss(),
        optimizer=optimizer or Adam(0.2),
        receipt=Receipt(plan.event, noise or Noise(seed)),
        **how,
    )


def plans(rate=1.0, **how):
    return [
        Descent(8, rate, 3.0, FlatClip(0.7), 10.0, arithmetic=arithmetic, **how)
        for arithmetic in ("exact", "float64")
    ]


def test_permuting_the_records_changes_nothing_but_in_floats():
    design, labels, _ = sample(2000)
    order = np.random.default_rng(1).permutation(2000)
    same = []
    for plan in plans():
        first = run(plan, design, labels)
        second = run(plan, design.take(order), labels[order])
        np.testing.assert_allclose(first, second, atol=1e-2)
        same.append((first == second).all())
    assert same == [True, False]


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_compiled_or_not_the_run_is_the_same(rate):
    design, labels, _ = sample(500)
    plan, _ = plans(rate)
    assert (
        run(plan, design, labels, compiled=True) == run(plan, design, labels, compiled=False)
    ).all()


def test_neighbours_stay_within_the_sensitivity_at_every_step():
    """Run twice with the same answers: the integers differ by one record's, at most the norm."""
    design, labels, _ = sample(400, scale=20)
    plan, _ = plans()
    first = Recording()
    run(plan, design, labels, noise=first)
    for removed in range(0, 400, 57):
        kept = np.delete(np.arange(400), removed)
        other = Recording(first.answers)
        run(plan, design.take(kept), labels[kept], noise=other)
        for a, b in zip(first.questions, other.questions, strict=True):
            change = [int(x) - int(y) for x, y in zip(a.value, b.value, strict=True)]
            moved = sum(
                (Fraction(u) * c) ** 2 for u, c in zip(a.units.tolist(), change, strict=True)
            )
            assert 0 < moved <= Fraction(a.sensitivity) ** 2


@pytest.mark.parametrize("rate", [0.2, 1.0])
def test_noise_has_the_planned_size_in_every_direction(rate):
    class Keep:
        def __init__(self):
            self.gradients = []

        def step(self, parameters, gradient):
            self.gradients.append(gradient)
            return parameters

    design, labels, _ = sample(0)
    keep = Keep()
    plan = Descent(600, rate, 3.0, FlatClip(0.7), 2.0, arithmetic="exact")
    run(plan, design, labels, optimizer=keep)
    np.testing.assert_allclose(np.std(keep.gradients, axis=0), 3.0 * 0.7 / 2, rtol=0.15)
    assert np.std(keep.gradients) == pytest.approx(3.0 * 0.7 / 2, rel=0.02)


def test_other_objectives_and_queries_are_refused():
    design, labels, _ = sample(20)

    class Other(LogisticLoss):
        pass

    plan, _ = plans()
    with pytest.raises(InputError, match="Exact arithmetic needs"):
        descend(
            plan,
            design,
            labels,
            labels,
            objective=Other(),
            optimizer=GradientDescent(1.0),
            receipt=Receipt(plan.event, Noise(0)),
        )


def test_unknown_arithmetic_is_refused():
    with pytest.raises(InputError, match="arithmetic"):
        Descent(8, 1.0, 3.0, FlatClip(0.7), 10.0, arithmetic="float16")
