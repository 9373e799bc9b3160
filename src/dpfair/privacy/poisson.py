r"""Poisson batches, cut from one long sequence of coins.

The gaps between heads are geometric: a uniform number u means
:math:`\lfloor \log u / \log(1 - q) \rfloor` tails before the next head, so the cost grows with the
batch and not with the population. The first bits of u usually decide: a table has the gap of every
interval all of whose numbers mean the same one. So a word of 64 bits makes four gaps. Other numbers
get their further bits from a word of their own, and the formula gives the gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.jit import Compiled, can_compile
from dpfair.privacy.floating import Words, uniform_numbers

__all__ = ["PoissonBatches"]

Int64 = NDArray[np.int64]
Gaps = NDArray[np.int16]

# Gaps are made at least this many at a time; at most so many batches are looked for in them.
_GAPS, _BATCHES = 1 << 15, 64

# The logarithm of a uniform number is never smaller.
_LEAST_LOG = -37.0

# A gap that is larger than any population; the sum of all that are made at once is below 2^63.
_FARTHEST = 2.0**47

# Four numbers begin in a word, with 16 bits each. The table has 2^14 intervals. At lower rates, few
# of them have one gap.
_PER_WORD, _TABLE_BITS, _FREQUENT = 4, 14, 2.0**-8


class PoissonBatches:
    """Batches of one sampling rate from one population.

    Parameters
    ----------
    rate
        The probability that a record is in a batch, below 1.
    population
        How many records a batch is drawn from.

    Examples
    --------
    >>> words = iter([[0.9999, 0.9985, 0.9965], [0.9]])
    >>> batches = PoissonBatches(0.001, population=5)
    >>> draw = lambda count: np.array([int(u * 2**64) for u in next(words)], np.uint64)
    >>> batches.next(draw), batches.next(draw)
    (array([0, 2]), array([1]))
    """

    def __init__(self, rate: float, population: int) -> None:
        self.rate, self.population = rate, population
        self._per_log = 1 / math.log1p(-rate)
        self._table = _gap_table(self._per_log) if rate > _FREQUENT else None
        # The compiled loop expects at most one end of a batch between two heads.
        one_end = self._table is not None and _LEAST_LOG * self._per_log < population
        self._by_loop = one_end and can_compile()
        # The next batches, in reverse order; then the heads that are known of further ones, and
        # the last of them, counted from the first coin of the first of these batches.
        self._ready, self._heads, self._last = list[Int64](), np.empty(0, np.int64), -1

    def next(self, random_words: Callable[[int], Words]) -> Int64:
        """The heads among the next coins of the sequence, one for every record.

        ``random_words`` gives so many uniform 64-bit words.
        """
        while not self._ready:
            if self._last < self.population:
                mean = self.population * self.rate
                wanted = max(int(mean + 3 * mean**0.5), _GAPS)
                # A word has four heads; some take a word of their own.
                words = random_words(wanted if self._table is None else wanted // 3)
                if self._by_loop:
                    self._add_compiled(words)
                    continue
                self._add(words)
            self._cut()
        return self._ready.pop()

    def _add(self, words: Words) -> None:
        """Add the heads that words mean."""
        if self._table is None:
            more = _by_formula(words, self._per_log, self._last)
        else:
            more = _by_table(words, self._per_log, self._last, self._table)
        self._heads, self._last = np.concatenate([self._heads, more]), int(more[-1])

    def _cut(self) -> None:
        """Cut off batches whose ends are known."""
        known = min(self._last // self.population if self.population else 1, _BATCHES)
        starts = self.population * np.arange(known + 1)
        firsts = self._heads.searchsorted(starts).tolist()
        ready = [self._heads[firsts[k] : firsts[k + 1]] - starts[k] for k in reversed(range(known))]
        rest, last = self._heads[firsts[-1] :] - starts[-1], self._last - int(starts[-1])
        # All at once: an interrupt in between would lose heads.
        self._ready, self._heads, self._last = ready, rest, last

    def _add_compiled(self, words: Words) -> None:
        """Add the heads that words mean, and cut off all batches whose ends are known."""
        known = len(self._heads)
        heads = np.empty(known + _PER_WORD * len(words), np.int64)
        heads[:known], ends = self._heads, np.empty(len(heads), np.int64)
        coins = (self._per_log, self._table, self.population)
        count, batches, last = _compiled()(words, *coins, self._last, heads, known, ends)
        starts = [0, *ends[:batches].tolist()]
        cuts = zip(reversed(starts[:-1]), reversed(starts[1:]), strict=True)
        ready, rest = [heads[start:end] for start, end in cuts], heads[starts[-1] : count]
        self._ready, self._heads, self._last = ready, rest, last


def _by_formula(words: Words, per_log: float, last: int) -> Int64:
    """The heads after the last one, one for every word."""
    gaps = np.log(uniform_numbers(words))
    gaps *= per_log
    np.minimum(gaps, _FARTHEST, out=gaps)
    steps = gaps.astype(np.int64)
    steps += 1
    steps[0] += last
    return np.cumsum(steps, out=steps)


@lru_cache(maxsize=4)
def _gap_table(per_log: float) -> Gaps:
    """The gap that all numbers of an interval mean; -1 if they mean several."""
    first = np.arange(1 << _TABLE_BITS, dtype=np.uint64) << np.uint64(64 - _TABLE_BITS)
    last = first | np.uint64((1 << 64 - _TABLE_BITS) - 1)
    longest, shortest = (
        (np.log(uniform_numbers(words)) * per_log).astype(np.int16) for words in (first, last)
    )
    return np.where(longest == shortest, longest, np.int16(-1))


def _by_table(words: Words, per_log: float, last: int, table: Gaps) -> Int64:
    """The heads after the last one: up to four for every word.

    Words for further bits are taken from the end. No word is begun that could lack them, so how
    many heads there are does not depend on a number that is not used.
    """
    pieces = words.byteswap().view(np.uint16).byteswap()  # the first bits of a word first
    gaps = table[pieces >> (16 - _TABLE_BITS)].astype(np.int64)
    unsure = (gaps < 0).reshape(-1, _PER_WORD).sum(axis=1)
    taken = np.arange(len(words)) + np.cumsum(unsure) - unsure
    heads = gaps[: _PER_WORD * np.count_nonzero(taken + _PER_WORD < len(words))]
    places = np.flatnonzero(heads < 0)
    numbers = pieces[places].astype(np.uint64) << np.uint64(48)
    numbers |= words[::-1][: len(places)] >> np.uint64(16)
    heads[places] = np.log(uniform_numbers(numbers)) * per_log
    heads += 1
    heads[:1] += last
    return np.cumsum(heads, out=heads)


def _table_loop(
    words: Any,
    per_log: float,
    table: Any,
    population: int,
    last: int,
    heads: Any,
    count: int,
    ends: Any,
) -> tuple[int, int, int]:
    """The same for the compiler, with every head counted from the first coin of its batch.

    The first ``count`` heads are known, up to the last one. ``ends`` gets the number of heads up to
    the end of every batch. The result is the number of heads and of ends, and the last head.
    """
    begun, left, batches = 0, words.shape[0], 0
    while begun + _PER_WORD < left:
        word = words[begun]
        begun += 1
        for k in range(_PER_WORD):
            piece = word >> np.uint64(48 - 16 * k) & np.uint64(0xFFFF)
            gap = int(table[piece >> np.uint64(16 - _TABLE_BITS)])
            if gap < 0:
                left -= 1
                number = piece << np.uint64(48) | words[left] >> np.uint64(16)
                middle = (np.float64(number >> np.uint64(12)) + 0.5) * 2.0**-52
                gap = int(math.log(middle) * per_log)
            last += gap + 1
            if last >= population:
                last -= population
                ends[batches] = count
                batches += 1
            heads[count] = last
            count += 1
    return count, batches, last


@cache
def _compiled() -> Compiled:
    return Compiled(_table_loop)
