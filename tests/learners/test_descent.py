"""Noisy descent: what one record can contribute, what is paid, and what is released."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import sys
import threading
import time

import numpy as np
import pytest
from dp_accounting.dp_event import (
    ComposedDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.errors import InputError, ReceiptError
from dpfair.learners.descent import (
    Adam,
    Batch,
    Descent,
    FlatClip,
    GradientDescent,
    LogisticLoss,
    clipped_sum,
    descend,
)
from dpfair.learners.design import Design
from dpfair.privacy.ledger import Receipt
from dpfair.privacy.noise import Noise

CLIP = 0.7
TINY = 1e-9  # a noise multiplier that hides nothing


def sample(rows: int = 300, dense: int = 4, cells: int = 6, seed: int = 0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, cells + 1, (rows, 1)) if cells else np.empty((rows, 0))
    design = Design.build(rng.normal(size=(rows, dense)) * 2, codes, cells)
    labels = (rng.random(rows) < 0.4).astype(np.int64)
    groups = rng.integers(0, 2, rows)
    return design, labels, groups


def run(plan, data, *, objective=None, optimizer=None, receipt=None, seed=0, **options):
    receipt = receipt or Receipt(plan.event, Noise(seed))
    return descend(
        plan,
        *data,
        objective=objective or LogisticLoss(),
        optimizer=optimizer or GradientDescent(1.0),
        receipt=receipt,
        **options,
    )


class Recorder:
    """An optimizer that keeps the noisy gradients and does not move."""

    def __init__(self, moves=0.0):
        self.gradients, self.moves = [], moves

    def step(self, parameters, gradient):
        self.gradients.append(gradient)
        return parameters + self.moves


class WithExtras(LogisticLoss):
    """Two extra parameters whose gradients are large, and depend on the record."""

    extra_parameters = 2
    size = 50.0

    def gradients(self, batch, extra, answers):
        coefficients, _ = super().gradients(batch, extra, answers)
        extra_gradients = self.size * np.stack([batch.labels, batch.scores + 1], axis=1)
        return coefficients, extra_gradients.astype(np.float32)


class CountLabels:
    """How many records of either label; one record moves one count by one."""

    sensitivity = 1.0

    def __init__(self, noise_multiplier):
        self.noise_multiplier = noise_multiplier

    def __call__(self, batch):
        return np.array([np.sum(batch.labels == 0), np.sum(batch.labels == 1)], dtype=np.float64)


def per_example_gradients(design, labels, theta, objective=None):
    """Written out, in float64: one row per record."""
    x = design.matrix().astype(np.float64)
    scores = (x @ theta).astype(np.float32)
    batch = Batch(scores, labels.astype(np.float32), np.zeros(len(labels), dtype=np.int64))
    coefficients, extra = (objective or LogisticLoss()).gradients(batch, np.empty(0), ())
    gradients = np.float64(coefficients)[:, None] * x
    return gradients if extra is None else np.hstack([gradients, extra]), batch, coefficients, extra


# --- clipping ---------------------------------------------------------------------------------


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


# --- noise and payment ------------------------------------------------------------------------


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


# --- sampling ---------------------------------------------------------------------------------


def poisson_problem(included, rate):
    """Why these batches (steps x records, 0 or 1) are not Poisson samples, or None.

    Sizes of batches and pairs of records are independent coin flips: the variance of a batch's
    size is n q (1 - q), and so on. Limits are five standard deviations.
    """
    steps, n = included.shape
    counts, sizes = included.sum(axis=0), included.sum(axis=1)
    if abs(counts.mean() - steps * rate) > 5 * (steps * rate * (1 - rate) / n) ** 0.5:
        return "the rate is wrong"
    expected = steps * rate * (1 - rate)
    if abs(counts.var() / expected - 1) > 5 * (2 / n) ** 0.5:
        return "records are not included Binomial(steps, rate) often"
    if abs(sizes.var() / (n * rate * (1 - rate)) - 1) > 5 * (2 / steps) ** 0.5:
        return "records are not included independently of one another"
    flips = included - rate
    in_row = (flips[:, :-1] * flips[:, 1:]).mean() / (rate * (1 - rate))
    if abs(in_row) > 5 / (steps * (n - 1)) ** 0.5:
        return "neighbouring records are not independent"
    in_time = (flips[:-1] * flips[1:]).mean() / (rate * (1 - rate))
    if abs(in_time) > 5 / ((steps - 1) * n) ** 0.5:
        return "consecutive batches are not independent"
    return None


def batches_of(plan, rows, seed=1):
    """Who is in which batch, as the objective of a real run sees it."""
    seen = np.zeros((plan.steps, rows))

    class Watch(LogisticLoss):
        step = 0

        def gradients(self, batch, extra, answers):
            seen[self.step, batch.groups] += 1
            self.step += 1
            return super().gradients(batch, extra, answers)

    design, labels, _ = sample(rows)
    run(plan, (design, labels, np.arange(rows)), objective=Watch(), seed=seed)
    return seen


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9])
def test_batches_are_poisson_samples(rate):
    plan = Descent(1500, rate, 2.0, FlatClip(CLIP), 1.0)
    assert poisson_problem(batches_of(plan, 200), rate) is None


@pytest.mark.parametrize("twin", ["shuffled", "fixed size", "off by one", "repeated"])
def test_the_check_rejects_other_samplers(twin):
    """The broken twins of the test above, at the same size."""
    steps, n, rate = 1500, 200, 0.02
    rng = np.random.default_rng(0)
    included = np.zeros((steps, n))
    size, order = int(n * rate), rng.permutation(n)
    for t in range(steps):
        if twin == "shuffled":
            part = t % (n // size)
            order = rng.permutation(n) if part == 0 else order
            included[t, order[part * size : (part + 1) * size]] = 1
        elif twin == "fixed size":
            included[t, rng.choice(n, size, replace=False)] = 1
        elif twin == "off by one":
            included[t, 1:] = rng.random(n - 1) < rate * 1.1
        else:
            included[t] = rng.random(n) < rate if t % 2 == 0 else included[t - 1]
    assert poisson_problem(included, rate) is not None


@pytest.mark.parametrize("rate", [1e-300, 1e-17, 1e-9, 1 - 1e-12])
def test_extreme_rates(rate):
    """Gaps far beyond the population must not overflow."""
    noise = Noise(0)
    for _ in range(50):
        chosen = noise.poisson_batch(1000, rate)
        assert chosen.tolist() == ([] if rate < 0.5 else list(range(1000)))


class ShortRounds(Noise):
    """Five numbers at a time, however many are asked for."""

    def random_uint64(self, count):
        return super().random_uint64(5)


def test_sampling_works_when_one_round_is_not_enough():
    """Long batches are continued, not cut: a round holds few gaps here."""
    noise = ShortRounds(0)
    included = np.zeros((1500, 200))
    for row in included:
        row[noise.poisson_batch(200, 0.1)] += 1
    assert included.max() == 1
    assert poisson_problem(included, 0.1) is None


def test_coins_of_another_kind_are_flipped_anew():
    """Coins made ahead for one rate and population serve no other."""
    noise, rates = Noise(0), [0.3, 0.05]
    included = {rate: np.zeros((1500, 200)) for rate in rates}
    for t in range(1500):
        noise.poisson_batch(150, 0.3)
        for rate in rates:
            included[rate][t, noise.poisson_batch(200, rate)] = 1
    assert [poisson_problem(included[rate], rate) for rate in rates] == [None, None]


DISTRIBUTIONS = {
    "normals": lambda noise: noise.normals(3).tobytes(),
    "batches": lambda noise: noise.poisson_batch(10_000, 0.01).tobytes(),
}


@pytest.mark.parametrize("draw", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_copies_share_nothing_that_was_made_ahead(draw):
    noise = Noise()
    draw(noise)
    copies = [copy.copy(noise), copy.deepcopy(noise), pickle.loads(pickle.dumps(noise))]
    assert len({draw(n) for n in [noise, *copies]}) == 4
    seeded = Noise(3)
    draw(seeded)
    assert draw(copy.deepcopy(seeded)) == draw(seeded)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("draw", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_forks_share_nothing_that_was_made_ahead(draw):
    noise = Noise()
    draw(noise)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, hashlib.sha256(draw(noise)).digest())
        os._exit(0)
    os.close(writer)
    theirs = os.read(reader, 32)
    os.close(reader)
    os.waitpid(child, 0)
    assert theirs != hashlib.sha256(draw(noise)).digest()


class Slow(Noise):
    """Gives other threads a chance between reading and replacing what was made ahead."""

    @property
    def _normals(self):
        time.sleep(0)
        return self._kept

    @_normals.setter
    def _normals(self, value):
        self._kept = value


@pytest.mark.parametrize("draw", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_threads_share_nothing_that_was_made_ahead(draw):
    noise, seen = Slow(), []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        work = [
            threading.Thread(target=lambda: seen.extend([draw(noise) for _ in range(1000)]))
            for _ in range(4)
        ]
        for worker in work:
            worker.start()
        for worker in work:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(set(seen)) == len(seen) == 4000


# --- optimisation -----------------------------------------------------------------------------


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
