"""Public grids in which the values of a numeric column are counted.

A grid is an increasing list of cuts. A value x is in the cell with the number of cuts <= x, and a
missing one in a cell of its own after the last. Nothing here looks at a record.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpfair.data.columns import WIDEST, Numeric

__all__ = ["grid_cells", "grid_of"]

Floats = NDArray[np.float64]

# The magnitudes that a column without bounds may have, and the cells of equal width per octave.
_SMALLEST_OCTAVE, _LARGEST_OCTAVE, _PER_OCTAVE = -10, 40, 8

_EQUAL, _GEOMETRIC, _FINEST = 256, 40, 1e-5


def grid_of(column: Numeric) -> Floats:
    """The cuts for a column: by its bounds, or for numbers of any size.

    >>> grid_of(Numeric("age", (0, 256)))[:3].tolist()
    [0.0, 5e-324, 0.00256]
    """
    return _float_grid() if column.bounds == WIDEST else _bounded_grid(*column.bounds)


def grid_cells(cuts: Floats, values: Floats) -> NDArray[np.int64]:
    """The cell of every value; the last cell is for missing ones."""
    cells = np.searchsorted(cuts, values, side="right")
    return np.where(np.isnan(values), len(cuts) + 1, cells)


@lru_cache(maxsize=1)
def _float_grid() -> Floats:
    """Cells of one eighth of an octave on both sides of zero, and a cell for zero itself."""
    octaves = 2.0 ** np.arange(_SMALLEST_OCTAVE, _LARGEST_OCTAVE)
    steps = 1 + np.arange(_PER_OCTAVE) / _PER_OCTAVE
    positive = np.append(np.outer(octaves, steps).ravel(), WIDEST[1])
    # A number x <= -c must not share the cell of those above it, so negative cuts lie just above.
    negative = np.nextafter(-positive[::-1], math.inf)
    return np.concatenate([negative, [0.0, _above(0.0)], positive])


@lru_cache(maxsize=1024)
def _bounded_grid(low: float, high: float) -> Floats:
    """Equal cells, and finer ones towards zero or, if zero is not inside, the nearer bound.

    The point that they get finer to has a cell of its own.
    """
    width = high - low
    origin = min(max(0.0, low), high)
    distances = width * np.geomspace(_FINEST, 1.0, _GEOMETRIC)
    cuts = np.concatenate(
        [
            np.linspace(low, high, _EQUAL + 1),
            origin + distances,
            np.nextafter(origin - distances, math.inf),
            [origin, _above(origin), _above(high - width / _EQUAL)],
        ]
    )
    return np.unique(cuts[(cuts >= low) & (cuts <= high)])


def _above(value: float) -> float:
    return math.nextafter(value, math.inf)
