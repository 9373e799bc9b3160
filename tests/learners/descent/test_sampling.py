"""The batches of a descent are Poisson samples."""

from __future__ import annotations

import numpy as np
import pytest
from learners.descent.running import CLIP, run, sample

from dpfair.learners.descent import Descent, FlatClip, LogisticLoss
from dpfair.privacy.noise import Noise


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
