"""From noisy counts to a consistent table: post-processing, free of privacy cost."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from dpfair.fairness.release import Release

__all__ = ["CALIBRATION", "consistent_counts", "estimated_masses", "labelled_counts", "middles"]

Floats = NDArray[np.float64]

CALIBRATION = 0.05
"""How far a bin's share of positive labels is expected to be from its score, beforehand."""


def consistent_counts(release: Release) -> Floats:
    """Counts that records could have: not negative, with sums close to the noisy ones.

    Setting negative counts to zero would bias every sum upwards. Instead the running sums are made
    monotone, half way between the smallest monotone curve above them and the largest below.

    Examples
    --------
    >>> release = Release(("all",), (0.3, 0.6), [[[5, -2, 3]]], (1.0,), None, "")
    >>> consistent_counts(release).tolist()
    [[[4.0, 0.0, 2.0]]]
    """
    sums = np.maximum(np.cumsum(release.counts, axis=-1, dtype=np.float64), 0)
    above = np.maximum.accumulate(sums, axis=-1)
    below = np.minimum.accumulate(sums[..., ::-1], axis=-1)[..., ::-1]
    return np.diff((above + below) / 2, axis=-1, prepend=0.0)


def estimated_masses(release: Release) -> Floats:
    r"""Estimated counts [group, label, bin]; the share of positive labels grows with the score.

    The scorer was trained to predict the label, so before looking a bin's share of positives is
    near its score, give or take ``CALIBRATION``. The counts correct this by their precision: with
    m records and noise of variance v, the weight of the counted share is
    :math:`c^2 / (c^2 + (m/4 + v) / m^2)`. The result is made monotone, so that accepting from some
    score on is the best use of any acceptance rate. Without labels the score itself is taken.
    """
    counts = consistent_counts(release)
    mass = counts.sum(axis=1)
    expected = middles(release.edges)
    shares = expected.copy()
    if release.labelled:
        for a, t in enumerate(release.noise):
            variance = 0.0 if math.isinf(t) else 2 * math.exp(-t) / math.expm1(-t) ** 2
            size = np.maximum(mass[a], 1e-9)
            weight = CALIBRATION**2 / (CALIBRATION**2 + (size / 4 + variance) / size**2)
            counted = np.clip(counts[a, 1] / size, 0, 1)
            shares[a] = weight * counted + (1 - weight) * expected[a]
            shares[a] = isotonic_regression(shares[a], weights=size).x
    return np.stack([mass * (1 - shares), mass * shares], axis=1)


def labelled_counts(release: Release) -> Floats:
    """Consistent counts by label; without labels, those expected from the scores."""
    return consistent_counts(release) if release.labelled else estimated_masses(release)


def middles(edges: Floats) -> Floats:
    """The middle of every bin [group, bin]."""
    ends = np.pad(edges, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
    points: Floats = (ends[:, 1:] + ends[:, :-1]) / 2
    return points
