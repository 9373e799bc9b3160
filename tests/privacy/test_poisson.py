"""The table of gaps means what the formula means, and batches are cut where they end."""

from __future__ import annotations

from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest

from dpfair import Noise
from dpfair.privacy import poisson
from dpfair.privacy.poisson import PoissonBatches, uniform_numbers

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="needs the extra 'fast'")

INTERVALS = 1 << poisson._TABLE_BITS


def edge_words():
    """The least and the greatest words of all intervals, which the table is made of."""
    first = np.arange(INTERVALS, dtype=np.uint64) << np.uint64(64 - poisson._TABLE_BITS)
    return np.concatenate([first, first - np.uint64(1)])


@needs_numba
@pytest.mark.parametrize("rate", [0.004, 0.0453, 0.3, 0.9, 1 - 1e-12])
def test_the_table_gives_the_heads_of_the_formula(rate):
    words = np.concatenate([edge_words(), Noise(2).random_uint64(300_000)])
    batches = PoissonBatches(rate)
    heads = np.empty((2, len(words)), dtype=np.int64)
    poisson._by_formula(words, batches._per_log, -1, heads[0])
    poisson._by_table()(words, batches._per_log, -1, heads[1], batches._table)
    assert (heads[0] == heads[1]).all()


@pytest.mark.parametrize("rate", [0.004, 0.0453, 0.3, 0.9])
def test_the_table_leaves_to_the_formula_what_has_several_gaps(rate):
    """A row for an interval that a threshold (1 - q)^k cuts would be wrong for a part of it."""
    table = poisson._gap_table(PoissonBatches(rate)._per_log)
    thresholds = (1 - rate) ** np.arange(1, 20)
    assert (table[(thresholds * INTERVALS).astype(int)] == -1).all()
    assert 0 < (table >= 0).mean() < 1


def test_a_gap_is_longer_than_k_with_probability_one_minus_q_to_the_k():
    """By the numbers themselves, without a logarithm: u < (1 - q)^k."""
    rate, words = Fraction(3, 10), Noise(3).random_uint64(20_000)
    heads = PoissonBatches(float(rate)).next(50_000, lambda count: words)
    gaps = np.diff(heads, prepend=-1) - 1
    numbers = uniform_numbers(words)[: len(gaps)]
    for k in range(1, 12):
        assert ((gaps >= k) == (numbers < float((1 - rate) ** k))).all()


def test_without_numba_the_batches_are_the_same(monkeypatch):
    def some(batches, noise):
        sizes = [5000, 5000, 300, 0, 1, 5000, 40_000]
        return [batches.next(n, noise.random_uint64).tolist() for n in sizes * 20]

    expected = some(PoissonBatches(0.05), Noise(4))
    monkeypatch.setattr(poisson, "find_spec", lambda name: None)
    plain = PoissonBatches(0.05)
    assert plain._table is None
    assert some(plain, Noise(4)) == expected
