"""What a noisy count says about a group's positive rate, exactly and for every sample size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dpfair.errors import InputError
from dpfair.fairness.bounds.tails import expected_chance

Floats = NDArray[np.float64]
Interval = tuple[float, float]

SIZE_SHARE = 0.02
"""Part of an error probability spent on a private group size; the rest is for the rate."""


@dataclass(frozen=True)
class NoisyRate:
    r"""What was released about one group's positive rate: noisy counts, nothing else.

    Of the group's :math:`n` records :math:`C \sim \mathrm{Binomial}(n, p)` are accepted by the
    base classifier. The release is :math:`Y = C + Z`, where :math:`Z` is a sum of
    ``accepted_cells`` independent discrete Laplace variables,
    :math:`P(Z_i = z) \propto e^{-t|z|}`. With a private size the count of the other records,
    :math:`R = n - C + Z'`, is released in the same way. A rate p is then tested by

    .. math:: T = (1 - r) Y - r R = (C - rn) + (1 - r) Z - r Z'

    with r next to p on a fixed grid: its mean (p - r) n hardly depends on the unknown size, so a
    range of sizes, which ``SIZE_SHARE`` of an error probability pays for, costs little.

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
    its rounding error (1e-9, and 1e-8 of itself for a million records), and a limit is the outer
    end of its bracket.

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
        k = noise_quantile(self.noise, cells, _level(eta, SIZE_SHARE * _SMALLEST_LEVEL) / 2)
        total = self.accepted + self.rejected
        return max(0, total - k), max(0, total + k)

    def upper_tail(self, p: ArrayLike, sizes: tuple[int, int]) -> Floats:
        """P(T >= its observed value) at the worst size in the range; vectorised in p.

        Rounded up. With a public size T is the count Y itself.
        """
        rates = np.asarray(p, dtype=np.float64)
        flat, tails = rates.ravel(), np.empty(rates.size)
        weights = np.rint(flat * self._resolution).astype(np.intp)
        for i in np.unique(weights).tolist():
            tails[weights == i] = self._tail_at(i, flat[weights == i], sizes)
        return tails.reshape(rates.shape)

    def lower_tail(self, p: ArrayLike, sizes: tuple[int, int]) -> Floats:
        """P(T <= its observed value): the upper tail of what is rejected, with the rate 1 - p."""
        return self.mirrored.upper_tail(1 - np.asarray(p, dtype=np.float64), sizes)

    @property
    def mirrored(self) -> NoisyRate:
        """The same release, read as one about the rejected."""
        return NoisyRate(
            accepted=self._rest,
            rejected=None if self.rejected is None else self.accepted,
            size=self.size,
            noise=self.noise,
            # With a public size the rest has the noise of the accepted.
            accepted_cells=self.accepted_cells if self.rejected is None else self.rejected_cells,
            rejected_cells=self.accepted_cells,
        )

    def p_value(self, p: ArrayLike, eta_size: float) -> Floats:
        """Exact two-sided p-value of the rate p, valid for every size in the range at eta_size.

        With a public size ``eta_size`` has no effect.
        """
        sizes = self.size_range(eta_size)
        tails = np.minimum(self.upper_tail(p, sizes), self.lower_tail(p, sizes))
        doubled: Floats = np.minimum(1.0, 2 * tails)
        return doubled

    def interval(self, eta: float) -> Interval:
        """Noise-aware Clopper-Pearson interval: contains p with probability at least 1 - eta.

        It inverts both tails at eta / 2. With a private size ``SIZE_SHARE`` of eta pays for the
        size range and the rest for the tails. A count that no rate explains at this level (far
        below 0 or above n) gives the nearest rate; an empty group gives (0, 1).
        """
        return _limits(self, *self._shares(eta))

    def lower_limit(self, eta: float) -> float:
        """A rate that is below p with probability at least 1 - eta."""
        return _limit(self, *self._shares(eta), False)

    def upper_limit(self, eta: float) -> float:
        """A rate that is above p with probability at least 1 - eta."""
        return _limit(self, *self._shares(eta), True)

    def _shares(self, eta: float) -> tuple[float, tuple[int, int]]:
        """The part of an error probability for the rate, and the sizes that the rest pays for."""
        share = 0.0 if self.rejected is None else SIZE_SHARE
        return (1 - share) * _level(eta), self.size_range(share * eta)

    def nested_intervals(self, etas: Sequence[float] | Floats, eta_size: float) -> Floats:
        """The sets {p : p_value(p, eta_size) >= eta} for many levels at once, rounded outward.

        Returns an array [level, (low, high)]. The tails are evaluated on one grid of rates and
        each limit is the next grid point outside, so the cost hardly depends on the number of
        levels and the width grows by at most 2 parts in ``_GRID``.
        """
        return _nested_intervals(self, tuple(float(eta) for eta in etas), eta_size)

    @property
    def _rest(self) -> int:
        if self.rejected is not None:
            return self.rejected
        assert self.size is not None
        return self.size - self.accepted

    @property
    def _resolution(self) -> int:
        """The grid of r is i / m for i = 0..m; m = 0 if the size is public and r is zero."""
        if self.rejected is None or math.isinf(self.noise):
            return 0
        longest = (self.accepted_cells + self.rejected_cells + 100) / self.noise
        return next((m for m in (32, 16, 8, 4, 2) if m * longest <= 60_000), 1)

    def _tail_at(self, i: int, rates: Floats, sizes: tuple[int, int]) -> Floats:
        """The upper tail with r = i / m, in multiples of 1 / m, which are whole numbers."""
        m = self._resolution
        if not m:
            return expected_chance(sizes[1], rates, self._chance)
        table = _weighted_survival(self.noise, self.accepted_cells, self.rejected_cells, i, m)
        reach, observed = len(table) // 2, (m - i) * self.accepted - i * self._rest
        worst = np.zeros(len(rates))
        for first, last in self._blocks(i / m, sizes):
            # Over sizes from first to last C - r n is at most C(last) - r first, and with the
            # rejected D = n - C also at most (1 - r) last - D(first).
            if 2 * i <= m:
                n, p, sign, needed = last, rates, -m, observed + i * first
            else:
                n, p, sign, needed = first, 1 - rates, m, observed - (m - i) * last

            def chance(counts: Floats, sign: int = sign, needed: int = needed) -> Floats:
                missing = needed + sign * counts.astype(np.int64)
                return table[np.clip(missing, -reach, reach) + reach]

            worst = np.maximum(worst, expected_chance(n, p, chance))
        return worst

    def _chance(self, counts: Floats) -> Floats:
        """P(Z >= Y - c) for every count c."""
        return _survival(self.accepted - counts, self.noise, self.accepted_cells)

    def _blocks(self, r: float, sizes: tuple[int, int]) -> list[tuple[int, int]]:
        """The sizes in blocks so narrow that r n changes little inside one of them."""
        first, last = sizes
        cells = (1 - r) ** 2 * self.accepted_cells + r**2 * self.rejected_cells
        spread = math.sqrt(r * (1 - r) * first + 2 * cells / self.noise**2 + 1)
        wanted = math.ceil(min(r, 1 - r) * (last - first) / (0.08 * spread))
        starts = np.linspace(first, last + 1, min(max(wanted, 1), _MAX_BLOCKS) + 1).astype(int)
        return [(a, b - 1) for a, b in itertools.pairwise(np.unique(starts).tolist())]


_NEGLECTED = 1e-12
_SLACK = 1e-11
_GRID = 300
_MAX_BLOCKS = 16
_SMALLEST_LEVEL = 1e-8


def _level(eta: float, smallest: float = _SMALLEST_LEVEL) -> float:
    if not smallest <= eta <= 1:  # below, the slack of the tails would dominate
        raise InputError(f"Expected eta in [{smallest}, 1], got {eta}.")
    return eta


# Choosing a rule, certifying it and verifying it ask the same questions about the same release.
@lru_cache(maxsize=1024)
def _limit(rate: NoisyRate, level: float, sizes: tuple[int, int], upper: bool) -> float:
    if sizes[1] == 0 or level <= 0:
        return float(upper)
    return (
        1 - _lower_limit(rate.mirrored, level, sizes) if upper else _lower_limit(rate, level, sizes)
    )


def _limits(rate: NoisyRate, eta: float, sizes: tuple[int, int]) -> Interval:
    return _limit(rate, eta / 2, sizes, False), _limit(rate, eta / 2, sizes, True)


def _lower_limit(rate: NoisyRate, level: float, sizes: tuple[int, int]) -> float:
    """A rate below which every rate is excluded at the level, near the largest of these.

    Where r is the same, the tail grows with the rate; from one r to the next it may jump. So the
    limit is in the first part with an r of its own whose last rate is not excluded.
    """
    m = rate._resolution
    for i in range(m + 1):
        start, stop = max(0.0, (i - 0.5) / m) if m else 0.0, min(1.0, (i + 0.5) / m) if m else 1.0
        if m and _surely_excluded(rate, i, stop, level, sizes):
            continue

        def tails(p: ArrayLike, i: int = i, sizes: tuple[int, int] = sizes) -> Floats:
            return rate._tail_at(i, np.atleast_1d(p), sizes)

        if tails(stop)[0] <= level:
            continue
        if tails(start)[0] > level:
            return start
        # A single size takes less time; all of them exclude a little less.
        middle = (sum(sizes) // 2,) * 2
        one = partial(tails, sizes=middle)
        if one(start)[0] <= level < one(stop)[0]:
            stop = _last_excluded(one, start, stop, level)
        if sizes[0] == sizes[1] or tails(stop)[0] <= level:
            return stop
        step = 1 / (1 + sizes[0])
        while stop - step > start and tails(stop - step)[0] > level:
            stop, step = stop - step, 2 * step
        return _narrowed(tails, max(start, stop - step), stop, level)
    return 1.0


def _narrowed(tails: Callable[[Floats], Floats], start: float, stop: float, level: float) -> float:
    """The last excluded of many points between an excluded one and one that is not."""
    for _ in range(3):
        points = np.linspace(start, stop, 13)
        j = int(np.argmax(tails(points[1:]) > level))
        start, stop = float(points[j]), float(points[j + 1])
    return start


def _surely_excluded(
    rate: NoisyRate, i: int, p: float, level: float, sizes: tuple[int, int]
) -> bool:
    """Whether Chernoff's bound, which takes no time, excludes a rate."""
    r = i / rate._resolution
    most = min(rate.noise / max(r, 1 - r), 300.0)  # beyond, exponentials overflow
    s = most * np.geomspace(1e-3, 0.9, 12)
    decay = math.exp(-rate.noise)

    def log_mgf(u: Floats) -> Floats:
        return 2 * math.log1p(-decay) - np.log1p(-decay * np.exp(u)) - np.log1p(-decay * np.exp(-u))

    noise = rate.accepted_cells * log_mgf((1 - r) * s) + rate.rejected_cells * log_mgf(r * s)
    observed = (1 - r) * rate.accepted - r * rate._rest + r * sizes[0]
    bound = sizes[1] * np.log1p(p * np.expm1(s)) + noise - s * observed
    return bool(bound.min() < math.log(level) - 1e-6)


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
        np.searchsorted(_envelope(rate, lows, sizes), levels / 2, side="right"),
        np.searchsorted(_envelope(rate.mirrored, 1 - highs, sizes), levels / 2, side="right"),
    )
    last = np.maximum(0, np.stack(excluded) - 1)  # none excluded: the end is 0 or 1
    nested = np.stack([lows[last[0]], highs[last[1]]], axis=-1)
    nested.flags.writeable = False
    return nested


def _last_excluded(
    tails: Callable[[float], Floats], start: float, stop: float, level: float
) -> float:
    """A point just below the root of increasing ``tails`` - ``level`` between two points."""
    goal = math.log(level)
    point = float(brentq(lambda p: math.log(tails(p)[0]) - goal, start, stop, xtol=1e-9, rtol=1e-9))
    step = 1e-9
    while tails(point)[0] > level:  # the root finder may stop on either side
        point, step = max(start, point - step), 2 * step
    return point


def _envelope(rate: NoisyRate, points: Floats, sizes: tuple[int, int]) -> Floats:
    """The largest upper tail of any rate up to each of the increasing points, from the first on.

    Where r is the same the tail grows, so only the last rate before each change of r is missing
    among the points.
    """
    tails = rate.upper_tail(points, sizes)
    m = rate._resolution
    parts = np.rint(points * m).astype(np.intp)
    for j in np.flatnonzero(np.diff(parts)).tolist():
        for i in range(int(parts[j]), int(parts[j + 1])):
            before = rate._tail_at(i, np.array([(i + 0.5) / m]), sizes)[0]
            tails[j + 1] = max(tails[j + 1], before)
    return np.maximum.accumulate(tails)


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
    return _survival_on_lattice(noise, [(1, cells)], math.ceil(2 * excess / noise) + 1)


@lru_cache(maxsize=64)
def _weighted_survival(noise: float, up: int, down: int, i: int, m: int) -> Floats:
    """P((m - i) Z - i Z' >= k) for k = -w..w; sums of ``up`` and ``down`` discrete Laplaces.

    As :func:`_survival_table`, with the exponent s = t / (2 max(m - i, i)).
    """
    cells = ((m - i, up), (i, down))
    excess = sum(count for weight, count in cells if weight) * math.log(4 / 3)
    reach = math.ceil(2 * max(m - i, i) * (excess + math.log(1 / _NEGLECTED)) / noise) + 1
    return _survival_on_lattice(noise, cells, reach)


def _survival_on_lattice(noise: float, cells: Sequence[tuple[int, int]], reach: int) -> Floats:
    """P(W >= k) for k = -reach..reach, W a sum of weighted discrete Laplaces (weight, count)."""
    length = 1 << (2 * reach + 1).bit_length()
    angles = math.pi * np.arange(length // 2 + 1) / length
    gap, transform = math.expm1(-noise) ** 2, np.ones(length // 2 + 1)
    for weight, count in cells:
        transform *= (gap / (gap + 4 * math.exp(-noise) * np.sin(weight * angles) ** 2)) ** count
    wrapped = np.maximum(np.fft.irfft(transform, length), 0)
    masses = np.concatenate([wrapped[-reach:], wrapped[: reach + 1]])
    table: Floats = np.minimum(1.0, np.cumsum(masses[::-1])[::-1])
    table.flags.writeable = False
    return table
