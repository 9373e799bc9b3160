"""From numbers to bins, some rows at a time: a code depends on its number alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.learners.design import chunks

__all__ = ["bins"]

# With more cuts than these, a search takes less time than a comparison with each of them.
_FEW_CUTS = 32


def bins(values: NDArray[np.float64], cuts: Sequence[float]) -> NDArray[np.unsignedinteger[Any]]:
    """How many cuts are not above each number; one more than all of them for a missing number.

    >>> bins(np.array([0.5, 1.0, 7.0, np.nan]), (1.0, 2.0)).tolist()
    [0, 1, 2, 3]
    """
    result = np.empty(len(values), dtype=np.min_scalar_type(len(cuts) + 2))
    edges = np.array(cuts, dtype=np.float64)
    for chunk in chunks(len(values)):
        numbers, found = np.ascontiguousarray(values[chunk]), result[chunk]
        if len(edges) <= _FEW_CUTS:
            found[:] = 0
            for edge in edges:
                found += numbers >= edge
        else:
            found[:] = np.searchsorted(edges, numbers, side="right")
        found[np.isnan(numbers)] = len(edges) + 1
    return result
