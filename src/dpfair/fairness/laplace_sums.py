"""Sums of discrete Laplace variables: masses, tails and quantiles.

A variable has P(Z = z) proportional to exp(-t |z|). All laws neglect a mass of at most 1e-12.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["noise_masses", "noise_quantile", "survival", "survival_table", "weighted_survival"]

Floats = NDArray[np.float64]

_NEGLECTED = 1e-12
_SLACK = 1e-11


def noise_masses(noise: float, cells: int) -> Floats:
    """P(Z = k) for k = -w..w, without a mass of at most 1e-12; Z a sum of discrete Laplaces.

    >>> noise_masses(math.inf, 3).tolist()
    [1.0]
    """
    if math.isinf(noise):
        return np.ones(1)
    survival = survival_table(noise, cells)
    return np.maximum(-np.diff(survival, append=0.0), 0)


def noise_quantile(noise: float, cells: int, level: float) -> int:
    """The smallest z with P(Z > z) <= level, Z a sum of discrete Laplace variables.

    >>> noise_quantile(1.0, 1, 0.05)
    2
    """
    if math.isinf(noise):
        return 0
    above = survival_table(noise, cells)
    return int(np.argmax(above[len(above) // 2 + 1 :] + _SLACK <= level))


def survival(k: Floats, noise: float, cells: int) -> Floats:
    """P(Z >= k) for the sum Z of discrete Laplace variables; closed form for a single one."""
    if cells > 1:
        table = survival_table(noise, cells)
        reach = len(table) // 2
        return table[np.clip(k, -reach, reach).astype(np.intp) + reach]
    scale = 1 / (1 + math.exp(-noise))
    above = scale * np.exp(-noise * np.maximum(k, 1))
    below = 1 - scale * np.exp(-noise * np.maximum(1 - k, 1))
    return np.where(k >= 1, above, below)


@lru_cache(maxsize=8)
def survival_table(noise: float, cells: int) -> Floats:
    """P(Z >= k) for k = -w..w, by Fourier inversion of the characteristic function.

    For s = t/2 the moment generating function of one cell is (1+x)^2/(1+x+x^2) <= 4/3 with
    x = e^(-t/2), so P(Z >= w) <= (4/3)^cells e^(-tw/2), which bounds both what lies outside the
    table and what the circular transform folds into it.
    """
    excess = cells * math.log(4 / 3) + math.log(1 / _NEGLECTED)
    return _survival_on_lattice(noise, [(1, cells)], math.ceil(2 * excess / noise) + 1)


@lru_cache(maxsize=64)
def weighted_survival(noise: float, up: int, down: int, i: int, m: int) -> Floats:
    """P((m - i) Z - i Z' >= k) for k = -w..w; sums of ``up`` and ``down`` discrete Laplaces.

    As :func:`survival_table`, with the exponent s = t / (2 max(m - i, i)).
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
