"""Metrics on a test set: accuracy, group rates, the parity gap, and their precision."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpfair.errors import InputError
from dpfair.fairness.notions import Notion
from dpfair.validate import in_open_interval

Floats = NDArray[np.float64]


def accuracy(decisions: ArrayLike, labels: ArrayLike) -> float:
    """Share of the decisions that equal the labels.

    Given probabilities of acceptance instead of 0/1 decisions, it is the expected accuracy.

    Examples
    --------
    >>> accuracy([1, 0, 1, 1], [1, 0, 0, 1])
    0.75
    >>> accuracy([0.5, 0.0], [1, 0])
    0.75
    """
    accepted, positive = np.asarray(decisions, dtype=np.float64), np.asarray(labels) == 1
    if accepted.size == 0 or accepted.shape != positive.shape:
        raise InputError(
            f"Expected as many decisions as labels, and at least one, "
            f"got {accepted.size} and {positive.size}."
        )
    return float(np.where(positive, accepted, 1 - accepted).mean())


def group_rates(decisions: ArrayLike, groups: ArrayLike, n_groups: int) -> Floats:
    """Acceptance rate of each group, NaN for a group without records.

    Decisions are 0/1, or probabilities of acceptance for expected rates.

    Examples
    --------
    >>> group_rates([1, 0, 1, 1], [0, 0, 1, 1], n_groups=3).tolist()
    [0.5, 1.0, nan]
    """
    index = np.asarray(groups, dtype=np.intp)
    sizes = np.bincount(index, minlength=n_groups)
    accepted = np.bincount(index, np.asarray(decisions, dtype=np.float64), minlength=n_groups)
    rates = np.full(n_groups, np.nan)
    np.divide(accepted, sizes, out=rates, where=sizes > 0)
    return rates


def group_values(
    notion: Notion, decisions: ArrayLike, groups: ArrayLike, labels: ArrayLike, n_groups: int
) -> NDArray[np.float64]:
    """The values of the notion's statistics on records: an array [statistic, group].

    A group without records of the statistic's labels has NaN.

    Examples
    --------
    >>> from dpfair.fairness.notions import NOTIONS
    >>> notion = NOTIONS["equal_opportunity"]
    >>> group_values(notion, [1, 0, 1, 1], [0, 0, 1, 1], [1, 1, 1, 0], 2).tolist()
    [[0.5, 1.0]]
    """
    accepted = np.asarray(decisions, dtype=np.float64)
    index, truth = np.asarray(groups), np.asarray(labels)
    values = []
    for statistic in notion.statistics:
        hits = np.where(truth == 1, accepted, 1 - accepted) if statistic.correct else accepted
        counted = np.isin(truth, statistic.labels)
        values.append(group_rates(hits[counted], index[counted], n_groups))
    return np.stack(values)


def parity_gap(decisions: ArrayLike, groups: ArrayLike, n_groups: int) -> float:
    """Demographic parity gap: largest minus smallest rate of the groups that have records.

    NaN when fewer than two groups have records, since there is nothing to compare.

    Examples
    --------
    >>> parity_gap([1, 0, 1, 1], [0, 0, 1, 1], n_groups=2)
    0.5
    """
    return gap_of(group_rates(decisions, groups, n_groups))


def gap_of(rates: Floats) -> float:
    """Largest minus smallest rate of the groups that have records; NaN if fewer than two do."""
    present = rates[~np.isnan(rates)]
    return float(present.max() - present.min()) if len(present) > 1 else math.nan


def rate_interval(accepted: int, size: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson interval for the rate behind ``accepted`` of ``size`` records.

    It covers the rate with at least the given probability for every size; see
    ``NoisyRate.interval`` for counts with noise.

    Examples
    --------
    >>> low, high = rate_interval(7, 40)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0734 0.3278
    """
    in_open_interval(0, 1, confidence=confidence)
    if not 0 <= accepted <= size:
        raise InputError(f"Expected 0 <= accepted <= size, got {accepted} of {size}.")
    tail = (1 - confidence) / 2
    rest = size - accepted
    low = float(special.betaincinv(accepted, rest + 1, tail)) if accepted else 0.0
    high = float(special.betaincinv(accepted + 1, rest, 1 - tail)) if rest else 1.0
    return low, high


def sampling_floor(rate: float, sizes: Sequence[int]) -> float:
    r"""Gap that a perfectly fair classifier shows on average on a test set of several groups.

    With a common rate t every observed rate is nearly normal around it, with standard deviation
    :math:`s_a = \sqrt{t(1-t)/n_a}`, and the mean of the largest minus the smallest is

    .. math:: \int 1 - \prod_a \Phi(x/s_a) - \prod_a (1 - \Phi(x/s_a))\, dx ,

    for two groups :math:`\sqrt{2/\pi}\,\sqrt{t(1-t)(1/n_0+1/n_1)}`. Gaps of this order do not
    show which classifier is fairer.

    Examples
    --------
    >>> round(sampling_floor(0.14, [3674, 7631]), 4)
    0.0056
    """
    if not (0 <= rate <= 1 and len(sizes) >= 2 and min(sizes) >= 1):
        raise InputError(f"Expected a rate in [0, 1] and sizes >= 1, got {rate} and {sizes}.")
    spreads = np.sqrt(rate * (1 - rate) / np.asarray(sizes, dtype=np.float64))
    if not spreads.any():
        return 0.0
    x = np.linspace(-8, 8, 4001) * spreads.max()
    below = special.ndtr(x[:, None] / spreads)
    return float(np.trapezoid(1 - below.prod(axis=1) - (1 - below).prod(axis=1), x))
