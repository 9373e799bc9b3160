"""Batches are independent coins of the stated rate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpfair.privacy.noise import Noise


def inclusion_z_scores(noise, population, rate, others=(), rounds=4000):
    """How often each position was chosen, alone, beside its neighbour and twice in a row.

    In standard deviations; and the variance of the batch size over that of a binomial.
    """
    chosen = np.zeros((rounds, population), dtype=bool)
    for row in chosen:
        for other in others:
            noise.poisson_batch(*other)
        row[noise.poisson_batch(population, rate)] = True
    z = [(chosen.sum(axis=0) - rounds * rate) / (rounds * rate * (1 - rate)) ** 0.5]
    for together in (chosen[:, :-1] & chosen[:, 1:], chosen[:-1] & chosen[1:]):
        n = len(together)
        z.append((together.sum(axis=0) - n * rate**2) / (n * rate**2 * (1 - rate**2)) ** 0.5)
    spread = chosen.sum(axis=1).var() / (population * rate * (1 - rate))
    return np.abs(np.concatenate(z)).max(), spread


class Shuffled(Noise):
    """Batches of a fixed size: the mistake of opacus#80."""

    def poisson_batch(self, population, rate):
        keys = self.uniforms(population)
        return np.sort(np.argsort(keys)[: round(population * rate)])


class Repeated(Noise):
    """Uses every batch twice."""

    last = None

    def poisson_batch(self, population, rate):
        batch, self.last = self.last, None
        if batch is None:
            batch = self.last = super().poisson_batch(population, rate)
        return batch


@pytest.mark.parametrize("others", [(), [(7, 0.2)], [(50, 0.3)], [(3, 0.01), (1000, 0.2)]], ids=str)
def test_batches_are_independent_coins(others):
    """Whatever other batches, of other sizes and rates, are drawn between them."""
    worst, spread = inclusion_z_scores(Noise(seed=6), 50, 0.2, others)
    assert worst < 5
    assert 0.85 < spread < 1.15


def test_batches_are_cut_from_one_sequence_of_coins():
    """No coin is used twice or left out, wherever one batch ends and the next one starts."""
    for population in (0, 1, 7, 1000, 5000):
        noise, found = Noise(seed=6), []
        for i in range(100):
            found.extend((i * population + noise.poisson_batch(population, 0.03)).tolist())
        assert found == Noise(seed=6).poisson_batch(100 * population, 0.03).tolist()


def test_a_batch_is_not_changed_by_the_next_ones():
    noise = Noise(seed=6)
    batches, copies = [], []
    for _ in range(300):
        batches.append(noise.poisson_batch(1000, 0.1))
        copies.append(batches[-1].tolist())
    assert [batch.tolist() for batch in batches] == copies


def test_dependent_batches_are_rejected():
    assert inclusion_z_scores(Shuffled(seed=6), 50, 0.2)[1] < 0.5
    assert inclusion_z_scores(Repeated(seed=6), 50, 0.2)[0] > 5


@pytest.mark.parametrize(
    ("population", "rate"), [(0, 0.5), (1, 0.5), (5, 0.999), (100, 1e-18), (100, 1e-300)]
)
@pytest.mark.parametrize("method", ["poisson_batch", "exact_batch"])
def test_batches_at_the_edges(population, rate, method):
    sample = getattr(Noise(seed=7), method)
    for _ in range(50):
        batch = sample(population, rate)
        assert ((batch >= 0) & (batch < population)).all()
        assert (np.diff(batch) > 0).all()
        assert rate > 1e-9 or len(batch) == 0


@pytest.mark.parametrize("rate", [0.5, 0.045, 1e-3])
def test_exact_coins_have_their_rate_and_are_independent(rate):
    noise, flips = Noise(seed=8), 400
    batches = [noise.exact_batch(500, rate) for _ in range(flips)]
    coins = np.zeros((flips, 500))
    for row, batch in zip(coins, batches, strict=True):
        row[batch] = 1
    assert stats.binomtest(int(coins.sum()), coins.size, rate).pvalue > 1e-6
    assert stats.binomtest(int(coins.sum()), coins.size, min(1, rate * 1.25)).pvalue < 1e-3
    both = int((coins[:, 1:] * coins[:, :-1]).sum())
    assert stats.binomtest(both, coins[:, 1:].size, rate**2).pvalue > 1e-6


class Coins(Noise):
    """The 64 bits of every coin, given."""

    coins = (0, 2**63 - 1, 2**63, 2**64 - 1)

    def take(self, count):
        assert count == 2 * len(self.coins)
        return np.array([c >> 48 for c in self.coins], dtype="<u2").tobytes()

    def random_uint64(self, count):
        tied = [c for c in self.coins if c >> 48 == self.first]
        assert count == len(tied)
        return np.array([c % 2**48 << 16 for c in tied], dtype=np.uint64)


@pytest.mark.parametrize(
    ("rate", "heads"),
    [
        (0.5, [0, 1]),
        (0.5 + 2.0**-53, [0, 1, 2]),
        (0.5 - 2.0**-54, [0]),
        (2.0**-65, []),
        (2.0**-64, [0]),
        (1 - 2.0**-53, [0, 1, 2]),
    ],
)
def test_exact_coins_are_heads_below_the_rate_rounded_down(rate, heads):
    noise = Coins(0)
    noise.first = int(Fraction(rate) * 2**16)
    assert noise.exact_batch(4, rate).tolist() == heads
