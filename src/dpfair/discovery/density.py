r"""A piecewise constant density from noisy counts.

Noisy counts :math:`c_j` of J cells are approximated by segments of equal mass per cell. Dynamic
programming minimises

.. math:: \sum_{\text{segments}} \sum_{j} (c_j - \bar c)^2 + 2 \sigma^2 \ln J

for noise of standard deviation :math:`\sigma`. Segments that are not clearly above zero are empty.
All of this is computed from released numbers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["smooth_masses"]

Floats = NDArray[np.float64]

# A segment is empty if its mean is below so many of its standard errors, a single cell if it is
# below so many: more of them are compared.
_SEGMENT, _CELL = 3.5, 4.5


def smooth_masses(counts: Floats, deviation: float) -> Floats:
    """The mass of every cell, none negative.

    >>> smooth_masses(np.array([0.3, -0.2, 9.8, 10.1, 0.1]), 0.2).round(1).tolist()
    [0.0, 0.0, 10.0, 10.0, 0.0]
    """
    cells = len(counts)
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    penalty = 2 * deviation**2 * math.log(max(cells, 2))
    # The squared deviations of a segment are its squares, the same for any division, minus
    # sum^2 / length.
    best = np.zeros(cells + 1)
    start = np.zeros(cells + 1, dtype=np.int64)
    for end in range(1, cells + 1):
        explained = (sums[end] - sums[:end]) ** 2 / np.arange(end, 0, -1)
        values = best[:end] - explained + penalty
        start[end] = int(np.argmin(values))
        best[end] = values[start[end]]
    masses, end = np.zeros(cells), cells
    while end > 0:
        first = int(start[end])
        length = end - first
        mean = (sums[end] - sums[first]) / length
        least = (_SEGMENT if length > 1 else _CELL) * deviation / math.sqrt(length)
        masses[first:end] = mean if mean > least else 0.0
        end = first
    return masses
