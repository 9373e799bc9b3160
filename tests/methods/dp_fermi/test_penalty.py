"""The penalty of DP-FERMI: its gradients and how much one record can move them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from dpfair.learners.descent import Batch
from dpfair.methods.dp_fermi.penalty import DualQuery, FermiPenalty, project

SHARES = {
    "demographic parity": (np.array([[0.3, 0.7]]), np.ones(1)),
    "equalized odds": (np.array([[0.4, 0.6], [0.2, 0.8]]), np.array([0.75, 0.25])),
}


def batch(n=200, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).astype(np.float32)
    labels = (rng.random(n) < 0.4).astype(np.float32)
    return Batch(scores, labels, rng.integers(0, 2, n))


def psi(penalty, data, scores, dual):
    """The definition, record by record."""
    values = []
    w_all = dual.reshape(penalty.shape)
    for s, y, g in zip(scores, data.labels.astype(int), data.groups, strict=True):
        label = y if penalty.shape[0] > 1 else 0
        w, p = w_all[label], expit(s)
        f = [p] if penalty.shape[2] == 1 else [1 - p, p]
        total = -1.0
        for j, f_j in enumerate(f):
            total -= (w[:, j] ** 2).sum() * f_j
            root = math.sqrt(penalty.shares[label, g])
            if penalty.only_group is None:
                total += 2 / root * w[g, j] * f_j
            elif g == penalty.only_group:
                total += 2 / root * w[0, j] * f_j
        values.append(total / penalty.label_shares[label])
    return np.array(values)


@pytest.mark.parametrize("only", [None, 0, 1])
@pytest.mark.parametrize("notion", SHARES)
def test_gradients_are_the_derivatives_of_the_definition(notion, only):
    penalty = FermiPenalty(*SHARES[notion], only)
    data, dual = batch(40), np.random.default_rng(1).normal(size=penalty.size)
    by_score, by_dual = penalty.gradients(data, dual)
    scores, h = data.scores.astype(np.float64), 1e-5
    numeric = (psi(penalty, data, scores + h, dual) - psi(penalty, data, scores - h, dual)) / (
        2 * h
    )
    np.testing.assert_allclose(by_score, numeric, atol=2e-4)
    for k in range(penalty.size):
        step = np.zeros(penalty.size)
        step[k] = h
        change = psi(penalty, data, scores, dual + step) - psi(penalty, data, scores, dual - step)
        np.testing.assert_allclose(by_dual[:, k], change / (2 * h), atol=2e-3)


def test_the_maximum_over_w_is_the_chi_square_between_decision_and_group():
    data = batch(4000, 3)
    shares = np.bincount(data.groups)[None, :] / 4000
    penalty = FermiPenalty(shares, np.ones(1))
    p = expit(data.scores)
    joint = np.array([[(1 - p)[data.groups == g].sum(), p[data.groups == g].sum()] for g in (0, 1)])
    joint /= 4000
    chi_square = (joint**2 / joint.sum(0) / joint.sum(1, keepdims=True)).sum() - 1
    best = (joint / joint.sum(0) / np.sqrt(shares.T)).ravel()
    assert psi(penalty, data, data.scores, best).mean() == pytest.approx(chi_square, abs=1e-5)


@pytest.mark.parametrize("notion", SHARES)
def test_one_record_never_exceeds_the_stated_sensitivity(notion):
    penalty = FermiPenalty(*SHARES[notion])
    rng = np.random.default_rng(2)
    for _ in range(50):
        dual = rng.normal(size=penalty.size)
        dual *= 5 / np.linalg.norm(dual)
        query = DualQuery(penalty, 1.0, 0.01, 5.0, 1024, 0.1, dual)
        _, by_dual = penalty.gradients(batch(100, int(rng.integers(1e6))), dual)
        assert np.linalg.norm(by_dual, axis=1).max() <= query.sensitivity


@pytest.mark.parametrize("radius", [0.7, 5.0])
def test_the_worst_record_in_float32_stays_within_the_stated_sensitivity(radius):
    """The smallest group, accepted for sure, with W on the sphere and against it."""
    rng, reached = np.random.default_rng(3), []
    for _ in range(300):
        shares = rng.dirichlet([3.0, 3.0])[None, :]
        group = int(shares.argmin())
        dual = np.zeros((1, 2, 2))
        dual[0, group, 1] = -2 * radius
        query = DualQuery(
            FermiPenalty(shares, np.ones(1)),
            1.0,
            0.01,
            radius,
            8,
            0.1,
            project(dual.ravel(), radius),
        )
        one = Batch(np.float32([40]), np.float32([1]), np.array([group]))
        reached.append(np.linalg.norm(query(one)) / query.sensitivity)
    assert 1 - 1e-5 < max(reached) <= 1


def test_an_empty_batch_has_a_gradient_of_the_usual_shape():
    penalty = FermiPenalty(np.full((1, 2), 0.5), np.ones(1))
    none = np.empty(0, np.float32)
    by_score, by_dual = penalty.gradients(Batch(none, none, none.astype(np.int64)), np.ones(4))
    assert by_score.shape == (0,)
    assert by_dual.shape == (0, 4)
