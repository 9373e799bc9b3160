"""Populations whose rates are known exactly, and releases of their records."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from fairness.tables import discrete_laplace
from scipy.stats import binom

from dpfair.fairness.bounds.bands import interval_gap
from dpfair.fairness.dither import GRAIN, Window
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import Release

__all__ = [
    "OPPORTUNITY",
    "PARITY",
    "World",
    "implied",
    "least",
    "lumps",
    "releases",
    "smooth",
    "table",
]

PARITY, OPPORTUNITY = NOTIONS["demographic_parity"], NOTIONS["equal_opportunity"]


class World(NamedTuple):
    """Populations on finitely many scores, so that every rate is known exactly."""

    scores: np.ndarray
    weights: np.ndarray  # [group, score]
    positive: np.ndarray  # P(label 1 | score)

    def cells(self, edges: np.ndarray) -> np.ndarray:
        """P(label, bin) of dithered scores in every group."""
        ends = np.pad(edges * GRAIN, ((0, 0), (1, 1)), constant_values=((0, 0), (0, GRAIN)))
        grains = (self.scores[:, None] >= np.arange(1, GRAIN) / GRAIN).sum(axis=1)
        shares = []
        for row, weight in zip(ends, self.weights, strict=True):
            # How much of a score's grain lies in each bin.
            over = np.minimum(row[1:], grains[:, None] + 1) - np.maximum(row[:-1], grains[:, None])
            inside = np.maximum(over, 0) * weight[:, None]
            shares.append([(1 - self.positive) @ inside, self.positive @ inside])
        return np.array(shares)

    def rate(self, rule, group: int, notion) -> float:
        weight = self.weights[group]
        if notion.statistics[0].labels == (1,):
            weight = weight * self.positive
        chances = rule.probabilities(np.full(len(self.scores), group), self.scores)
        return float(chances @ weight / weight.sum())

    def windows(self, targets, notion, sizes=None, half=0.03, wrong=0.0):
        """Around the cut of each target, or ``wrong`` away from it."""
        windows = []
        sizes = [5000] * len(targets) if sizes is None else sizes
        for weight, target, size in zip(self.weights, targets, sizes, strict=True):
            weight = weight * self.positive if notion is OPPORTUNITY else weight
            above = np.cumsum(weight[::-1])[::-1] / weight.sum()
            cut = self.scores[min(int((above >= target).sum()), len(above)) - 1] + wrong
            mass = weight[np.abs(self.scores - cut) <= half].sum() / weight.sum()
            windows.append(Window((cut - half, cut + half), (mass,), rate=target, size=size))
        return windows


def smooth(k: int) -> World:
    scores = (np.arange(4000) + 0.5) / 4000
    weights = np.array([scores ** (0.3 + 0.2 * a) * (1 - scores) ** 2 for a in range(k)])
    return World(scores, weights / weights.sum(axis=1, keepdims=True), 0.05 + 0.9 * scores)


def lumps(k: int) -> World:
    """Five scores only; some on a multiple of 1 / GRAIN, where rounding matters."""
    scores = np.array([0.105, 0.29, 0.33, 0.57, 0.8])
    weights = np.array([[0.3 + 0.05 * a, 0.25, 0.2, 0.15, 0.1] for a in range(k)])
    return World(scores, weights / weights.sum(axis=1, keepdims=True), 0.05 + 0.9 * scores)


def releases(trial, sizes, edges, epsilon, count, seed=0):
    """Noisy tables of independent records."""
    rng, k = np.random.default_rng(seed), len(sizes)
    cells = trial.cells(edges)
    names, noise = tuple("abcdef"[:k]), (float(epsilon),) * k
    exact = np.stack(
        [rng.multinomial(n, p.ravel(), count) for n, p in zip(sizes, cells, strict=True)], axis=1
    ).reshape(count, *cells.shape)
    noisy = exact + discrete_laplace(rng, epsilon, exact.shape)
    return [Release(names, edges, table, noise, None, "", GRAIN) for table in noisy]


def table(counts, noise=math.inf, edges=(0.25, 0.5, 0.75)):
    names = tuple("abcdef"[: len(counts)])
    return Release(names, edges, counts, (noise,) * len(counts), None, "", GRAIN)


def least(count: int, level: float = 0.95) -> float:
    """Fewer successes than this have a probability below 1e-4 if the level holds."""
    return float(binom.ppf(1e-4, count, level)) / count


def implied(bound) -> float:
    """The largest gap that the intervals allow."""
    return max(
        interval_gap(first[1], second[0], ratio=False)
        for row in bound.intervals
        for first, second in itertools.permutations(row, 2)
    )
