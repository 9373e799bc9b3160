"""What one record can contribute to a noisy descent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.descent.running import CLIP, TINY, Recorder, run, sample

from dpfair.errors import InputError
from dpfair.learners.descent import Batch, Descent, FlatClip, LogisticLoss, clipped_sum
from dpfair.learners.design import Design


class WithExtras(LogisticLoss):
    """Two extra parameters whose gradients are large, and depend on the record."""

    extra_parameters = 2
    size = 50.0

    def gradients(self, batch, extra, answers):
        coefficients, _ = super().gradients(batch, extra, answers)
        extra_gradients = self.size * np.stack([batch.labels, batch.scores + 1], axis=1)
        return coefficients, extra_gradients.astype(np.float32)


def per_example_gradients(design, labels, theta, objective=None):
    """Written out, in float64: one row per record."""
    x = design.matrix().astype(np.float64)
    scores = (x @ theta).astype(np.float32)
    batch = Batch(scores, labels.astype(np.float32), np.zeros(len(labels), dtype=np.int64))
    coefficients, extra = (objective or LogisticLoss()).gradients(batch, np.empty(0), ())
    gradients = np.float64(coefficients)[:, None] * x
    return gradients if extra is None else np.hstack([gradients, extra]), batch, coefficients, extra


@pytest.mark.parametrize("objective", [LogisticLoss(), WithExtras()], ids=["plain", "extra"])
@pytest.mark.parametrize("clip", [0.01, 0.7, 5.0])
def test_closed_form_clipping_is_explicit_clipping(objective, clip):
    design, labels, _ = sample()
    theta = np.random.default_rng(3).normal(size=design.width)
    gradients, batch, coefficients, extra = per_example_gradients(design, labels, theta, objective)
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    explicit = (gradients * (clip / np.maximum(norms, clip))).sum(axis=0)
    total, sensitivity = clipped_sum(FlatClip(clip), design, batch, (), coefficients, extra)
    assert sensitivity == clip
    np.testing.assert_allclose(total, explicit, rtol=1e-5, atol=1e-5 * clip * len(design) ** 0.5)


@pytest.mark.parametrize("objective", [LogisticLoss(), WithExtras()], ids=["plain", "extra"])
@given(
    values=st.lists(st.floats(allow_nan=False, width=32), min_size=3, max_size=3),
    factor=st.sampled_from([1e-6, 1.0, 1e6, 1e30]),
    clip=st.floats(1e-12, 1e12),
    label=st.integers(0, 1),
)
@settings(max_examples=150, deadline=None)
def test_one_record_contributes_at_most_the_clipping_norm(objective, values, factor, clip, label):
    row = np.clip(np.array([values], dtype=np.float64) * factor, -1e300, 1e300)
    design = Design.build(row, np.array([[0]]), 2)
    batch = Batch(
        design.scores(np.full(5, 0.1, dtype=np.float32)),
        np.array([label], dtype=np.float32),
        np.zeros(1, dtype=np.int64),
    )
    gradients = objective.gradients(batch, np.empty(0), ())
    total, sensitivity = clipped_sum(FlatClip(clip), design, batch, (), *gradients)
    assert sensitivity == clip
    assert np.linalg.norm(total) <= clip


def test_removing_any_record_moves_the_sum_by_at_most_the_clipping_norm():
    design, labels, groups = sample(60)
    scaled = Design.build(design.dense * 1e6, design.codes, design.cells)
    plan = Descent(1, 1.0, TINY, FlatClip(CLIP), divisor=1)

    def gradient_sum(kept):
        recorder = Recorder()
        run(plan, (scaled.take(kept), labels[kept], groups[kept]), optimizer=recorder)
        return recorder.gradients[0]

    everybody = np.arange(60)
    whole = gradient_sum(everybody)
    moves = [np.linalg.norm(whole - gradient_sum(np.delete(everybody, i))) for i in range(60)]
    assert max(moves) <= CLIP * (1 + 1e-6)
    assert max(moves) > CLIP * 0.999  # the bound is reached: the rows were really large


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_record_without_a_finite_gradient_contributes_nothing(bad):
    class Broken(WithExtras):
        def gradients(self, batch, extra, answers):
            coefficients, extras = super().gradients(batch, extra, answers)
            coefficients[0], extras[1, 1] = bad, bad
            return coefficients, extras

    design, labels, groups = sample(20)
    plan = Descent(1, 1.0, TINY, FlatClip(CLIP), divisor=1)
    with_bad, without = Recorder(), Recorder()
    run(plan, (design, labels, groups), objective=Broken(), optimizer=with_bad)
    rest = slice(2, None)
    data = (design.take(rest), labels[rest], groups[rest])
    run(plan, data, objective=WithExtras(), optimizer=without)
    np.testing.assert_allclose(with_bad.gradients[0], without.gradients[0], atol=1e-6)


def test_extra_parameters_are_clipped_jointly():
    """Clipping the two blocks apart would allow a norm of sqrt(2) times the bound."""
    design, labels, groups = sample(1)
    plan = Descent(1, 1.0, TINY, FlatClip(CLIP), divisor=1)
    norms = []
    for size in (1e-3, 1.0, 1e3):
        objective = WithExtras()
        objective.size = size
        recorder = Recorder()
        run(plan, (design, labels, groups), objective=objective, optimizer=recorder)
        norms.append(np.linalg.norm(recorder.gradients[0]))
    assert max(norms) <= CLIP * (1 + 1e-6)
    assert max(norms) > CLIP * 0.999


@pytest.mark.parametrize("norm", [0, -1, float("nan"), float("inf")])
def test_a_clipping_norm_must_be_positive(norm):
    with pytest.raises(InputError, match="Expected 1e-12 <= norm"):
        FlatClip(norm)
