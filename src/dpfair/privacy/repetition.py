"""The best of a random number of runs: the distribution of their number, and the cost.

Papernot and Steinke (2022, arXiv:2110.03620) after Liu and Talwar (2019). A mechanism Q is run K
times on the same records, and only the best output is released. Had K been fixed, the choice
could cost K times as much as one run; for a *random and secret* K it costs little more than two
or three runs, however large the mean of K is.

K follows a truncated negative binomial law on 1, 2, 3, ... with halting probability g and shape
s in [0, 1] (Definition 1 of the paper)::

    P(K = k) proportional to (1 - g)^k (1 + s)(2 + s)...(k - 1 + s) / k!

Shape 1 is geometric, shape 0 logarithmic. Of two laws with the same mean, the one with the
smaller shape is cheaper and has more of its weight on few runs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_of_runs_curve", "halting_probability"]


@lru_cache(maxsize=256)
def halting_probability(mean: float, shape: float | Fraction) -> Fraction:
    """The g for which the law has this mean, or less by at most a billionth part.

    The number of runs is drawn with the same g from which the cost is computed.

    >>> halting_probability(8.0, 1.0)
    Fraction(1, 8)
    """
    if shape == 1:
        return 1 / Fraction(mean)
    low, high = 0.0, 1.0  # brackets of x = log(1/g), in which the mean increases
    while _mean(high, float(shape)) < mean:
        low, high = high, 2 * high
    while high - low > 1e-11 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _mean(middle, float(shape)) > mean else (middle, high)
    return Fraction(min(1.0, math.exp(-low) * (1 + 1e-10)))


def _mean(x: float, shape: float) -> float:
    """The mean of the law for g = exp(-x)."""
    if shape == 0:
        return math.expm1(x) / x
    return shape * math.expm1(x) / -math.expm1(-shape * x)


def best_of_runs_curve(
    orders: NDArray[np.float64], one_run: NDArray[np.float64], mean: float, shape: float
) -> NDArray[np.float64]:
    """The Renyi divergences of the best of K runs, from those of one run.

    Theorem 2 of the paper: if one run costs r(a) at every order a, the best of K costs, at
    order a > 1 and for every order b >= 1,

        r(a) + (1 + s) ((1 - 1/b) r(b) + log(1/g) / b) + log(mean) / (a - 1).
    """
    to_halt = -math.log(halting_probability(mean, shape))
    choice = (1 + shape) * np.min((1 - 1 / orders) * one_run + to_halt / orders)
    curve = one_run + choice + math.log(mean) / (orders - 1)
    # A divergence never falls with its order, so a bound at a higher order holds below, too.
    return np.asarray(np.minimum.accumulate(curve[::-1])[::-1])
