"""Exact inference about a group's positive rate from a noisy count, for every sample size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfair.errors import InputError
from dpfair.fairness.bounds.tails import expected_chance
from dpfair.fairness.laplace_sums import noise_quantile, survival, weighted_survival
from dpfair.fairness.limits import Interval, limit, limits, nested_limits

__all__ = ["SIZE_SHARE", "Interval", "NoisyRate"]

Floats = NDArray[np.float64]

SIZE_SHARE = 0.02
"""Part of an error probability spent on a private group size; the rest is for the rate."""

_MAX_BLOCKS = 16
_SMALLEST_LEVEL = 1e-8

# The exponents that Chernoff's bound is tried with, in parts of the largest one.
_CHERNOFF = np.geomspace(1e-3, 0.9, 12)


@dataclass(frozen=True)
class NoisyRate:
    r"""The noisy counts that were released about one group's positive rate.

    Of the group's :math:`n` records :math:`C \sim \mathrm{Binomial}(n, p)` are accepted by the
    base classifier. The release is :math:`Y = C + Z`, where :math:`Z` is a sum of
    ``accepted_cells`` independent discrete Laplace variables,
    :math:`P(Z_i = z) \propto e^{-t|z|}`. With a private size the count of the other records,
    :math:`R = n - C + Z'`, is released in the same way. A rate p is then tested by

    .. math:: T = (1 - r) Y - r R = (C - rn) + (1 - r) Z - r Z'

    with r next to p on a fixed grid: its mean (p - r) n hardly depends on the unknown size. A range
    of sizes, which uses ``SIZE_SHARE`` of an error probability, is therefore sufficient.

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
    All arithmetic is conservative: a tail includes the mass that its window neglects and its
    rounding error (1e-9, and 1e-8 of itself for a million records), and a limit is the outer end
    of its bracket.

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
        weights = np.rint(flat * self.resolution).astype(np.intp)
        for i in np.unique(weights).tolist():
            tails[weights == i] = self.tail_at(i, flat[weights == i], sizes)
        return tails.reshape(rates.shape)

    def lower_tail(self, p: ArrayLike, sizes: tuple[int, int]) -> Floats:
        """P(T <= its observed value): the upper tail of what is rejected, with the rate 1 - p."""
        return self.mirrored.upper_tail(1 - np.asarray(p, dtype=np.float64), sizes)

    @property
    def mirrored(self) -> NoisyRate:
        """The same release as a rate of the rejected records."""
        return NoisyRate(
            accepted=self.rest,
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
        size range and the rest for the tails. A count that is incompatible with every rate at this
        level (far below 0 or above n) gives the nearest rate; an empty group gives (0, 1).
        """
        level, size = self.levels(eta)
        return limits(self, level, self.size_range(size))

    def lower_limit(self, eta: float) -> float:
        """A rate that is below p with probability at least 1 - eta."""
        level, size = self.levels(eta)
        return limit(self, level, self.size_range(size), False)

    def upper_limit(self, eta: float) -> float:
        """A rate that is above p with probability at least 1 - eta."""
        level, size = self.levels(eta)
        return limit(self, level, self.size_range(size), True)

    def levels(self, eta: float) -> tuple[float, float]:
        """The parts of an error probability for the rate and for the size; their sum is eta."""
        share = 0.0 if self.rejected is None else SIZE_SHARE
        return (1 - share) * _level(eta), share * eta

    def nested_intervals(self, etas: Sequence[float] | Floats, eta_size: float) -> Floats:
        """The sets {p : p_value(p, eta_size) >= eta} for many levels at once, rounded outward.

        Returns an array [level, (low, high)]. The tails are evaluated on one grid of rates and
        each limit is the next grid point outside, so the cost hardly depends on the number of
        levels and the width grows by at most 2 parts in 300.
        """
        levels = tuple(float(eta) for eta in etas)
        return nested_limits(self, levels, self.size_range(eta_size))

    @property
    def rest(self) -> int:
        """The noisy count of the others, or the public size minus the noisy count."""
        if self.rejected is not None:
            return self.rejected
        assert self.size is not None
        return self.size - self.accepted

    @property
    def resolution(self) -> int:
        """The grid of r is i / m for i = 0..m; m = 0 if the size is public and r is zero."""
        if self.rejected is None or math.isinf(self.noise):
            return 0
        longest = (self.accepted_cells + self.rejected_cells + 100) / self.noise
        return next((m for m in (32, 16, 8, 4, 2) if m * longest <= 60_000), 1)

    def tail_at(self, i: int, rates: Floats, sizes: tuple[int, int]) -> Floats:
        """The upper tail with r = i / m, in multiples of 1 / m, which are whole numbers."""
        m = self.resolution
        if not m:
            return expected_chance(sizes[1], rates, self._chance)
        table = weighted_survival(self.noise, self.accepted_cells, self.rejected_cells, i, m)
        reach, observed = len(table) // 2, (m - i) * self.accepted - i * self.rest
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

    def surely_excluded(self, i: int, p: float, level: float, sizes: tuple[int, int]) -> bool:
        """Whether Chernoff's bound, which is fast, excludes the rate p at the level."""
        r = i / self.resolution
        most = min(self.noise / max(r, 1 - r), 300.0)  # beyond, exponentials overflow
        s = most * _CHERNOFF
        decay = math.exp(-self.noise)

        def log_mgf(u: Floats) -> Floats:
            return (
                2 * math.log1p(-decay)
                - np.log1p(-decay * np.exp(u))
                - np.log1p(-decay * np.exp(-u))
            )

        noise = self.accepted_cells * log_mgf((1 - r) * s) + self.rejected_cells * log_mgf(r * s)
        observed = (1 - r) * self.accepted - r * self.rest + r * sizes[0]
        bound = sizes[1] * np.log1p(p * np.expm1(s)) + noise - s * observed
        return bool(bound.min() < math.log(level) - 1e-6)

    def _chance(self, counts: Floats) -> Floats:
        """P(Z >= Y - c) for every count c."""
        return survival(self.accepted - counts, self.noise, self.accepted_cells)

    def _blocks(self, r: float, sizes: tuple[int, int]) -> list[tuple[int, int]]:
        """The sizes in narrow blocks, within which r n changes little."""
        first, last = sizes
        cells = (1 - r) ** 2 * self.accepted_cells + r**2 * self.rejected_cells
        spread = math.sqrt(r * (1 - r) * first + 2 * cells / self.noise**2 + 1)
        wanted = math.ceil(min(r, 1 - r) * (last - first) / (0.08 * spread))
        starts = np.linspace(first, last + 1, min(max(wanted, 1), _MAX_BLOCKS) + 1).astype(int)
        return [(a, b - 1) for a, b in itertools.pairwise(np.unique(starts).tolist())]


def _level(eta: float, smallest: float = _SMALLEST_LEVEL) -> float:
    if not smallest <= eta <= 1:  # below, the slack of the tails would dominate
        raise InputError(f"Expected eta in [{smallest}, 1], got {eta}.")
    return eta
