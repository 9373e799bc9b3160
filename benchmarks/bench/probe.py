"""A fixed piece of work, timed between the rounds: does the machine still run at the same speed?"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import numpy as np

__all__ = ["DRIFT", "drifted", "probe"]

DRIFT = 0.15
"""With times further apart than this part of their median, there is no verdict."""

_NUMBERS = np.random.default_rng(0).random(1 << 20)
_PLACES = np.random.default_rng(1).integers(0, 1 << 20, 1 << 22)


def probe() -> float:
    """CPU seconds of the work: sorting, looking up and adding numbers.

    The best of ten, because a short interruption says nothing about the minutes around it.
    """
    return min(_work() for _ in range(10))


def drifted(times: Sequence[float]) -> bool:
    """Whether the times of one section are too far apart to compare what ran between them.

    >>> drifted([1.0, 1.1, 1.05]), drifted([1.0, 1.4, 1.05])
    (False, True)
    """
    return max(times) - min(times) > DRIFT * statistics.median(times)


def _work() -> float:
    start = time.process_time()
    np.sort(_NUMBERS)[_PLACES].sum()
    return time.process_time() - start
