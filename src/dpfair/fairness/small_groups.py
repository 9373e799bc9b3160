"""Pooling of groups that are too small for their own threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import FairnessWarning, InputError, warn
from dpfair.fairness.estimate import consistent_counts
from dpfair.fairness.release import Release

__all__ = ["SMALL_GROUPS", "group_sizes", "merge_small", "threshold_classes"]

Floats = NDArray[np.float64]

SMALL_GROUPS = ("merge", "refuse")


def merge_small(
    sizes: Sequence[float] | Floats, smallest: float, families: Sequence[int] | None = None
) -> NDArray[np.int64]:
    """Which class each group belongs to: groups below the smallest size are pooled.

    Only groups of one family are pooled; without families all groups are one family. The noise of m
    groups is sqrt(m) times that of one, so a pool needs sqrt(m) times the smallest size. With fewer
    records the small groups join the largest group of their family.

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


def threshold_classes(
    release: Release, smallest: float, small_groups: str, families: Sequence[int] | None
) -> NDArray[np.int64]:
    """Which groups share a threshold, by released sizes, at no privacy cost."""
    sizes = group_sizes(release)
    smallest = max(smallest, _visible(release))
    one_grid = bool((release.edges == release.edges[0]).all())
    if len(sizes) < 2 or not (sizes < smallest).any() or not one_grid:
        return np.arange(len(sizes))
    small = [name for name, n in zip(release.groups, sizes, strict=True) if n < smallest]
    if small_groups == "refuse":
        raise InputError(
            f"Too few records of {', '.join(small)} for a rule of their own "
            f"(fewer than about {smallest:g}); merge small groups or declare other groups."
        )
    classes = merge_small(sizes, smallest, families)
    warn(_merged_text(release.groups, classes, small), FairnessWarning)
    return classes


def _merged_text(groups: Sequence[str], classes: NDArray[np.int64], small: list[str]) -> str:
    """Which groups share a threshold, what follows from that, and what can be done about it."""
    members = [
        [name for name, own in zip(groups, classes, strict=True) if own == number]
        for number in np.unique(classes)
    ]
    shared = [f"{', '.join(names[:-1])} and {names[-1]}" for names in members if len(names) > 1]
    same = f"These share one threshold: {'; '.join(shared)}. " if shared else ""
    return (
        f"Too few records of {', '.join(small)} for a threshold of their own (fewer than "
        f"smallest_group, or too few for the noise). {same}Acceptance rates inside such a pool may "
        "differ by more than the tolerance; the certified gap includes this. To change it: declare "
        "coarser groups, lower smallest_group, spend a larger epsilon, or set "
        'small_groups="refuse".'
    )


def group_sizes(release: Release) -> Floats:
    """The estimated number of records of each group."""
    sizes: Floats = consistent_counts(release).sum(axis=(1, 2))
    return sizes


def _visible(release: Release) -> float:
    """Six standard deviations of the noise on a group's size.

    The rate of a smaller group would be off by a sixth or more, and so would its threshold.
    """
    variances = [0.0 if math.isinf(t) else 2 / t**2 for t in release.noise]
    return 6 * math.sqrt(release.counts[0].size * max(variances))
