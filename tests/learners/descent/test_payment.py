"""The noise of a descent is what was paid for, and nothing else is released."""

from __future__ import annotations

import numpy as np
import pytest
from dp_accounting.dp_event import (
    ComposedDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from learners.descent.running import CLIP, TINY, Recorder, run, sample

from dpfair.errors import ReceiptError
from dpfair.learners.descent import Descent, FlatClip, LogisticLoss
from dpfair.privacy.ledger import Receipt
from dpfair.privacy.noise import Noise


class CountLabels:
    """How many records of either label; one record moves one count by one."""

    sensitivity = 1.0

    def __init__(self, noise_multiplier):
        self.noise_multiplier = noise_multiplier

    def __call__(self, batch):
        return np.array([np.sum(batch.labels == 0), np.sum(batch.labels == 1)], dtype=np.float64)


@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_batch_still_gets_its_noise(rows):
    """The same law of noise whether or not anybody is in the batch."""
    data = sample(rows)
    recorder = Recorder()
    plan = Descent(400, 1e-6, 2.0, FlatClip(CLIP), divisor=4.0)
    run(plan, data, optimizer=recorder)
    noise = np.array(recorder.gradients)
    assert noise.shape == (400, data[0].width)
    assert noise.std() == pytest.approx(2.0 * CLIP / 4.0, rel=0.05)
    assert abs(noise.mean()) < 0.03


def test_every_step_adds_fresh_noise_of_the_planned_size():
    data = sample(50)
    plan = Descent(300, 1.0, 3.0, FlatClip(CLIP), divisor=1.0)
    noisy, exact = Recorder(), Recorder()
    run(plan, data, optimizer=noisy)
    quiet = Descent(1, 1.0, TINY, FlatClip(CLIP), divisor=1.0)
    run(quiet, data, optimizer=exact)
    noise = np.array(noisy.gradients) - exact.gradients[0]
    assert noise.std() == pytest.approx(3.0 * CLIP, rel=0.05)
    neighbours = np.corrcoef(noise[:-1].ravel(), noise[1:].ravel())[0, 1]
    assert abs(neighbours) < 0.06


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_a_run_uses_exactly_what_was_paid(rate):
    data = sample(30)
    plan = Descent(7, rate, 2.0, FlatClip(CLIP), divisor=1.0)
    receipt = Receipt(plan.event, Noise(0))
    run(plan, data, receipt=receipt)
    with pytest.raises(ReceiptError):
        receipt.draw(plan.step_event)


def test_each_part_of_a_receipt_is_counted_on_its_own():
    """Drawing one paid part again and again does not pay for another."""
    first, second = Descent(2, 0.1, 2.0, FlatClip(1), 1), Descent(1, 1.0, 9.0, FlatClip(1), 1)
    receipt = Receipt(ComposedDpEvent([first.event, second.event]), Noise(0))
    a, b = first.step_event, second.step_event
    for step in (a, b, a):
        receipt.draw(step)
    for step in (b, a, GaussianDpEvent(4.0)):
        with pytest.raises(ReceiptError):
            receipt.draw(step)


@pytest.mark.parametrize(
    "other",
    [
        Descent(6, 0.1, 2.0, FlatClip(CLIP), 1.0),
        Descent(7, 0.05, 2.0, FlatClip(CLIP), 1.0),
        Descent(7, 0.1, 2.5, FlatClip(CLIP), 1.0),
    ],
    ids=["fewer steps", "smaller batches", "more noise"],
)
def test_a_cheaper_payment_is_refused(other):
    plan = Descent(7, 0.1, 2.0, FlatClip(CLIP), divisor=1.0)
    with pytest.raises(ReceiptError):
        run(plan, sample(30), receipt=Receipt(other.event, Noise(0)))


def test_the_event_is_the_plan():
    sampled = Descent(7, 0.1, 2.0, FlatClip(CLIP), divisor=1.0)
    step = PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0))
    assert sampled.step_event == step
    assert sampled.event == SelfComposedDpEvent(step, 7)
    full = Descent(7, 1.0, 2.0, FlatClip(CLIP), divisor=1.0)
    assert full.event == SelfComposedDpEvent(GaussianDpEvent(2.0), 7)


def test_queries_and_gradient_are_one_gaussian():
    """Fact A: multipliers 2, 3 and 6 on one batch cost (1/4 + 1/9 + 1/36)^(-1/2)."""
    plan = Descent(5, 0.2, 2.0, FlatClip(CLIP), 1.0, queries=(CountLabels(3.0), CountLabels(6.0)))
    joint = (1 / 4 + 1 / 9 + 1 / 36) ** -0.5
    assert plan.event.count == 5
    assert plan.step_event.sampling_probability == 0.2
    assert plan.step_event.event.noise_multiplier == pytest.approx(joint, rel=1e-12)
    assert np.isfinite(run(plan, sample(30))).all()


def test_queries_cannot_be_answered_on_the_gradients_payment():
    gradient_only = Descent(5, 0.2, 2.0, FlatClip(CLIP), 1.0)

    class Unpaid(Descent):
        """Pays for the gradient alone, and asks on."""

        step_event = gradient_only.step_event

    plan = Unpaid(5, 0.2, 2.0, FlatClip(CLIP), 1.0, queries=(CountLabels(50.0),))
    with pytest.raises(ReceiptError, match="so little"):
        run(plan, sample(30), receipt=Receipt(gradient_only.event, Noise(0)))


def test_a_query_cannot_be_answered_with_less_noise_than_planned():
    query = CountLabels(3.0)
    plan = Descent(5, 0.2, 2.0, FlatClip(CLIP), 1.0, queries=(query,))
    receipt = Receipt(plan.event, Noise(0))

    class Cheater(LogisticLoss):
        def dual_step(self, answers):
            query.noise_multiplier = 2.9

    with pytest.raises(ReceiptError):
        run(plan, sample(30), objective=Cheater(), receipt=receipt)


class Watching(LogisticLoss):
    """Keeps every answer that a hook was given."""

    def __init__(self):
        self.in_gradient, self.in_dual = [], []

    def gradients(self, batch, extra, answers):
        self.in_gradient.append([a.copy() for a in answers])
        return super().gradients(batch, extra, answers)

    def dual_step(self, answers):
        self.in_dual.append([a.copy() for a in answers])


def test_hooks_see_only_noisy_answers():
    design, labels, groups = sample(40)
    exact = np.bincount(labels, minlength=2)
    watching = Watching()
    plan = Descent(600, 1.0, 2.0, FlatClip(CLIP), 1.0, queries=(CountLabels(5.0),))
    run(plan, (design, labels, groups), objective=watching)
    noise = np.array(watching.in_dual)[:, 0] - exact
    assert len(noise) == 600
    assert np.array_equal(watching.in_dual, watching.in_gradient)
    assert noise.std() == pytest.approx(5.0, rel=0.07)
    assert (noise != np.round(noise)).all()


def test_a_clip_policy_sees_the_noisy_answers_and_states_the_sensitivity():
    """Noise follows the sensitivity that the policy states, step by step."""

    class Growing:
        steps = 0

        def __call__(self, norms, batch, answers):
            assert answers[0].shape == (2,)
            self.steps += 1
            bound = float(self.steps)
            return np.zeros_like(norms), bound

    recorder = Recorder()
    plan = Descent(30, 1.0, 2.0, Growing(), 1.0, queries=(CountLabels(5.0),))
    run(plan, sample(20, dense=2000), optimizer=recorder)
    spread = [g.std() / (t + 1) for t, g in enumerate(recorder.gradients)]
    assert spread == pytest.approx([2.0] * 30, rel=0.1)
