r"""Noisy histograms of several columns, as one Gaussian release.

A record is counted in one cell of every histogram. With m histograms, to add or remove a record
changes m counts by one, so the vector of all counts by :math:`\sqrt m` in L2 norm. Counts are
integers and get discrete Gaussian noise; :mod:`dpfair.privacy.grid` proves its cost, that of a
Gaussian of the same multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpfair.privacy.draw import Draw

__all__ = ["exact_counts", "histogram_deviation", "noisy_counts"]

_CHUNK = 1 << 13


def noisy_counts(
    draw: Draw, counts: Callable[[], Sequence[NDArray[np.int64]]], sizes: Sequence[int]
) -> list[NDArray[np.int64]]:
    """Histograms of these sizes with noise, from what counts the exact ones.

    ``draw`` must have paid for exact Gaussian noise. The standard deviation of a count is
    :func:`histogram_deviation`.

    Examples
    --------
    >>> from dpfair.privacy.events import step_event
    >>> from dpfair.privacy.noise import Noise
    >>> draw = Draw(step_event(0.01, 1.0, exact=True), Noise(seed=1))
    >>> codes = [np.array([0, 1, 1]), np.array([2, 2, 2])]
    >>> def counts():
    ...     return [exact_counts(column, size) for column, size in zip(codes, [2, 3])]
    >>> [len(table) for table in noisy_counts(draw, counts, [2, 3])]
    [2, 3]
    """
    noisy = draw.discrete_gaussian(
        lambda: np.concatenate(counts()).astype(np.int64),
        np.ones(sum(sizes)),
        _sensitivity(len(sizes)),
    )
    return np.split(noisy, np.cumsum(sizes)[:-1])


def exact_counts(codes: NDArray[np.integer], size: int) -> NDArray[np.int64]:
    """How many records have which code, from 0 to size - 1: private until noise is added."""
    # Some records at a time, because numpy widens the codes that it counts.
    total = np.zeros(size, dtype=np.int64)
    for start in range(0, len(codes), _CHUNK):
        total += np.bincount(codes[start : start + _CHUNK], minlength=size)
    return total


def histogram_deviation(noise_multiplier: float, histograms: int) -> float:
    """The standard deviation of a count.

    >>> histogram_deviation(10.0, 4) > 20
    True
    """
    # The noise on a grid has a little more variance than the Gaussian, see dpfair.privacy.grid.
    return math.sqrt((noise_multiplier * _sensitivity(histograms)) ** 2 + 16)


def _sensitivity(histograms: int) -> float:
    return math.nextafter(math.sqrt(histograms), math.inf)
