"""The sources of randomness.

All randomness is made from 64-bit words by the code below, so that a seeded run and a private run
use the same code. The default source is OpenSSL's generator (AES-256 in counter mode,
seeded by the operating system; seventeen times faster here than asking the system for every
word). A seeded source makes a run repeatable, but anyone who knows the seed can subtract the noise:
its results are marked as not private.
"""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.privacy.discrete_gaussian import discrete_gaussian
from dpfair.privacy.floating import normal_numbers, uniform_numbers
from dpfair.privacy.poisson import PoissonBatches

__all__ = ["Noise", "noise_from", "noise_source"]

T = TypeVar("T")

_BUFFER_BYTES = 1 << 16
_WORD = np.dtype("<u8")

# Noisy numbers are made at least this many at a time.
_BULK = 1 << 12
# Of so many variances, and batches of so many rates and populations.
_MOST_KINDS = 8

# Buffered randomness, which must never be used twice.
_AHEAD = frozenset({"_buffer", "_used", "_normals", "_normals_used", "_batches", "_integers"})


class Noise:
    """A source of uniform words, and the distributions that dpfair draws from.

    Parameters
    ----------
    seed
        None for the cryptographically secure source, a whole number for a repeatable one.

    Examples
    --------
    >>> Noise().secure, Noise(seed=7).secure
    (True, False)
    >>> Noise(seed=7).discrete_laplace(Fraction(1, 10), size=4)
    [8, -3, 19, 8]
    """

    def __init__(self, seed: int | None = None) -> None:
        self.secure = seed is None
        self._generator = None
        if seed is not None:
            validate.at_least(0, seed=seed)
            self._generator = np.random.Philox(np.random.SeedSequence(int(seed)))
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._forget()

    def __getstate__(self) -> dict[str, object]:
        """A copy never shares unused randomness with the original."""
        hidden = {"_lock"} | (_AHEAD if self.secure else set())
        return {k: v for k, v in self.__dict__.items() if k not in hidden}

    def __setstate__(self, state: dict[str, object]) -> None:
        self._forget()
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def _forget(self) -> None:
        """Discard all buffered randomness."""
        self._buffer, self._used = b"", 0
        self._normals, self._normals_used = np.empty(0), 0
        self._batches: dict[tuple[float, int], PoissonBatches] = {}
        self._integers: dict[int, NDArray[np.int64]] = {}

    def _forget_after_fork(self) -> None:
        if self.secure:
            self._forget()
        self._owner = os.getpid()

    def answer(self, question: object, noisy: Callable[[], T]) -> T:
        """Draw the noisy answer to a question about private records.

        Every noisy answer is drawn by this method, so an audit can observe them in one place.
        """
        return noisy()

    def recall(self, question: object) -> Any:
        """The answer to a question if it is known from before, or None.

        The question has no value yet: it is not computed if the answer is known.
        """
        return None

    def end(self) -> None:
        """Everything that a job was charged for is drawn."""

    def random_uint64(self, count: int) -> NDArray[np.uint64]:
        """Independent uniform 64-bit words."""
        return np.frombuffer(self.take(8 * count), dtype=_WORD)

    def take(self, count: int) -> bytes:
        """Independent uniform bytes, never used twice (by threads, or after a fork)."""
        with self._lock:
            if self._owner != os.getpid():
                self._forget_after_fork()
            if count > _BUFFER_BYTES:
                return self._fresh(count)
            if self._used + count > len(self._buffer):
                self._buffer, self._used = self._fresh(_BUFFER_BYTES), 0
            start = self._used
            self._used += count
            return self._buffer[start : self._used]

    def _fresh(self, count: int) -> bytes:
        if self._generator is None:
            return ssl.RAND_bytes(count)
        words = self._generator.random_raw(-(-count // 8)).astype("<u8")
        return words.tobytes()[:count]

    def below(self, bound: int) -> int:
        """A uniform whole number in [0, bound), exactly: by rejection, for any size."""
        bits = (bound - 1).bit_length()
        size = -(-bits // 8)
        while True:
            value = int.from_bytes(self.take(size), "little") >> (8 * size - bits)
            if value < bound:
                return value

    def uniforms(self, count: int) -> NDArray[np.float64]:
        """Uniform numbers strictly between 0 and 1: the middles of 2^52 equal intervals."""
        return uniform_numbers(self.random_uint64(count))

    def normals(self, count: int) -> NDArray[np.float64]:
        """Standard normal numbers, by the inverse distribution function.

        Floating point: the grid of the outputs is that of :meth:`uniforms`, not of the data.
        """
        with self._lock:
            if self._owner != os.getpid():
                self._forget_after_fork()
            if self._normals_used + count > len(self._normals):
                self._normals = normal_numbers(self.random_uint64(max(count, _BULK)))
                self._normals_used = 0
            first = self._normals_used
            self._normals_used += count
            return self._normals[first : self._normals_used]

    def poisson_batch(self, population: int, rate: float) -> NDArray[np.int64]:
        """Each of ``population`` positions with probability ``rate``, independently.

        One coin per position; see :mod:`dpfair.privacy.poisson`. The next batch of this rate and
        population continues the same sequence of coins.
        """
        with self._lock:
            if self._owner != os.getpid():
                self._forget_after_fork()
            batches = self._batches.get((rate, population))
            if batches is None:
                if len(self._batches) == _MOST_KINDS:
                    self._batches.clear()
                batches = self._batches[rate, population] = PoissonBatches(rate, population)
            return batches.next(self.random_uint64)

    def exact_batch(self, population: int, rate: float) -> NDArray[np.int64]:
        """Each of ``population`` positions with probability ``rate``, independently, exactly.

        One coin of 64 bits per position, hence slower than :meth:`poisson_batch`: heads if they
        are below the rate, which is rounded down to a multiple of 2^-64. The first 16 bits
        usually decide; ties are broken by the others.
        """
        first, others = divmod(int(Fraction(rate) * 2**64), 1 << 48)
        starts = np.frombuffer(self.take(2 * population), dtype="<u2")
        heads, ties = starts < first, np.flatnonzero(starts == first)
        heads[ties] = self.random_uint64(len(ties)) >> np.uint64(16) < others
        return np.flatnonzero(heads)

    def discrete_gaussian(self, variance: int, size: int) -> NDArray[np.int64]:
        """Integers z with probability proportional to exp(-z^2 / (2 variance)), exactly.

        See :mod:`dpfair.privacy.discrete_gaussian`. They are buffered, for a few variances.
        """
        with self._lock:
            if self._owner != os.getpid():
                self._forget_after_fork()
            if variance not in self._integers and len(self._integers) == _MOST_KINDS:
                self._integers.clear()
            ahead = self._integers.pop(variance, np.empty(0, dtype=np.int64))
            if len(ahead) < size:
                more = discrete_gaussian(self, variance, max(size - len(ahead), _BULK))
                ahead = np.concatenate([ahead, more])
            self._integers[variance] = ahead[size:]
            return ahead[:size]

    def discrete_laplace(self, parameter: Fraction, size: int) -> list[int]:
        """Integers z with probability proportional to exp(-parameter |z|), exactly.

        Canonne, Kamath and Steinke (2020), Algorithm 2: integer arithmetic only, so there
        is no rounding that could distinguish neighbours.
        """
        numerator, denominator = parameter.numerator, parameter.denominator
        return [self._discrete_laplace(numerator, denominator) for _ in range(size)]

    def _discrete_laplace(self, numerator: int, denominator: int) -> int:
        while True:
            # A geometric variable in steps of 1/denominator, split in remainder and whole part.
            remainder = self.below(denominator)
            if not self.bernoulli_exp(remainder, denominator):
                continue
            whole = 0
            while self.bernoulli_exp(1, 1):
                whole += 1
            magnitude = (remainder + denominator * whole) // numerator
            negative = self.below(2) == 1
            if not (negative and magnitude == 0):
                return -magnitude if negative else magnitude

    def repetitions(self, halting: Fraction, shape: Fraction) -> int:
        """A truncated negative binomial number k = 1, 2, ..., exactly, for a shape in [0, 1].

        P(k) is proportional to (1 - halting)^k times the product of (j - 1 + shape) / j over
        j = 2..k. Both factors are coins: one stops the count, the other starts it again.
        """
        count = 1
        while not self._coin(halting):
            count += 1
            if not self._coin((count - 1 + shape) / count):
                count = 1
        return count

    def _coin(self, probability: Fraction) -> bool:
        return self.below(probability.denominator) < probability.numerator

    def bernoulli_exp(self, numerator: int, denominator: int) -> bool:
        """True with probability exp(-numerator/denominator), for a ratio in [0, 1]."""
        k = 1
        while self.below(denominator * k) < numerator:
            k += 1
        return k % 2 == 1


_source: ContextVar[Callable[[int | None], Noise]] = ContextVar("noise source", default=Noise)


def noise_source(seed: int | None) -> Noise:
    """The source of noise of a method: :class:`Noise`, unless an audit provides another one."""
    return _source.get()(seed)


@contextmanager
def noise_from(make: Callable[[int | None], Noise]) -> Iterator[None]:
    """A context in which every method draws from the sources that ``make`` returns.

    A source that is not secure has ``secure = False``, and the certificate of a model that was made
    with it does not claim privacy.
    """
    token = _source.set(make)
    try:
        yield
    finally:
        _source.reset(token)
