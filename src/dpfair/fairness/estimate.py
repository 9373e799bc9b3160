"""From noisy counts to a consistent table: post-processing without privacy cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from dpfair.fairness.release import Release

__all__ = ["consistent_counts", "estimated_masses", "labelled_counts", "middles"]

Floats = NDArray[np.float64]


def consistent_counts(release: Release) -> Floats:
    """Possible counts of records: not negative, with sums close to the noisy ones.

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
    """Estimated counts [group, label, bin]; the share of positive labels grows with the score.

    The shares are the isotonic regression of the counted ones, weighted by the counts: where they
    fall instead of growing, bins are pooled, which also averages out their noise, and the number
    of positives of a group does not change. A threshold on the score is then optimal for any
    acceptance rate. Without labels the score itself is used as the share.
    """
    counts = consistent_counts(release)
    mass = counts.sum(axis=1)
    shares = middles(release.edges)
    if release.labelled:
        for a, size in enumerate(mass):
            counted = np.divide(counts[a, 1], size, out=shares[a].copy(), where=size > 0)
            shares[a] = optimize.isotonic_regression(counted, weights=np.maximum(size, 1e-9)).x
    return np.stack([mass * (1 - shares), mass * shares], axis=1)


def labelled_counts(release: Release) -> Floats:
    """Consistent counts by label; without labels, those expected from the scores."""
    return consistent_counts(release) if release.labelled else estimated_masses(release)


def middles(edges: Floats) -> Floats:
    """The middle of every bin [group, bin]."""
    ends = np.pad(edges, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
    points: Floats = (ends[:, 1:] + ends[:, :-1]) / 2
    return points
