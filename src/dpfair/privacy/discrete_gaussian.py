"""Exact draws from the discrete Gaussian: P(x) proportional to exp(-x^2 / 2 s^2) on the integers.

Many at a time, by rejection. A candidate has a fair sign, a block v = 0, 1, 2, ... with probability
2^-(v+1) and one of t = 2^k places in it, t <= s < 2t; its size is x = v t + place. It is kept with
probability

    c 2^v exp(-x^2 / 2 s^2),    c <= min over v of 2^-v exp((v t)^2 / 2 s^2),

which c keeps below one. So every integer is proposed and kept with a probability of
c exp(-x^2 / 2 s^2) / 4t; of the two zeros only one is kept. About half of the candidates are kept.

"With probability p" means that a uniform number lies below p. The number starts with 64 random
bits, and p is first computed in floating point, with an error far below an allowed margin. A number
that differs from p by more than the margin is decided. The few others (one in 2^29) are decided by
as many further bits, and digits of p, as necessary. Hence the distribution is exact, although
almost all of the work is done in floating point.

Scales above 2^41 use Algorithm 3 of Canonne, Kamath and Steinke (2020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dpfair.privacy.noise import Noise

__all__ = ["discrete_gaussian", "discrete_gaussian_by_coins"]

# A word of 64 bits is a sign, a place of up to 40 bits, and 23 coins for the block.
_PLACE_BITS = 40
COINS = 23
_ABOVE_PLACE = np.uint64(1 + _PLACE_BITS)
_ONE = np.uint64(1)

# Sizes stay below 24 t, so the exponent is below 600 and its rounding below 2^-43; exponential
# functions are right to a few units of 2^-52. Both are a thousand times below the margin.
MARGIN = 2.0**-30


@dataclass(frozen=True)
class Envelope:
    """The proposal for a variance: places as a power of two, and the constant c."""

    variance: int
    place_bits: int
    constant: Fraction


@lru_cache(maxsize=256)
def envelope_of(variance: int) -> Envelope:
    """A proposal that is above the distribution at every integer."""
    bits = (variance.bit_length() - 1) // 2
    ratio = 4.0**bits / variance  # (t / s)^2, in (1/4, 1]
    # From v = 6 on the minimum is not reached: 2^-v exp(v^2 / 8) exceeds one.
    least = min(math.exp(v * v * ratio / 2) / 2**v for v in range(6))
    return Envelope(variance, bits, Fraction(int((least - 2.0**-20) * 2**30), 2**30))


def discrete_gaussian(
    noise: Noise, variance: int, size: int, *, margin: float = MARGIN
) -> NDArray[np.int64]:
    """Independent draws for a whole variance of 1 to 2^112.

    A candidate within ``margin`` of its probability is decided by exact arithmetic. A larger margin
    draws the same numbers, more slowly; a smaller one than ``MARGIN`` is not used.
    """
    envelope, margin = envelope_of(variance), max(margin, MARGIN)
    if envelope.place_bits > _PLACE_BITS:
        large = [discrete_gaussian_by_coins(noise, variance) for _ in range(size)]
        return np.array(large, dtype=np.int64)
    kept: list[NDArray[np.int64]] = []
    missing = size
    while missing > 0:
        # Kept with a probability of almost one half, and never below 0.4.
        kept.append(_kept(noise, envelope, missing * 9 // 4 + 64, margin))
        missing -= len(kept[-1])
    return np.concatenate([np.empty(0, dtype=np.int64), *kept])[:size]


def _kept(noise: Noise, envelope: Envelope, candidates: int, margin: float) -> NDArray[np.int64]:
    """The candidates that are kept, of so many."""
    bits = envelope.place_bits
    words = noise.random_uint64(2 * candidates)
    proposal, uniform = words[:candidates], words[candidates:]
    negative = (proposal & _ONE).astype(bool)
    place = ((proposal >> _ONE) & np.uint64((1 << bits) - 1)).astype(np.int64)
    # The block is the number of ones before the first zero among the coins.
    zeros = (~proposal >> _ABOVE_PLACE).astype(np.float64)
    block = COINS - np.frexp(zeros)[1].astype(np.int64)
    x = (block << bits) + place
    exponent = block * math.log(2) - np.square(x.astype(np.float64)) / float(2 * envelope.variance)
    chance = float(envelope.constant) * np.exp(exponent)
    distance = uniform.astype(np.float64) * 2.0**-64 - chance
    keep = distance < 0
    for i in np.flatnonzero((np.abs(distance) <= margin) | (zeros == 0)).tolist():
        keep[i], x[i] = decided(noise, envelope, int(block[i]), int(place[i]), int(uniform[i]))
    keep &= ~(negative & (x == 0))
    return np.where(negative, -x, x)[keep]


def decided(
    noise: Noise, envelope: Envelope, block: int, place: int, word: int
) -> tuple[bool, int]:
    """Whether a candidate is kept, without any rounding, and its size."""
    if block == COINS:  # all ones: further coins are needed
        while noise.below(2):
            block += 1
    x = (block << envelope.place_bits) + place
    factor = envelope.constant * 2**block
    return is_below(noise, word, factor, Fraction(x * x, 2 * envelope.variance)), x


def is_below(noise: Noise, word: int, factor: Fraction, exponent: Fraction) -> bool:
    """Whether the uniform number that starts with a word is below factor * exp(-exponent)."""
    bits = 64
    while True:
        low, high = exp_enclosure(exponent, digits=bits // 3 + 20)
        if word + 1 <= factor * low * 2**bits:
            return True
        if word >= factor * high * 2**bits:
            return False
        word, bits = word << 64 | noise.below(1 << 64), bits + 64


def exp_enclosure(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Rational bounds of exp(-exponent); decimal's functions are rounded correctly."""
    context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX)
    rounded = context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    middle = Fraction(context.exp(rounded))
    # The quotient is off by at most exponent * 10^(1 - digits), the function by one unit more.
    error = middle * (exponent + 1) * Fraction(2, 10 ** (digits - 1))
    return middle - error, middle + error


def discrete_gaussian_by_coins(noise: Noise, variance: int) -> int:
    """One draw by integers alone, for any variance: the algorithm as published."""
    t = math.isqrt(variance) + 1
    while True:
        [y] = noise.discrete_laplace(Fraction(1, t), 1)
        # Kept with probability exp(-(|y| - s^2 / t)^2 / 2 s^2), here times t^2 on both sides.
        whole, rest = divmod((abs(y) * t - variance) ** 2, 2 * variance * t * t)
        if all(noise.bernoulli_exp(1, 1) for _ in range(whole)) and noise.bernoulli_exp(
            rest, 2 * variance * t * t
        ):
            return y
