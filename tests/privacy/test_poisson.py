"""The table of gaps means what the formula means, and batches are cut where they end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpfair import Noise
from dpfair.jit import can_compile
from dpfair.privacy import poisson
from dpfair.privacy.floating import uniform_numbers
from dpfair.privacy.poisson import PoissonBatches

needs_numba = pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")

INTERVALS = 1 << poisson._TABLE_BITS


def edge_words():
    """The least and the greatest words of all intervals, which the table is made of."""
    first = np.arange(INTERVALS, dtype=np.uint64) << np.uint64(64 - poisson._TABLE_BITS)
    return np.concatenate([first, first - np.uint64(1)])


def by_compiled_table(words, per_log, last, table):
    """The heads of one batch that does not end."""
    heads, ends = np.empty(4 * len(words), np.int64), np.empty(0, np.int64)
    coins = (per_log, table, 2**62)
    count, batches, final = poisson._compiled()(words, *coins, last, heads, 0, ends)
    assert batches == 0
    assert final == heads[count - 1]
    return heads[:count]


@pytest.mark.parametrize(
    "by_table", [pytest.param(by_compiled_table, marks=needs_numba), poisson._by_table]
)
@pytest.mark.parametrize("rate", [0.004, 0.0453, 0.3, 0.9, 1 - 1e-12])
def test_the_table_gives_the_heads_of_the_formula(rate, by_table):
    """Word by word: four numbers of 16 bits each, with 48 more from the end where it matters."""
    words = np.concatenate([edge_words(), Noise(2).random_uint64(30_000)])
    per_log = 1 / np.log1p(-rate)
    table = poisson._gap_table(per_log)
    heads = by_table(words, per_log, 6, table)
    numbers, further = [], words.tolist()[::-1]
    for begun, word in enumerate(words.tolist()):
        if begun + 4 >= len(further):
            break
        for shift in (48, 32, 16, 0):
            first = word >> shift & 0xFFFF
            unsure = table[first >> 16 - poisson._TABLE_BITS] < 0
            rest = further.pop(0) >> 16 if unsure else 0x5A5A5A5A5A5A
            numbers.append(first << 48 | rest)
    assert len(heads) == len(numbers) > 3 * 2**14
    expected = poisson._by_formula(np.array(numbers, np.uint64), per_log, 6)
    assert (heads == expected).all()


@pytest.mark.parametrize("rate", [0.004, 0.0453, 0.3, 0.9])
def test_the_table_leaves_to_the_formula_what_has_several_gaps(rate):
    """A row for an interval that a threshold (1 - q)^k cuts would be wrong for a part of it."""
    table = poisson._gap_table(1 / np.log1p(-rate))
    thresholds = (1 - rate) ** np.arange(1, 20)
    assert (table[(thresholds * INTERVALS).astype(int)] == -1).all()
    assert 0 < (table >= 0).mean() < 1


def test_a_gap_is_longer_than_k_with_probability_one_minus_q_to_the_k():
    """By the numbers themselves, without a logarithm: u < (1 - q)^k."""
    rate, words = Fraction(3, 1000), Noise(3).random_uint64(20_000)
    heads = PoissonBatches(float(rate), 5_000_000).next(lambda count: words)
    gaps = np.diff(heads, prepend=-1) - 1
    numbers = uniform_numbers(words)[: len(gaps)]
    for k in range(1, 1200):
        assert ((gaps >= k) == (numbers < float((1 - rate) ** k))).all()


def test_without_numba_the_batches_are_the_same(monkeypatch):
    def some(rate, population):
        batches, noise = PoissonBatches(rate, population), Noise(4)
        return [batches.next(noise.random_uint64).tolist() for _ in range(300)]

    cases = [(0.05, n) for n in (0, 1, 300, 722, 723, 5000, 40_000)] + [(0.9, 17), (0.004, 10**4)]
    expected = [some(*case) for case in cases]
    monkeypatch.setattr(poisson, "can_compile", lambda: False)
    assert [some(*case) for case in cases] == expected


@pytest.mark.parametrize("rate", [0.004, 0.05, 0.5, 0.99])
def test_frequencies_are_those_of_independent_coins(rate):
    noise, population = Noise(5), 1000
    batches = PoissonBatches(rate, population)
    counts = np.zeros(population)
    sizes = []
    for _ in range(4000):
        chosen = batches.next(noise.random_uint64)
        counts[chosen] += 1
        sizes.append(len(chosen))
    mean, variance = population * rate, population * rate * (1 - rate)
    assert abs(np.mean(sizes) - mean) < 5 * (variance / 4000) ** 0.5
    assert abs(np.var(sizes) / variance - 1) < 5 * (2 / 4000) ** 0.5 + 0.01
    chi2 = ((counts - 4000 * rate) ** 2).sum() / (4000 * rate * (1 - rate))
    assert abs(chi2 - population) < 5 * (2 * population) ** 0.5
