"""Clipping norms and noise that arithmetic cannot keep its promises for are refused in time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpfair import DPFermi, InputError, LedgerFile, PrivateBoosting, PrivateLogisticRegression
from dpfair.learners.block_plan import BlockTraining
from dpfair.learners.boosting import BoostingTraining
from dpfair.learners.descent import Batch, Descent, FlatClip, clipped_sum
from dpfair.learners.design import Design
from dpfair.learners.exact import MULTIPLIERS, NORMS, Grid
from dpfair.learners.logistic import LogisticTraining

SMALLEST, LARGEST = NORMS
IMPOSSIBLE = [0.0, -1.0, 1e-305, 1e-45, SMALLEST / 2, LARGEST * 2, math.inf, math.nan]


@pytest.fixture
def path(tmp_path):
    LedgerFile.create(tmp_path / "loans.ledger", 3, 1e-5)
    return tmp_path / "loans.ledger"


@pytest.mark.parametrize("clip", IMPOSSIBLE)
@pytest.mark.parametrize(
    "make",
    [
        PrivateLogisticRegression,
        lambda **how: PrivateLogisticRegression(solver="sgd", arithmetic="float64", **how),
        PrivateBoosting,
        DPFermi,
    ],
    ids=["full batch", "batches", "boosting", "dp-fermi"],
)
def test_a_clipping_norm_is_refused_before_anything_is_charged(
    make, clip, path, loans, loan_schema
):
    model = make(schema=loan_schema, clip=clip, ledger=path)
    with pytest.raises(InputError, match="Expected 1e-12 <= clip <= 1e\\+12, got"):
        model.fit(*loans)
    assert LedgerFile(path).entries == ()
    assert not hasattr(model, "ledger_")


@pytest.mark.parametrize(
    "model",
    [
        PrivateLogisticRegression(noise_multiplier=1e300),
        PrivateBoosting(trees=1, tree_share=1e-300),
        DPFermi(radius=1e-300),
        DPFermi(radius=1e300),
    ],
)
def test_so_are_other_sizes(model, path, loans, loan_schema):
    with pytest.raises(InputError, match="Expected 1e-"):
        model.set_params(schema=loan_schema, ledger=path).fit(*loans)
    assert LedgerFile(path).entries == ()


@pytest.mark.parametrize("size", IMPOSSIBLE)
def test_the_last_line_of_defence(size):
    with pytest.raises(InputError, match="norm"):
        FlatClip(size)
    with pytest.raises(InputError, match="norm"):
        Grid.of(size, 1.0)


@pytest.mark.parametrize("multiplier", [0.0, -1.0, 1e-31, 1e31, math.inf, math.nan])
def test_so_for_noise(multiplier):
    linear = LogisticTraining(Descent(1, 1.0, 1.0, FlatClip(1.0), 1.0), learning_rate=0.2)
    for make in (
        lambda: Grid.of(1.0, multiplier),
        lambda: Descent(1, 1.0, multiplier, FlatClip(1.0), 1.0),
        lambda: BoostingTraining(linear, 1, multiplier),
        lambda: BlockTraining(linear, 1, multiplier, 1.0, 1, 1.0),
        lambda: BlockTraining(linear, 1, 1.0, multiplier, 1, 1.0),
        lambda: BlockTraining(linear, 1, 1.0, 1.0, 1, multiplier),
    ):
        with pytest.raises(InputError, match="multiplier"):
            make()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_every_step_of_a_grid_has_an_inverse(norm, multiplier):
    grid = Grid.of(norm, multiplier)
    for step in (grid.cell, grid.dense):
        assert Fraction(1 / step) * Fraction(step) == 1


@pytest.mark.parametrize("norm", [SMALLEST, 1e-9, 1.0, LARGEST])
@pytest.mark.parametrize("size", [1e-25, 1e-19, 1e-16, 1e-6, 1.0, 1e20, 1e24, 1e33, 1e38])
def test_float32_clips_gradients_of_all_sizes_to_all_norms(norm, size):
    """Squares of tiny numbers vanish, and scales of huge ones: neither may reach the norm."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        row = rng.normal(size=(1, 3)).astype(np.float32)
        design, coefficients = Design.build(row, np.array([[0]]), 1), np.float32([size])
        extra = (size * rng.normal(size=(1, 4))).astype(np.float32)
        batch = Batch(np.float32([0]), np.float32([1]), np.array([0]))
        for more in (extra, None):
            total, _ = clipped_sum(FlatClip(norm), design, batch, (), coefficients, more)
            assert math.hypot(*total) <= norm


def test_the_limit_is_below_the_norm_in_float32():
    for norm in (*NORMS, 0.1, 1.5, math.pi):
        assert float(np.float32(FlatClip(norm).limit)) < norm


@pytest.mark.parametrize("rate", [0.0, -0.1, math.nan])
@pytest.mark.parametrize("make", [PrivateLogisticRegression, PrivateBoosting])
def test_so_is_a_learning_rate(make, rate, path, loans, loan_schema):
    with pytest.raises(InputError, match="learning_rate"):
        make(schema=loan_schema, learning_rate=rate, ledger=path).fit(*loans)
    assert LedgerFile(path).entries == ()
