"""Tables of counts that several tests share."""

from __future__ import annotations

import math

import numpy as np

from dpfair.fairness.dither import Window
from dpfair.fairness.release import Release

EDGES = np.arange(1, 20) / 20


def discrete_laplace(rng, t: float, shape) -> np.ndarray:
    """Differences of two geometric variables, independent of the library's formulas."""
    if math.isinf(t):
        return np.zeros(shape, dtype=np.int64)
    return rng.geometric(-math.expm1(-t), shape) - rng.geometric(-math.expm1(-t), shape)


def window(low, high, mass=0.2, size=5000.0) -> Window:
    return Window((low, high), (mass,), rate=0.3, size=size)


def table(sizes, *, edges=EDGES, noise=math.inf, grain=None, dependence="", seed=0) -> Release:
    """Groups whose scores differ; labels follow the scores."""
    rng = np.random.default_rng(seed)
    grid = np.tile(edges, (len(sizes), 1)) if np.ndim(edges) == 1 else np.array(edges)
    counts = np.zeros((len(sizes), 2, grid.shape[1] + 1), dtype=np.int64)
    for a, n in enumerate(sizes):
        scores = rng.beta(1.5 + 0.5 * a, 3, n)
        labels = (rng.random(n) < scores).astype(int)
        np.add.at(counts[a], (labels, np.searchsorted(grid[a], scores, side="right")), 1)
    counts += discrete_laplace(rng, noise, counts.shape)
    names = tuple("abcdef"[: len(sizes)])
    return Release(names, grid, counts, (noise,) * len(sizes), None, dependence, grain)


def counts_of(seed: int, groups: int = 2, bins: int = 3) -> np.ndarray:
    """Counts whose share of positives grows with the score, as the estimates' does."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 60, (groups, bins)) * 1.0
    shares = np.sort(rng.uniform(0.02, 0.98, (groups, bins)), axis=1)
    return np.stack([sizes * (1 - shares), sizes * shares], axis=1)


def edges_of(counts: np.ndarray) -> np.ndarray:
    bins = counts.shape[2]
    return np.tile(np.arange(1, bins) / bins, (len(counts), 1))
