r"""The most accurate rule that is fair: a linear program over lotteries of thresholds.

A threshold j accepts every score from bin j on; j = 0 accepts everybody and j = B nobody. A rule
gives each group a a lottery over thresholds, :math:`w_{aj} \ge 0, \sum_j w_{aj} = 1`, which makes
P(accept | group, bin) monotone in the score. Accuracy, costs, acceptance and every statistic of
every notion are linear in w, so the best rule solves

.. math:: \max_w \sum_{aj} w_{aj} g_{aj} \quad\text{s.t.}\quad l_s \le v_{as}(w) \le u_s,
          \quad u_s - l_s \le \tau

with the gain g of a threshold, the value v of statistic s in group a and the tolerance tau (for a
ratio :math:`l_s \ge (1 - \tau) u_s`). It uses only a table of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from dpfair.errors import NoRuleError
from dpfair.fairness.goal import Goal
from dpfair.fairness.lottery import (
    Choice,
    accepted_counts,
    interpolated_lottery,
    linear_statistic,
    statistic_sizes,
)

__all__ = ["optimal_choice"]

Floats = NDArray[np.float64]


def optimal_choice(masses: Floats, counts: Floats, edges: Floats, goal: Goal) -> Choice:
    """The best lottery for a goal; for one monotone statistic two neighbouring thresholds at most.

    A group without counted records of a statistic has no rate, so it adds no constraint.

    Examples
    --------
    >>> from dpfair.fairness.notions import NOTIONS
    >>> women, men = [[80, 10], [4, 6]], [[40, 10], [10, 40]]
    >>> goal = Goal(NOTIONS["demographic_parity"])
    >>> masses, edges = np.array([women, men], dtype=float), np.array([[0.5], [0.5]])
    >>> choice = optimal_choice(masses, masses, edges, goal)
    >>> choice.acceptance.round(3).tolist(), round(choice.accuracy, 3)
    ([0.16, 0.16], 0.728)
    """
    tails, total = accepted_counts(masses), max(float(masses.sum()), 1e-9)
    k, thresholds = tails.shape[0], tails.shape[2]
    statistics = goal.notion.statistics if k > 1 else ()
    width = k * thresholds
    gain = goal.costs[1] * tails[:, 1] - goal.costs[0] * tails[:, 0]
    objective = np.concatenate([-gain.ravel() / total, np.zeros(2 * len(statistics))])
    equal, at_most = _Rows(width + 2 * len(statistics)), _Rows(width + 2 * len(statistics))
    for a in range(k):
        equal.add([(a * thresholds + j, 1.0) for j in range(thresholds)], 1.0)
    overall = [(i, float(v)) for i, v in enumerate((tails.sum(axis=1) / total).ravel())]
    if goal.acceptance is not None:
        equal.add(overall, goal.acceptance)
    if goal.capacity is not None:
        at_most.add(overall, goal.capacity)
    for s, statistic in enumerate(statistics):
        low, high = width + 2 * s, width + 2 * s + 1
        shares, constant = linear_statistic(counts, statistic)
        for a in np.flatnonzero(statistic_sizes(counts, statistic) > 0).tolist():
            value = [(a * thresholds + j, float(v)) for j, v in enumerate(shares[a])]
            at_most.add([*value, (high, -1.0)], -float(constant[a]))
            at_most.add([*((i, -v) for i, v in value), (low, 1.0)], float(constant[a]))
        if goal.notion.ratio:
            at_most.add([(high, 1 - goal.tolerance), (low, -1.0)], 0.0)
        else:
            at_most.add([(high, 1.0), (low, -1.0)], goal.tolerance)
    found = optimize.linprog(
        objective,
        A_ub=at_most.matrix(),
        b_ub=at_most.right or None,
        A_eq=equal.matrix(),
        b_eq=equal.right,
        bounds=(0, 1),
        method="highs-ds",
    )
    if found.status != 0:
        raise NoRuleError(
            "No rule fits the acceptance rate, the capacity and the tolerance at once."
        )
    lottery = found.x[:width].reshape(k, thresholds)
    lottery[lottery < 1e-9] = 0
    for a in np.flatnonzero(masses.sum(axis=(1, 2)) <= 0).tolist():
        # No record of the group was counted: its scores are used as probabilities.
        worth = goal.costs[0] / (goal.costs[0] + goal.costs[1])
        lottery[a] = np.arange(thresholds) == np.searchsorted(edges[a], worth) + 1
    choice = Choice(lottery / lottery.sum(axis=1, keepdims=True), masses, counts, edges)
    if not goal.notion.monotone:
        return choice
    # Where many thresholds are equally good the program may mix distant ones.
    statistic = goal.notion.statistics[0]
    tidy = interpolated_lottery(masses, counts, edges, statistic, choice.values(statistic))
    known = statistic_sizes(counts, statistic) > 0
    return replace(tidy, lottery=np.where(known[:, None], tidy.lottery, choice.lottery))


class _Rows:
    """Rows of a sparse constraint matrix."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.right: list[float] = []
        self._entries: list[tuple[int, int, float]] = []

    def add(self, row: Sequence[tuple[int, float]], right: float) -> None:
        self._entries += [(len(self.right), column, value) for column, value in row]
        self.right.append(right)

    def matrix(self) -> sparse.coo_array | None:
        if not self.right:
            return None
        rows, columns, values = zip(*self._entries, strict=True)
        return sparse.coo_array((values, (rows, columns)), shape=(len(self.right), self.width))
