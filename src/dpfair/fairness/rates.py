"""What a noisy count says about a group's positive rate, exactly and for every sample size."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpfair.errors import InputError

Floats = NDArray[np.float64]
Interval = tuple[float, float]

SIZE_SHARE = 0.1
"""Part of an error probability spent on a private group size; the rest is for the rate."""


@dataclass(frozen=True)
class NoisyRate:
    r"""What was released about one group's positive rate: noisy counts, nothing else.

    Of the group's :math:`n` records :math:`C \sim \mathrm{Binomial}(n, p)` are accepted by the
    base classifier. The release is :math:`Y = C + Z`, where :math:`Z` is a sum of
    ``accepted_cells`` independent discrete Laplace variables,
    :math:`P(Z_i = z) \propto e^{-t|z|}`. With a private size the count of the other records,
    :math:`n - C + Z'`, is released in the same way.

    Reading a ``NoisyRate`` costs no privacy: everything here is a function of the release.

    Parameters
    ----------
    accepted : int
        The noisy count Y, not clipped: it may be negative or exceed the size.
    rejected : int or None
        The noisy count of the rest, also not clipped. None when the size is public.
    size : int or None
        The public size n. None when it is private; exactly one of the two is given.
    noise : float
        The parameter t of every cell, at least 1e-5; ``math.inf`` means exact counts.
    accepted_cells, rejected_cells : int
        How many noisy cells were added up to give each count.

    Notes
    -----
    All arithmetic errs to the safe side: a tail carries the mass that its window neglects and
    its rounding error (together below 1e-11), and a limit is the outer end of its bracket.

    Examples
    --------
    >>> rate = NoisyRate(accepted=220, rejected=None, size=3674, noise=0.05)
    >>> round(rate.estimate, 4)
    0.0599
    >>> low, high = rate.interval(0.05)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0424 0.0781
    """

    accepted: int
    rejected: int | None
    size: int | None
    noise: float
    accepted_cells: int = 1
    rejected_cells: int = 1

    def __post_init__(self) -> None:
        if (self.rejected is None) == (self.size is None):
            raise InputError("Expected either a public size or a noisy count of the rest.")
        if self.size is not None and self.size < 0:
            raise InputError(f"Expected size >= 0, got {self.size}.")
        if not self.noise >= 1e-5:  # also refuses NaN; tables of the noise grow as 1 / noise
            raise InputError(f"Expected noise >= 1e-05, got {self.noise}.")
        if min(self.accepted_cells, self.rejected_cells) < 1:
            raise InputError("Expected at least one cell in each count.")

    @property
    def estimate(self) -> float:
        """The rate to plug into a rule: Y / n, or Y / (Y + rest), within [0, 1]."""
        size = self.size if self.rejected is None else self.accepted + self.rejected
        assert size is not None
        return min(1.0, max(0.0, self.accepted / max(size, 1)))

    def size_range(self, eta: float) -> tuple[int, int]:
        """Range that contains the group's size with probability at least 1 - eta."""
        if self.rejected is None:
            assert self.size is not None
            return self.size, self.size
        cells = self.accepted_cells + self.rejected_cells
        k = noise_quantile(self.noise, cells, _level(eta) / 2)
        total = self.accepted + self.rejected
        return max(0, total - k), max(0, total + k)

    def upper_tail(self, p: ArrayLike, n: int) -> Floats:
        """P(C + Z >= Y) when the rate is p and the size n, rounded up; vectorised in p."""
        return self._tails(p, n, lambda c: self.accepted - c)

    def lower_tail(self, p: ArrayLike, n: int) -> Floats:
        """P(C + Z <= Y) when the rate is p and the size n, rounded up; vectorised in p."""
        return self._tails(p, n, lambda c: c - self.accepted)  # Z and -Z have the same law

    def p_value(self, p: ArrayLike, eta_size: float) -> Floats:
        """Exact two-sided p-value of the rate p, valid for every size in the range at eta_size.

        P(C + Z >= Y) grows with n, so the largest size is the worst case for the upper tail and
        the smallest for the lower one. With a public size ``eta_size`` has no effect.
        """
        n_low, n_high = self.size_range(eta_size)
        tails = np.minimum(self.upper_tail(p, n_high), self.lower_tail(p, n_low))
        doubled: Floats = np.minimum(1.0, 2 * tails)
        return doubled

    def interval(self, eta: float) -> Interval:
        """Noise-aware Clopper-Pearson interval: contains p with probability at least 1 - eta.

        It inverts both tails at eta / 2. With a private size ``SIZE_SHARE`` of eta pays for the
        size range and the rest for the tails. A count that no rate explains at this level (far
        below 0 or above n) gives the nearest rate; an empty group gives (0, 1).
        """
        eta = _level(eta)
        if self.rejected is None:
            return _limits(self, eta, self.size_range(eta))
        return _limits(self, (1 - SIZE_SHARE) * eta, self.size_range(SIZE_SHARE * eta))

    def nested_intervals(self, etas: Sequence[float] | Floats, eta_size: float) -> Floats:
        """The sets {p : p_value(p, eta_size) >= eta} for many levels at once, rounded outward.

        Returns an array [level, (low, high)]. The tails are evaluated on one grid of rates and
        each limit is the next grid point outside, so the cost hardly depends on the number of
        levels and the width grows by at most 2 parts in ``_GRID``.
        """
        return _nested_intervals(self, tuple(float(eta) for eta in etas), eta_size)

    def _tails(self, p: ArrayLike, n: int, missing: Callable[[Floats], Floats]) -> Floats:
        """E[P(Z >= missing(C))], the expectation over C ~ Binomial(n, p)."""
        rates = np.asarray(p, dtype=np.float64)
        tails = np.empty(rates.size)
        for i, rate in enumerate(rates.ravel().tolist()):
            counts, weights = binomial_window(n, rate)
            tails[i] = weights @ _survival(missing(counts), self.noise, self.accepted_cells)
        return np.minimum(1.0, tails + _SLACK).reshape(rates.shape)


_NEGLECTED = 1e-12
_SLACK = 1e-11
_GRID = 300
_SMALLEST_LEVEL = 1e-9


def _level(eta: float) -> float:
    if not _SMALLEST_LEVEL <= eta <= 1:  # below, the slack of the tails would dominate
        raise InputError(f"Expected eta in [{_SMALLEST_LEVEL}, 1], got {eta}.")
    return eta


# Choosing a rule, certifying it and verifying it ask the same questions about the same release.
@lru_cache(maxsize=1024)
def _limits(rate: NoisyRate, eta: float, sizes: tuple[int, int]) -> Interval:
    n_low, n_high = sizes
    if n_high == 0:
        return 0.0, 1.0
    low = _last_excluded(lambda p: float(rate.upper_tail(p, n_high)), eta / 2)
    high = 1 - _last_excluded(lambda q: float(rate.lower_tail(1 - q, n_low)), eta / 2)
    return low, high


@lru_cache(maxsize=256)
def _nested_intervals(rate: NoisyRate, etas: tuple[float, ...], eta_size: float) -> Floats:
    levels = np.array(etas)
    sizes = rate.size_range(eta_size)
    outer, inner = _limits(rate, min(etas), sizes), _limits(rate, max(etas), sizes)
    if sizes[1] == 0:
        return np.tile(outer, (len(levels), 1))

    lows = np.linspace(outer[0], inner[0], _GRID)
    highs = np.linspace(outer[1], inner[1], _GRID)
    excluded = (
        _count_at_most(rate.upper_tail(lows, sizes[1]), levels / 2),
        _count_at_most(rate.lower_tail(highs, sizes[0]), levels / 2),
    )
    last = np.maximum(0, np.stack(excluded) - 1)  # none excluded: the end is 0 or 1
    nested = np.stack([lows[last[0]], highs[last[1]]], axis=-1)
    nested.flags.writeable = False
    return nested


def _last_excluded(tail: Callable[[float], float], level: float) -> float:
    """A point just below the root of an increasing ``tail`` - ``level`` on [0, 1]."""
    if tail(0.0) > level:
        return 0.0
    if tail(1.0) <= level:
        return 1.0
    aim = math.log(level)
    point = float(brentq(lambda p: math.log(tail(p)) - aim, 0.0, 1.0, xtol=1e-9, rtol=1e-9))
    step = 1e-9
    while tail(point) > level:  # the root finder may stop on either side
        point, step = max(0.0, point - step), 2 * step
    return point


def _count_at_most(tails: Floats, levels: Floats) -> NDArray[np.intp]:
    """For each level, how many of the first tails do not exceed it; the tails increase."""
    # Accumulating guards against a rounding error that would break the order.
    return np.searchsorted(np.maximum.accumulate(tails), levels, side="right")


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


def noise_masses(noise: float, cells: int) -> Floats:
    """P(Z = k) for k = -w..w, without a mass of at most 1e-12; Z a sum of discrete Laplaces.

    >>> noise_masses(math.inf, 3).tolist()
    [1.0]
    """
    if math.isinf(noise):
        return np.ones(1)
    survival = _survival_table(noise, cells)
    return np.maximum(-np.diff(survival, append=0.0), 0)


def noise_quantile(noise: float, cells: int, level: float) -> int:
    """The smallest z with P(Z > z) <= level, Z a sum of discrete Laplace variables.

    >>> noise_quantile(1.0, 1, 0.05)
    2
    """
    if math.isinf(noise):
        return 0
    above = _survival_table(noise, cells)
    return int(np.argmax(above[len(above) // 2 + 1 :] + _SLACK <= level))


def _survival(k: Floats, noise: float, cells: int) -> Floats:
    """P(Z >= k) for the sum Z of discrete Laplace variables; closed form for a single one."""
    if cells > 1:
        table = _survival_table(noise, cells)
        reach = len(table) // 2
        return table[np.clip(k, -reach, reach).astype(np.intp) + reach]
    scale = 1 / (1 + math.exp(-noise))
    above = scale * np.exp(-noise * np.maximum(k, 1))
    below = 1 - scale * np.exp(-noise * np.maximum(1 - k, 1))
    return np.where(k >= 1, above, below)


@lru_cache(maxsize=8)
def _survival_table(noise: float, cells: int) -> Floats:
    """P(Z >= k) for k = -w..w, by Fourier inversion of the characteristic function.

    For s = t/2 the moment generating function of one cell is (1+x)^2/(1+x+x^2) <= 4/3 with
    x = e^(-t/2), so P(Z >= w) <= (4/3)^cells e^(-tw/2), which bounds both what lies outside the
    table and what the circular transform folds into it.
    """
    excess = cells * math.log(4 / 3) + math.log(1 / _NEGLECTED)
    reach = math.ceil(2 * excess / noise) + 1
    length = 1 << (2 * reach + 1).bit_length()
    angles = 2 * math.pi * np.arange(length // 2 + 1) / length
    gap = math.expm1(-noise) ** 2
    transform = (gap / (gap + 4 * math.exp(-noise) * np.sin(angles / 2) ** 2)) ** cells
    wrapped = np.maximum(np.fft.irfft(transform, length), 0)
    masses = np.concatenate([wrapped[-reach:], wrapped[: reach + 1]])
    table: Floats = np.minimum(1.0, np.cumsum(masses[::-1])[::-1])
    table.flags.writeable = False
    return table
