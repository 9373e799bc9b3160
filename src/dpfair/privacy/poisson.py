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
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PoissonBatches", "uniform_numbers"]

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Words = NDArray[np.uint64]
Gaps = NDArray[np.int16]

_LOW_BITS = np.uint64(12)
_ONE = np.float64(1.0).view(np.uint64)

# Gaps are made at least this many at a time; at most so many batches are looked for in them.
_GAPS, _BATCHES = 1 << 15, 64

# A gap that is larger than any population; the sum of all that are made at once is below 2^63.
_FARTHEST = 2.0**47

# Four numbers begin in a word, with 16 bits each. The table has 2^14 intervals. At lower rates, few
# of them have one gap.
_PER_WORD, _TABLE_BITS, _FREQUENT = 4, 14, 2.0**-8


def uniform_numbers(words: Words) -> Float64:
    """Uniform numbers strictly between 0 and 1: the middles of 2^52 equal intervals."""
    bits = words >> _LOW_BITS
    bits |= _ONE  # as a number, this is in [1, 2)
    result = bits.view(np.float64)
    result -= 1 - 2.0**-53
    return result


class PoissonBatches:
    """Batches of one sampling rate.

    Parameters
    ----------
    rate
        The probability that a record is in a batch, below 1.

    Examples
    --------
    >>> words = iter([[0.9999, 0.9985, 0.9965], [0.9]])
    >>> batches = PoissonBatches(0.001)
    >>> draw = lambda count: np.array([int(u * 2**64) for u in next(words)], np.uint64)
    >>> batches.next(5, draw), batches.next(50, draw)
    (array([0, 2]), array([1]))
    """

    def __init__(self, rate: float) -> None:
        self.rate, self._per_log = rate, 1 / math.log1p(-rate)
        self._table = _gap_table(self._per_log) if rate > _FREQUENT else None
        self._by_table = _by_table if find_spec("numba") is None else _by_compiled_table
        # The heads that are known, as positions. The next batch has the positions from ``first``
        # on, and its first head is number ``used``.
        self._heads, self._used, self._first, self._last = np.empty(0, np.int64), 0, 0, -1
        # The next batches of so many positions end before these heads, in reverse order.
        self._population, self._ends = 0, list[int]()

    def next(self, population: int, random_words: Callable[[int], Words]) -> Int64:
        """The heads among the next ``population`` coins, counted from the first of these.

        ``random_words`` gives so many uniform 64-bit words.
        """
        if not (self._ends and population == self._population):
            self._find_ends(population, random_words)
        start, self._used = self._used, self._ends.pop()
        chosen = self._heads[start : self._used]
        chosen -= self._first  # nobody else sees this part
        self._first += population
        return chosen

    def _find_ends(self, population: int, random_words: Callable[[int], Words]) -> None:
        while self._last < self._first + population:
            self._flip_more(population, random_words)
        known = (self._last - self._first) // population if population else 1
        ends = self._first + population * np.arange(min(known, _BATCHES), 0, -1)
        after = self._used + self._heads[self._used :].searchsorted(ends)
        self._population, self._ends = population, after.tolist()

    def _flip_more(self, population: int, random_words: Callable[[int], Words]) -> None:
        """Continue the heads, and count from the first position of the next batch."""
        mean = population * self.rate
        wanted = max(int(mean + 3 * mean**0.5), _GAPS)
        known, last = self._heads[self._used :] - self._first, self._last - self._first
        if self._table is None:
            more = _by_formula(random_words(wanted), self._per_log, last)
        else:
            # Fewer than four of a word: some take a word of their own.
            more = self._by_table(random_words(wanted // 3), self._per_log, last, self._table)
        heads = np.concatenate([known, more])
        self._heads, self._used, self._first, self._last = heads, 0, 0, int(heads[-1])


def _by_formula(words: Words, per_log: float, last: int) -> Int64:
    """The heads after the last one, one for every word."""
    gaps = np.log(uniform_numbers(words))
    gaps *= per_log
    np.minimum(gaps, _FARTHEST, out=gaps)
    steps = gaps.astype(np.int64)
    steps += 1
    steps[0] += last
    return np.cumsum(steps, out=steps)


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


def _by_compiled_table(words: Words, per_log: float, last: int, table: Gaps) -> Int64:
    """The same heads, with numba."""
    heads = np.empty(_PER_WORD * len(words), dtype=np.int64)
    return heads[: _compiled()(words, per_log, last, table, heads)]


def _table_loop(words: Any, per_log: float, last: int, table: Any, heads: Any) -> int:
    """The same for the compiler; returns the number of heads."""
    begun, left, count = 0, words.shape[0], 0
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
            heads[count] = last
            count += 1
    return count


@cache
def _compiled() -> Callable[..., int]:
    from numba import njit

    loop: Callable[..., int] = njit(cache=True, nogil=True, error_model="numpy")(_table_loop)
    return loop
