"""Lower bounds on the epsilon of a mechanism, from samples of its outputs.

A mechanism with outputs P on one input and Q on its neighbour is (epsilon, delta)-private only if
P(E) <= exp(epsilon) Q(E) + delta for *every* set E of outputs, and the same with P and Q
exchanged. Hence one set that is too frequent refutes a claim, and any set proves

    epsilon >= log((p - delta) / q)

for a lower limit p of P(E) and an upper limit q of Q(E). The limits of Clopper and Pearson (1934)
are exact for every sample size. The set, and which of the inputs is P, are chosen on one half of
the samples, by the same bound that is then computed on the other half: the largest ratio of
frequencies would select sets that are too rare to prove anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv, expit

from dpfair import validate
from dpfair.errors import InputError

__all__ = ["Event", "Shown", "choose_event", "clopper_pearson", "lower_bound", "shown"]

Floats = NDArray[np.float64]

# Thresholds that are tried per statistic; they reach at least 99 % of the best bound.
_THRESHOLDS = 127
_SIGNS = (">=", "<=", "==")


@dataclass(frozen=True)
class Event:
    """A set of outputs: one statistic against a threshold.

    ``swapped`` means that the set is more frequent on the *second* input.
    """

    statistic: int
    sign: str
    threshold: float
    swapped: bool

    def hits(self, samples: Floats) -> int:
        """How many of the samples lie in the set."""
        values = samples[:, self.statistic]
        compare = {">=": np.greater_equal, "<=": np.less_equal, "==": np.equal}[self.sign]
        return int(compare(values, self.threshold).sum())


@dataclass(frozen=True)
class Shown:
    """A lower bound on epsilon, which is wrong at most with the stated error rate.

    ``hits`` of ``trials`` samples lay in the set, for the input on which it is more frequent and
    for the other one.
    """

    epsilon: float
    event: Event
    hits: tuple[int, int]
    trials: tuple[int, int]


def lower_bound(
    first: ArrayLike, second: ArrayLike, delta: float = 0.0, confidence: float = 0.999
) -> Shown:
    """A lower bound on the epsilon at ``delta``, from outputs on two neighbouring inputs.

    Parameters
    ----------
    first, second
        Independent samples, one row each. A row holds one number or several; sets of outputs are
        ``>=``, ``<=`` and ``==`` a threshold, for one of the numbers. (The outcomes of a finite
        mechanism are given as numbers 0, 1, 2, ...)
    confidence
        The probability that the bound is not above the true epsilon.

    Examples
    --------
    >>> import numpy as np
    >>> truth, lie = np.repeat([1, 0], [7500, 2500]), np.repeat([1, 0], [2500, 7500])
    >>> fair = np.random.Generator(np.random.Philox(1)).permutation
    >>> round(lower_bound(fair(truth), fair(lie)).epsilon, 2)  # log 3 = 1.10
    0.97
    """
    validate.in_open_interval(0, 1, confidence=confidence)
    first, second = _rows(first), _rows(second)
    middle = len(first) // 2, len(second) // 2
    error = 1 - confidence
    event, _ = choose_event(first[: middle[0]], second[: middle[1]], delta, error)
    return shown(event, first[middle[0] :], second[middle[1] :], delta, error)


def choose_event(
    first: ArrayLike, second: ArrayLike, delta: float, error: float
) -> tuple[Event, float]:
    """The event with the largest bound, if these samples were fresh, and that bound."""
    first, second = _rows(first), _rows(second)
    if first.shape[1] != second.shape[1]:
        raise InputError("Expected the same statistics of both inputs.")
    best, most = Event(0, ">=", -np.inf, False), -np.inf
    for statistic in range(first.shape[1]):
        ordered = np.sort(first[:, statistic]), np.sort(second[:, statistic])
        thresholds = _thresholds(*ordered)
        hits = [_hits(values, thresholds) for values in ordered]
        for swapped in (False, True):
            likely, rare = hits[::-1] if swapped else hits
            n, m = (len(o) for o in (ordered[::-1] if swapped else ordered))
            bounds = _epsilon(likely, n, rare, m, delta, error)
            place = int(np.argmax(bounds))
            if bounds.flat[place] > most:
                kind, i = np.unravel_index(place, bounds.shape)
                best = Event(statistic, _SIGNS[int(kind)], float(thresholds[i]), swapped)
                most = float(bounds.flat[place])
    return best, most


def shown(event: Event, first: ArrayLike, second: ArrayLike, delta: float, error: float) -> Shown:
    """The bound from fresh samples, for an event that was chosen without them."""
    likely, rare = _rows(first), _rows(second)
    if event.swapped:
        likely, rare = rare, likely
    hits, trials = (event.hits(likely), event.hits(rare)), (len(likely), len(rare))
    bound = _epsilon(np.array(hits[0]), trials[0], np.array(hits[1]), trials[1], delta, error)
    return Shown(max(0.0, float(bound)), event, hits, trials)


def clopper_pearson(hits: ArrayLike, trials: int, error: float) -> tuple[Floats, Floats]:
    """Limits of a probability, each of which is wrong with probability at most ``error``.

    >>> [round(float(limit), 4) for limit in clopper_pearson(5, 100, error=0.025)]
    [0.0164, 0.1128]
    """
    k = np.asarray(hits, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), trials - k + 1, error), 0.0)
    high = np.where(k < trials, betainccinv(k + 1, np.maximum(trials - k, 1), error), 1.0)
    return low, high


def _epsilon(
    likely: NDArray[np.int64], n: int, rare: NDArray[np.int64], m: int, delta: float, error: float
) -> Floats:
    """log((p - delta) / q) by the limits of p and q, each wrong with half of the error."""
    low, _ = _limits(likely, n, error / 2)
    _, high = _limits(rare, m, error / 2)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low - delta, 0.0)) - np.log(high))


def _limits(hits: NDArray[np.int64], trials: int, error: float) -> tuple[Floats, Floats]:
    """Limits for many sets at once; many sets have the same number of hits."""
    distinct, place = np.unique(hits, return_inverse=True)
    low, high = clopper_pearson(distinct, trials, error)
    return low[place].reshape(hits.shape), high[place].reshape(hits.shape)


def _hits(ordered: Floats, thresholds: Floats) -> NDArray[np.int64]:
    """How many of the sorted values lie in each set [sign, threshold]."""
    below = np.searchsorted(ordered, thresholds, side="left")
    up_to = np.searchsorted(ordered, thresholds, side="right")
    return np.stack([len(ordered) - below, up_to, up_to - below])


def _thresholds(first: Floats, second: Floats) -> Floats:
    """Sample values that cut off large and small parts at either end."""
    chosen = []
    for ordered in (first, second):
        levels = expit(np.linspace(-1, 1, _THRESHOLDS) * np.log(len(ordered)))
        chosen.append(ordered[(levels * len(ordered)).astype(np.int64)])
    return np.unique(np.concatenate(chosen))


def _rows(samples: ArrayLike) -> Floats:
    rows = np.asarray(samples, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) < 2 or not np.isfinite(rows).all():
        raise InputError("Expected at least two samples, with the same finite numbers each.")
    return rows
