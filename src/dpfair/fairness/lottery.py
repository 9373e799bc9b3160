"""Lotteries over thresholds: their accuracy and rates on a table of counts, and their rules.

A threshold j accepts every score from bin j on; j = 0 accepts everybody and j = B nobody. Accuracy,
acceptance and every statistic of a notion are linear in the probabilities of the thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.fairness.notions import Notion, Statistic
from dpfair.fairness.rules import Rule

__all__ = [
    "Choice",
    "accepted_counts",
    "interpolated_lottery",
    "linear_statistic",
    "statistic_sizes",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Choice:
    """A lottery over thresholds for every group, with estimates from the table of its counts.

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
        If given, scores were *dithered*: they were rounded down to a multiple of 1 / grain, and a
        coin per record replaced the other digits.
    """

    lottery: Floats
    masses: Floats
    counts: Floats
    edges: Floats
    grain: int | None = None

    @property
    def accuracy(self) -> float:
        """The estimated share of right decisions."""
        gain = accepted_counts(self.masses)[:, 1] - accepted_counts(self.masses)[:, 0]
        right = (self.lottery * gain).sum() + self.masses[:, 0].sum()
        return float(right / max(self.masses.sum(), 1e-9))

    @property
    def acceptance(self) -> Floats:
        """The estimated acceptance rate of each group."""
        return self.values(Statistic("acceptance rate"))

    def values(self, statistic: Statistic) -> Floats:
        """The estimated value of a statistic in each group."""
        shares, constant = linear_statistic(self.counts, statistic)
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


def interpolated_lottery(
    masses: Floats,
    counts: Floats,
    edges: Floats,
    statistic: Statistic,
    values: Sequence[float] | Floats,
) -> Choice:
    """Two neighbouring thresholds per group that reach the given values of a monotone statistic."""
    shares, _ = linear_statistic(counts, statistic)
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


def accepted_counts(masses: Floats) -> Floats:
    """How many records of each group and label every threshold accepts."""
    above = np.cumsum(masses[..., ::-1], axis=-1)[..., ::-1]
    return np.concatenate([above, np.zeros((*above.shape[:-1], 1))], axis=-1)


def linear_statistic(masses: Floats, statistic: Statistic) -> tuple[Floats, Floats]:
    """A statistic as a linear function of the lottery: shares [group, threshold], constants.

    A group without counted records gets the distribution of all others together, so that a rule
    that treats all groups alike has no gap.
    """
    known = statistic_sizes(masses, statistic) > 0
    masses = np.where(known[:, None, None], masses, masses[known].sum(axis=0))
    tails = accepted_counts(masses)
    labels = list(statistic.labels)
    size = np.maximum(statistic_sizes(masses, statistic), 1e-9)
    if statistic.correct:
        shares = tails[:, 1] - tails[:, 0]
        return shares / size[:, None], masses[:, 0].sum(axis=1) / size
    shares = tails[:, labels].sum(axis=1) / size[:, None]
    shares[:, 0] = 1.0  # accepting everybody, also in a group without counted records
    return shares, np.zeros(len(masses))


def statistic_sizes(counts: Floats, statistic: Statistic) -> Floats:
    """The number of records of each group that the statistic is computed from."""
    sizes: Floats = counts[:, list(statistic.labels)].sum(axis=(1, 2))
    return sizes


def _grains(cut: float, grain: int | None) -> list[tuple[float, float]]:
    """A cut as a lottery over cuts on the undithered score."""
    if grain is None or not np.isfinite(cut):
        return [(cut, 1.0)]
    whole = math.floor(cut * grain + 1e-9)
    rest = cut * grain - whole
    if rest < 1e-9:
        return [(whole / grain, 1.0)]
    return [(whole / grain, 1 - rest), ((whole + 1) / grain, rest)]
