"""The compiled step computes what the plain one computes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpfair import Noise
from dpfair.data.encode import encode
from dpfair.data.threads import one_thread
from dpfair.jit import can_compile
from dpfair.learners import compiled
from dpfair.learners.descent import (
    Batch,
    Descent,
    FlatClip,
    GradientDescent,
    LogisticLoss,
    clipped_sum,
    descend,
)
from dpfair.learners.design import Design, bounded
from dpfair.learners.exact import Grid, logistic_sum
from dpfair.learners.features import FEATURES, design
from dpfair.privacy.ledger import Receipt

pytestmark = pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")


@pytest.fixture(params=FEATURES)
def rows(request, loans, loan_schema):
    return design(request.param, loan_schema, encode(loans[0], loan_schema))


BATCHES = [slice(None), np.array([3, 5, 2999]), np.array([], dtype=int), np.arange(7, 2990, 3)]


@pytest.mark.parametrize("chosen", BATCHES, ids=lambda chosen: str(np.size(chosen)))
@pytest.mark.parametrize("limit", [1e-3, 0.4, 1e9])
def test_sums_are_equal(rows, chosen, limit, loans):
    targets = (loans[1] == "yes").astype(np.float32)
    check_sum(rows, chosen, targets, limit)


@pytest.mark.parametrize(("width", "cells"), [(1, 0), (16, 5), (17, 0), (40, 3000)])
def test_rows_of_every_shape_have_equal_sums(width, cells):
    """Rows are filled up to whole lines; few places have several sums, many have one."""
    rng, count = np.random.default_rng(5), 500
    codes = rng.integers(0, cells + 1, (count, 2 if cells else 0))
    values = rng.uniform(0.5, 2.0, cells)
    rows = Design.build(rng.normal(size=(count, width)), codes, cells, values)
    targets = rng.integers(0, 2, count).astype(np.float32)
    for batch in (slice(None), np.arange(3, 490, 2), np.arange(66)):
        check_sum(rows, batch, targets, 0.7)


def check_sum(rows, chosen, targets, limit):
    theta = np.random.default_rng(0).normal(size=rows.width)
    part = rows.take(chosen)
    batch = Batch(part.scores(theta.astype(np.float32)), targets[chosen], np.zeros(len(part)))
    plain, _ = clipped_sum(
        FlatClip(limit), part, batch, (), *LogisticLoss().gradients(batch, np.empty(0), ())
    )
    fast = compiled.ClippedSums(rows, targets, FlatClip(limit).limit)(chosen, theta)
    np.testing.assert_allclose(fast, plain, atol=1e-4 * max(1.0, np.abs(plain).max()))


def test_parameters_of_a_failed_run_give_finite_sums(rows, loans):
    """They are bounded, as everywhere: a row contributes no more than its limit, and is no NaN."""
    targets = (loans[1] == "yes").astype(np.int8)
    sums, chosen = compiled.ClippedSums(rows, targets, 0.5), np.arange(100)
    for bad in (np.nan, np.inf, -np.inf, 1e300):
        theta = np.full(rows.width, bad)
        expected = sums(chosen, bounded(theta))
        assert np.isfinite(expected).all()
        assert sums(chosen, theta).tolist() == expected.tolist()


def test_one_record_never_exceeds_the_limit(rows, loans):
    targets = (loans[1] == "yes").astype(np.float32)
    theta = 50 * np.random.default_rng(1).normal(size=rows.width)
    sums = compiled.ClippedSums(rows, targets, 0.25)
    for row in range(200):
        total = sums(np.array([row]), theta)
        assert np.linalg.norm(total) <= 0.25 * (1 + 1e-6)


def test_a_run_is_the_same_up_to_rounding(rows, loans):
    labels = (loans[1] == "yes").astype(np.int64)
    plan = Descent(30, 0.1, 2.0, FlatClip(1.0), divisor=300)
    results = [
        descend(
            plan,
            rows,
            labels,
            np.zeros(len(rows), dtype=np.int64),
            objective=LogisticLoss(),
            optimizer=GradientDescent(0.5),
            receipt=Receipt(plan.event, Noise(3)),
            compiled=flag,
        )
        for flag in (True, False)
    ]
    np.testing.assert_allclose(results[0], results[1], atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_integer_sums_do_not_depend_on_the_threads(rows, loans, threads, monkeypatch):
    targets = (loans[1] == "yes").astype(np.int8)
    theta, grid = np.random.default_rng(2).normal(size=rows.width), Grid.of(0.5, 3.0)
    expected = logistic_sum(rows, slice(None), targets, theta, 0.5, grid, compiled=False)
    started = []

    def pool(number):
        started.append(number)
        return ThreadPoolExecutor(number)

    monkeypatch.setattr(compiled, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(compiled, "_threads", lambda: threads)
    monkeypatch.setattr(compiled, "_ROWS_PER_THREAD", 100)
    found = logistic_sum(rows, slice(None), targets, theta, 0.5, grid)
    assert found.tolist() == expected.tolist()
    assert started == [threads] * (threads > 1)


def test_every_row_has_one_thread(monkeypatch):
    monkeypatch.setattr(compiled, "_threads", lambda: 4)
    monkeypatch.setattr(compiled, "_ROWS_PER_THREAD", 10)
    for rows in (0, 1, 19, 20, 41, 1000):
        parts = compiled.in_threads(range, rows)
        assert [row for part in parts for row in part] == [*range(rows)]
        assert len(parts) == max(1, min(4, rows // 10))


def test_one_thread_is_enough_where_others_have_work(monkeypatch):
    from numba import config

    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 4)
    monkeypatch.setattr(compiled, "_ROWS_PER_THREAD", 10)
    assert len(compiled.in_threads(range, 40)) == 4
    with one_thread():
        assert len(compiled.in_threads(range, 40)) == 1
