"""Where a noisy descent goes, and which parameters it returns."""

from __future__ import annotations

import numpy as np
import pytest
from learners.descent.running import CLIP, TINY, Recorder, run, sample

from dpfair.learners.descent import Adam, Descent, FlatClip, GradientDescent


def non_private_descent(design, labels, steps, rate):
    x, theta = design.matrix().astype(np.float64), np.zeros(design.width)
    for _ in range(steps):
        theta -= rate * ((1 / (1 + np.exp(-x @ theta)) - labels) @ x) / len(x)
    return theta


def test_without_noise_and_clipping_it_is_gradient_descent():
    design, labels, groups = sample()
    plan = Descent(50, 1.0, TINY, FlatClip(100.0), divisor=len(design))
    private = run(plan, (design, labels, groups), optimizer=GradientDescent(0.5))
    plain = non_private_descent(design, labels, 50, 0.5)
    np.testing.assert_allclose(private, plain, atol=1e-4)
    more_noise = Descent(50, 1.0, 1.0, FlatClip(100.0), divisor=len(design))
    other = run(more_noise, (design, labels, groups), optimizer=GradientDescent(0.5))
    assert np.abs(other - plain).max() > 1e-2


@pytest.mark.parametrize(("share", "iterates"), [(0.0, [10]), (0.5, [6, 7, 8, 9, 10])])
def test_the_mean_of_the_last_iterates_is_returned(share, iterates):
    plan = Descent(10, 1.0, 2.0, FlatClip(CLIP), 1.0, average_last=share)
    result = run(plan, sample(20), optimizer=Recorder(moves=1.0))
    np.testing.assert_allclose(result, np.mean(iterates))


def test_adam_takes_steps_that_do_not_depend_on_the_scale():
    gradients = np.random.default_rng(0).normal(size=(20, 5)) + 0.5
    ends = []
    for scale in (1.0, 1000.0):
        optimizer, parameters = Adam(0.1), np.zeros(5)
        for gradient in gradients:
            parameters = optimizer.step(parameters, scale * gradient)
        ends.append(parameters)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)
    first = Adam(0.1).step(np.zeros(5), gradients[0])
    np.testing.assert_allclose(first, -0.1 * np.sign(gradients[0]), rtol=1e-6)


def test_same_seed_same_parameters_and_progress_is_told():
    plan = Descent(12, 0.3, 2.0, FlatClip(CLIP), 10.0)
    told: list[int] = []
    first = run(plan, sample(), seed=4, progress=told.append)
    assert told == list(range(1, 13))
    np.testing.assert_array_equal(first, run(plan, sample(), seed=4))
    assert not np.array_equal(first, run(plan, sample(), seed=5))
