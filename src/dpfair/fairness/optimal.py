r"""The most accurate rule that is fair: a linear program over lotteries of thresholds.

A threshold j accepts every score from bin j on; j = 0 accepts everybody and j = B nobody. A rule
gives each group a a lottery over thresholds, :math:`w_{aj} \ge 0, \sum_j w_{aj} = 1`, which makes
P(accept | group, bin) monotone in the score. Accuracy, costs, acceptance and every statistic of
every notion are linear in w, so the best rule solves

.. math:: \max_w \sum_{aj} w_{aj} g_{aj} \quad\text{s.t.}\quad l_s \le v_{as}(w) \le u_s,
          \quad u_s - l_s \le \tau

with the gain g of a threshold, the value v of statistic s in group a and the tolerance tau (for a
ratio :math:`l_s \ge (1 - \tau) u_s`). All of it reads a table of counts and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from dpfair import validate
from dpfair.errors import InputError, NoRuleError
from dpfair.fairness.notions import Notion, Statistic
from dpfair.fairness.rules import Rule

__all__ = ["Choice", "Goal", "interpolated_lottery", "merge_small", "optimal_choice"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Goal:
    """What a rule should achieve.

    Parameters
    ----------
    notion, tolerance
        The fairness that is asked for: the gap may be at most the tolerance.
    costs
        The cost of a wrong acceptance and of a wrong rejection. Equal costs: accuracy.
    acceptance
        The share of all records to accept, exactly.
    capacity
        The share of all records that may be accepted at most.
    """

    notion: Notion
    tolerance: float = 0.0
    costs: tuple[float, float] = (1.0, 1.0)
    acceptance: float | None = None
    capacity: float | None = None

    @property
    def other_goal(self) -> str:
        """What beside accuracy is asked for, in words; else empty."""
        acceptance, rejection = self.costs
        if acceptance != rejection:
            return "something else (unequal costs)"
        if self.acceptance is not None or self.capacity is not None:
            return "something else (a rate of acceptance)"
        return ""

    def __post_init__(self) -> None:
        costs = np.asarray(self.costs)
        if costs.shape != (2,) or costs.dtype.kind not in "iuf":
            raise InputError("Expected two costs: of a wrong acceptance and a wrong rejection.")
        for name, number in (
            ("tolerance", self.tolerance),
            ("target", self.acceptance or 0),
            ("capacity", self.capacity or 0),
        ):
            if not isinstance(number, Real):
                raise InputError(f"Expected {name} to be a number, got {number!r}.")
        if not 0 <= self.tolerance <= 1:
            raise InputError(f"Expected tolerance in [0, 1], got {self.tolerance}.")
        validate.positive(cost_of_acceptance=self.costs[0], cost_of_rejection=self.costs[1])
        for name, share in (("target", self.acceptance), ("capacity", self.capacity)):
            if share is not None and not 0 <= share <= 1:
                raise InputError(f"Expected {name} in [0, 1], got {share}.")
        most = 1.0 if self.capacity is None else self.capacity
        if self.acceptance is not None and self.acceptance > most:
            raise InputError(
                f"A target of {self.acceptance} exceeds the capacity of {self.capacity}."
            )


@dataclass(frozen=True, eq=False)
class Choice:
    """A lottery over thresholds for every group, and what it achieves on the table it came from.

    Parameters
    ----------
    lottery : array [groups, bins + 1]
        The probability of each threshold.
    masses : array [groups, 2, bins]
        Estimated counts by group, label and bin, whose accuracy is maximised.
    counts : array [groups, 2, bins]
        Counts that the statistics of a notion are read from. Unlike the masses they are not
        smoothed towards the scores, which would bias rates by label.
    edges : array [groups, bins - 1]
        The cut points of the score.
    grain
        If given, scores were *dithered*: only their multiple of 1 / grain was kept, and a coin
        of their own was added in place of the rest.
    """

    lottery: Floats
    masses: Floats
    counts: Floats
    edges: Floats
    grain: int | None = None

    @property
    def accuracy(self) -> float:
        """The estimated share of right decisions."""
        gain = _tails(self.masses)[:, 1] - _tails(self.masses)[:, 0]
        right = (self.lottery * gain).sum() + self.masses[:, 0].sum()
        return float(right / max(self.masses.sum(), 1e-9))

    @property
    def acceptance(self) -> Floats:
        """The estimated acceptance rate of each group."""
        return self.values(Statistic("acceptance rate"))

    def values(self, statistic: Statistic) -> Floats:
        """The estimated value of a statistic in each group."""
        shares, constant = _statistic(self.counts, statistic)
        values: Floats = (self.lottery * shares).sum(axis=1) + constant
        return values

    def gap(self, notion: Notion) -> float:
        """The estimated gap; zero for a single group."""
        values = np.stack([self.values(s) for s in notion.statistics])
        return notion.gap(values) if len(self.masses) > 1 else 0.0

    def rule(self) -> Rule:
        """The lottery as a rule: between two of its thresholds a coin decides.

        A threshold on dithered scores is a lottery between the two multiples of 1 / grain around
        it, too, since part of the scores between them is accepted by their coin.
        """
        rows: list[dict[float, float]] = []
        for weights, edges in zip(self.lottery, self.edges, strict=True):
            places = np.flatnonzero(weights[:-1] > 0)
            row: dict[float, float] = {}
            for place in places.tolist():
                cut = -np.inf if place == 0 else float(edges[place - 1])
                for point, share in _grains(cut, self.grain):
                    row[point] = row.get(point, 0.0) + share * float(weights[place])
            rows.append(dict(sorted(row.items())))
        steps = max(1, *(len(row) for row in rows)) if rows else 1
        cuts = np.full((len(rows), steps), np.inf)
        accept = np.zeros((len(rows), steps + 1))
        for a, row in enumerate(rows):
            cuts[a, : len(row)] = list(row)
            accept[a, 1 : len(row) + 1] = np.cumsum(list(row.values()))
            accept[a, len(row) + 1 :] = accept[a, len(row)]
        return Rule(np.clip(np.where(accept > 1 - 1e-12, 1.0, accept), 0, 1), cuts)


def optimal_choice(masses: Floats, counts: Floats, edges: Floats, goal: Goal) -> Choice:
    """The best lottery for an goal; for one monotone statistic two neighbouring thresholds at most.

    A group without counted records of a statistic has no rate to agree with and binds nobody.

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
    tails, total = _tails(masses), max(float(masses.sum()), 1e-9)
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
        shares, constant = _statistic(counts, statistic)
        for a in np.flatnonzero(_counted(counts, statistic) > 0).tolist():
            value = [(a * thresholds + j, float(v)) for j, v in enumerate(shares[a])]
            at_most.add([*value, (high, -1.0)], -float(constant[a]))
            at_most.add([*((i, -v) for i, v in value), (low, 1.0)], float(constant[a]))
        if goal.notion.ratio:
            at_most.add([(high, 1 - goal.tolerance), (low, -1.0)], 0.0)
        else:
            at_most.add([(high, 1.0), (low, -1.0)], goal.tolerance)
    found = linprog(
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
        # Nothing is known about the group: its scores are taken for probabilities.
        worth = goal.costs[0] / (goal.costs[0] + goal.costs[1])
        lottery[a] = np.arange(thresholds) == np.searchsorted(edges[a], worth) + 1
    choice = Choice(lottery / lottery.sum(axis=1, keepdims=True), masses, counts, edges)
    if not goal.notion.monotone:
        return choice
    # Where many thresholds are equally good the program may mix distant ones.
    statistic = goal.notion.statistics[0]
    tidy = interpolated_lottery(masses, counts, edges, statistic, choice.values(statistic))
    known = _counted(counts, statistic) > 0
    return replace(tidy, lottery=np.where(known[:, None], tidy.lottery, choice.lottery))


def interpolated_lottery(
    masses: Floats,
    counts: Floats,
    edges: Floats,
    statistic: Statistic,
    values: Sequence[float] | Floats,
) -> Choice:
    """Two neighbouring thresholds per group that reach the given values of a monotone statistic."""
    shares, _ = _statistic(counts, statistic)
    lottery = np.zeros(shares.shape)
    for a, value in enumerate(values):
        # The last threshold whose share still reaches the value, and the next one.
        j = int(np.flatnonzero(shares[a] >= value - 1e-12)[-1]) if shares[a, 0] >= value else 0
        if j == shares.shape[1] - 1:
            lottery[a, j] = 1
            continue
        drop = shares[a, j] - shares[a, j + 1]
        weight = min(1.0, max(0.0, (value - shares[a, j + 1]) / drop)) if drop > 0 else 1.0
        lottery[a, j], lottery[a, j + 1] = weight, 1 - weight
    return Choice(lottery, masses, counts, edges)


def merge_small(
    sizes: Sequence[float] | Floats, smallest: float, families: Sequence[int] | None = None
) -> NDArray[np.int64]:
    """Which class each group belongs to: groups below the smallest size are pooled.

    Only groups of one family are pooled; without families all groups are one. The noise of m
    groups is sqrt(m) times that of one, so that many records make a pool; with fewer of them the
    small groups join the largest group of their family.

    Examples
    --------
    >>> merge_small([900, 70, 500, 80], smallest=100).tolist()
    [0, 1, 2, 1]
    >>> merge_small([900, 30, 500, 80], smallest=100).tolist()
    [0, 0, 1, 0]
    >>> merge_small([900, 30, 500, 80], smallest=100, families=[0, 0, 1, 1]).tolist()
    [0, 0, 1, 1]
    """
    known = np.asarray(sizes, dtype=np.float64)
    family = np.zeros(len(known), dtype=np.int64) if families is None else np.asarray(families)
    leader = np.arange(len(known))
    for f in np.unique(family).tolist():
        small = np.flatnonzero((family == f) & (known < smallest))
        if not len(small):
            continue
        members = np.flatnonzero(family == f)
        enough = known[small].sum() >= smallest * math.sqrt(len(small))
        joins = small[0] if enough else members[np.argmax(known[members])]
        leader[small] = joins
    return np.unique(leader, return_inverse=True)[1].astype(np.int64)


def _grains(cut: float, grain: int | None) -> list[tuple[float, float]]:
    """A cut as a lottery over cuts on the undithered score."""
    if grain is None or not np.isfinite(cut):
        return [(cut, 1.0)]
    whole = math.floor(cut * grain + 1e-9)
    rest = cut * grain - whole
    if rest < 1e-9:
        return [(whole / grain, 1.0)]
    return [(whole / grain, 1 - rest), ((whole + 1) / grain, rest)]


class _Rows:
    """Rows of a sparse constraint matrix."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.right: list[float] = []
        self._entries: list[tuple[int, int, float]] = []

    def add(self, row: Sequence[tuple[int, float]], right: float) -> None:
        self._entries += [(len(self.right), column, value) for column, value in row]
        self.right.append(right)

    def matrix(self) -> coo_array | None:
        if not self.right:
            return None
        rows, columns, values = zip(*self._entries, strict=True)
        return coo_array((values, (rows, columns)), shape=(len(self.right), self.width))


def _tails(masses: Floats) -> Floats:
    """How many records of each group and label every threshold accepts."""
    above = np.cumsum(masses[..., ::-1], axis=-1)[..., ::-1]
    return np.concatenate([above, np.zeros((*above.shape[:-1], 1))], axis=-1)


def _statistic(masses: Floats, statistic: Statistic) -> tuple[Floats, Floats]:
    """A statistic as a linear function of the lottery: shares [group, threshold], constants.

    A group without counted records is taken to be like all the others together, so that a rule
    that treats everybody alike has no gap.
    """
    known = _counted(masses, statistic) > 0
    masses = np.where(known[:, None, None], masses, masses[known].sum(axis=0))
    tails = _tails(masses)
    labels = list(statistic.labels)
    size = np.maximum(_counted(masses, statistic), 1e-9)
    if statistic.correct:
        shares = tails[:, 1] - tails[:, 0]
        return shares / size[:, None], masses[:, 0].sum(axis=1) / size
    shares = tails[:, labels].sum(axis=1) / size[:, None]
    shares[:, 0] = 1.0  # to accept everybody, also of a group of which nobody was counted
    return shares, np.zeros(len(masses))


def _counted(counts: Floats, statistic: Statistic) -> Floats:
    """How many records of each group the statistic is about."""
    sizes: Floats = counts[:, list(statistic.labels)].sum(axis=(1, 2))
    return sizes
