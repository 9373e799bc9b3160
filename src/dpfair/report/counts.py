"""Section 6: the noisy table that fairness was computed from, small enough to look at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule
from dpfair.methods.base import PrivateClassifier
from dpfair.report.svg import histogram

__all__ = ["Counts", "Decided", "GroupCounts", "counts_of", "decided_of"]

SHOWN_BINS = 25

DECISIONS = (
    (
        "decisions",
        "The decisions of the planned rule",
        "What the planned rule decided about the counted records, which had no part in planning "
        "it. The model corrects these decisions by random flips, and its bound comes from this "
        "table.",
    ),
    (
        "check",
        "The check",
        "What the finished rule decided about records that had no part in it.",
    ),
)


@dataclass(frozen=True)
class GroupCounts:
    """The counts of one group: a picture, and every cell as (from, to, count per label)."""

    name: str
    total: int
    noise: str
    plot: Markup | None
    cells: tuple[tuple[str, str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Counts:
    """The table that fairness was computed from; ``plain`` if it only counts decisions."""

    exact: bool
    public_sizes: bool
    labels: tuple[str, ...]
    plain: bool
    cells: int
    groups: tuple[GroupCounts, ...]


@dataclass(frozen=True)
class Decided:
    """A table of decisions: its title, what it is, its noise, and the counts of each group."""

    title: str
    about: str
    noise: str
    rows: tuple[tuple[str, tuple[int, ...]], ...]


def counts_of(model: PrivateClassifier) -> Counts | None:
    """The released counts, with the standard deviation of their noise, if there are any."""
    release = model.fitted_.releases.get("count")
    if release is None:
        return None
    labels = tuple(map(str, model.classes_)) if release.labelled else ("records",)
    plain = release.counts.shape[1:] == (1, 2)
    return Counts(
        exact=any(math.isinf(t) for t in release.noise),
        public_sizes=release.sizes is not None,
        labels=labels,
        plain=plain,
        cells=release.counts.size,
        groups=tuple(
            _group(release, a, labels, None if plain else model.rule_)
            for a in range(len(release.groups))
        ),
    )


def decided_of(model: PrivateClassifier) -> list[Decided]:
    """The tables that count decisions, rejected and accepted, of each label."""
    return [
        Decided(
            title,
            about,
            _deviation(release.noise[0]),
            tuple(
                (group, tuple(map(int, counts.ravel())))
                for group, counts in zip(release.groups, release.counts, strict=True)
            ),
        )
        for name, title, about in DECISIONS
        if (release := model.fitted_.releases.get(name)) is not None
    ]


def _group(release: Release, a: int, labels: tuple[str, ...], rule: Rule | None) -> GroupCounts:
    ends = [0.0, *release.edges[a].tolist(), 1.0]
    counts = release.counts[a]
    name, plot = release.groups[a], None
    if rule is not None:
        cuts = [cut for cut in rule.cuts[a].tolist() if math.isfinite(cut)]
        title = f"Scores of group {name}: counts of {' and '.join(labels)}"
        plot = histogram(_shown(ends, counts), cuts, title)
    return GroupCounts(
        name=name,
        total=int(counts.sum()),
        noise=_deviation(release.noise[a]),
        plot=plot,
        cells=tuple(
            (f"{ends[b]:.6g}", f"{ends[b + 1]:.6g}", tuple(int(c) for c in counts[:, b]))
            for b in range(counts.shape[1])
        ),
    )


def _shown(ends: list[float], counts: np.ndarray[Any, Any]) -> list[list[float]]:
    """Counts in equal bins, as if scores were spread evenly inside their cell; [label][bin]."""
    grid = np.linspace(0, 1, SHOWN_BINS + 1)
    below = np.concatenate([np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)], axis=1)
    sums = np.stack([np.interp(grid, ends, row) for row in below])
    bins: list[list[float]] = np.maximum(np.diff(sums, axis=1), 0).tolist()
    return bins


def _deviation(t: float) -> str:
    """Standard deviation of discrete Laplace noise: sqrt(2 q) / (1 - q) with q = exp(-t)."""
    if math.isinf(t):
        return "none"
    return f"± {math.sqrt(2 * math.exp(-t)) / -math.expm1(-t):.2f}"
