"""Tails of a binomial count with added noise, for many rates at once, rounded up."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["NoiseLaw", "binomial_window", "expected_chance", "reaches", "rounded_up"]

Floats = NDArray[np.float64]

_NEGLECTED = 1e-12
_SLACK = 1e-9
_CELLS = 1_000_000
_TABULATED = 1 << 17  # log-factorials of smaller numbers are kept
_STRIDE = 8  # columns of binomial masses from one exponential


@dataclass(frozen=True)
class NoiseLaw:
    """Distributions of the noise on a count: masses[i, law] at places[i], only rounded up."""

    places: Floats
    masses: Floats

    @property
    def variance(self) -> float:
        """The largest second moment."""
        return float((self.places**2 @ self.masses).max())

    @cached_property
    def from_the_top(self) -> Floats:
        """The mass of the highest place, of the two highest, and so on."""
        return np.cumsum(self.masses[::-1], axis=0)


def expected_chance(n: int, rates: Floats, chance: Callable[[Floats], Floats]) -> Floats:
    """The mean of chance(C) over C ~ Binomial(n, p) for every p, rounded up.

    ``chance`` maps counts to probabilities. Rates next to each other should be near each other.
    """
    clipped = np.minimum(np.maximum(rates, 1e-15), 1 - 1e-15)  # np.clip is slower
    spread = 6 * math.sqrt(n * float((clipped * (1 - clipped)).max())) + 40
    distance = n * float(clipped.max() - clipped.min())
    # Rates far from each other have few counts in common, and no table may fill the memory.
    wanted = max(distance / spread, 3 * spread * len(clipped) / _CELLS, 1)
    pieces = min(int(wanted), len(clipped))
    found = []
    for p in np.array_split(clipped, pieces) if pieces > 1 else [clipped]:
        low, high = _likely(n, float(p.min()), float(p.max()))
        found.append(_binomial(n, p, low, high + 1) @ chance(np.arange(low, high + 1.0)))
    return rounded_up(n, np.concatenate(found) if pieces > 1 else found[0])


def reaches(n: int, rates: Floats, noise: NoiseLaw, k: float) -> Floats:
    """P(Binomial(n, p) + noise >= k) for every p under the worst law, rounded up.

    The places of the noise must not fall, nor the rates change direction.
    """
    needed = np.clip(np.ceil(k - noise.places), 0, n + 1).astype(np.int64)[::-1]
    # From starts[i] counts on, the noise suffices with probability enough[i].
    last = np.flatnonzero(np.diff(needed, append=n + 2))
    starts, enough = needed[last], noise.from_the_top[last]
    clipped = np.clip(rates, 1e-15, 1 - 1e-15)
    # Rates far from each other have few counts in common.
    spread = 6 * math.sqrt(n * float((clipped * (1 - clipped)).max())) + 40
    pieces = int(np.clip((starts[-1] - starts[0]) // spread, 1, min(12, len(clipped))))
    worst = np.concatenate(
        [_chances(n, p, starts, enough) for p in np.array_split(clipped, pieces)]
    )
    return rounded_up(n, worst)


def binomial_window(n: int, p: float) -> tuple[Floats, Floats]:
    """Counts and probabilities of Binomial(n, p), without a mass of at most 1e-12.

    The window is Bernstein's: P(|C - np| > w) <= 2 exp(-w^2 / (2 np(1-p) + 2w/3)). The weights
    come from the ratios of neighbours and are scaled to sum to 1, so that no large logarithms
    cancel; scaling changes any tail by at most the neglected mass.

    Examples
    --------
    >>> counts, weights = binomial_window(2, 0.5)
    >>> counts.tolist(), weights.round(12).tolist()
    ([0.0, 1.0, 2.0], [0.25, 0.5, 0.25])
    """
    if n == 0 or p <= 0 or p >= 1:
        return np.array([float(n) if p >= 1 else 0.0]), np.ones(1)
    mean, third = n * p, math.log(2 / _NEGLECTED) / 3
    half = third + math.sqrt(third**2 + 6 * third * mean * (1 - p))
    counts = np.arange(max(0, math.floor(mean - half)), min(n, math.ceil(mean + half)) + 1.0)
    steps = np.log((n - counts[:-1]) * p / (counts[1:] * (1 - p)))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    return counts, weights / weights.sum()


def rounded_up(n: int, chances: Floats) -> Floats:
    """Probabilities of counts of n records, plus an allowance for rounding and neglected mass."""
    # The logarithms' rounding.
    slack = _SLACK + 4 * sys.float_info.epsilon * math.lgamma(n + 1)
    return np.minimum(1.0, chances * (1 + slack) + _SLACK)


def _chances(n: int, p: Floats, starts: NDArray[np.int64], enough: Floats) -> Floats:
    """The largest mean, over the columns, of ``enough`` at a Binomial(n, p) count."""
    low, high = _likely(n, float(p.min()), float(p.max()))
    first = max(int(np.searchsorted(starts, low, side="right")) - 1, 0)
    last = max(int(np.searchsorted(starts, high, side="right")) - 1, first)
    begins = np.maximum(starts[first : last + 1], low)
    # Up to the last start every count has its own mass; beyond it, one tail is used.
    end = int(begins[-1])
    total = np.zeros((len(p), enough.shape[1]))
    if last > first:
        masses = _binomial(n, p, int(begins[0]), end)
        lengths, chances = np.diff(begins), enough[first:last]
        if 2 * len(lengths) < masses.shape[1]:
            masses = np.add.reduceat(masses, begins[:-1] - begins[0], axis=1)
        elif len(lengths) < masses.shape[1]:  # a few repetitions cost less than the sums
            chances = np.repeat(chances, lengths, axis=0)
        total = masses @ chances
    if end <= n:
        # bdtrc(m, n, p) = P(Binomial > m), for 0 <= m < n.
        rest = special.bdtrc(end - 1, n, p) if end > 0 else np.ones(len(p))
        total += rest[:, None] * enough[last]
    largest: Floats = total.max(axis=1)
    return largest


def _likely(n: int, smallest: float, largest: float) -> tuple[int, int]:
    """Counts between which all but 1e-15 of Binomial(n, p) lies, for p in a range (Bernstein)."""
    third = math.log(2e15) / 3
    low, high = (
        third + math.sqrt(third**2 + 6 * third * n * p * (1 - p)) for p in (smallest, largest)
    )
    return max(0, math.floor(n * smallest - low)), min(n, math.ceil(n * largest + high))


def _binomial(n: int, p: Floats, low: int, high: int) -> Floats:
    """P(Binomial(n, p) = c) [p, c] for low <= c < high.

    Exponentials are slow: only every eighth column has one, the others are products.
    """
    counts, logs = np.arange(low, high), _log_choices(n, low, high)
    every, odds = slice(None, None, _STRIDE), (np.log(p) - np.log1p(-p))[:, None]
    anchors = np.exp(logs[every] + counts[every] * odds + n * np.log1p(-p)[:, None])
    powers = np.exp(np.arange(_STRIDE) * odds)
    table = (anchors[:, :, None] * powers[:, None, :]).reshape(len(p), -1)[:, : len(counts)]
    masses: Floats = table * np.exp(logs - np.repeat(logs[every], _STRIDE)[: len(counts)])
    return masses


def _log_choices(n: int, low: int, high: int) -> Floats:
    """The logarithm of n over c, for low <= c < high."""
    if n < _TABULATED:
        of = _log_factorials(int(n).bit_length())
        whole, chosen, others = of[n], of[low:high], of[n - high + 1 : n - low + 1][::-1]
    else:
        counts = np.arange(low, high)
        whole = special.gammaln(n + 1)
        chosen, others = special.gammaln(counts + 1), special.gammaln(n - counts + 1)
    logs: Floats = whole - chosen - others
    return logs


@cache
def _log_factorials(bits: int) -> Floats:
    """Those of all numbers of so many bits."""
    table: Floats = special.gammaln(np.arange(1 << bits) + 1)
    return table
