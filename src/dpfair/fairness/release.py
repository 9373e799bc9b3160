"""Noisy tables of counts: the only information about private records that fairness uses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfair.errors import InputError
from dpfair.fairness.rates import NoisyRate
from dpfair.fairness.rules import MAX_BINS

__all__ = [
    "HALF",
    "REUSED",
    "UNDECLARED",
    "Release",
    "dependence_of",
    "grid_of",
    "score_grid",
]

HALF = (0.5,)
"""The grid of the paper's algorithms: what h rejects and what h accepts."""

UNDECLARED = ("group", "label")
"""The undeclared parts of a record that have extra cells, in the order of the cells."""

REUSED = "the counted records also trained the scorer"

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Release:
    """Counts of records by group, label and bin of the score.

    Bin b holds the scores that reach b of the public edges. With ``HALF`` and without labels
    these are the counts of the paper: bin 1 is what h accepts, bin 0 the rest.

    Parameters
    ----------
    groups
        The names of the groups.
    edges : array of shape [groups, bins - 1]
        The increasing cut points of the score; one row for all groups is repeated. They are
        public: fixed beforehand, or found by other paid queries.
    counts : array of shape [groups, labels, bins]
        Noisy counts, not clipped. One row per label, negative first; a single row without labels.
    noise
        Per group the parameter t of the noise, P(z) proportional to exp(-t |z|); infinity for
        exact counts.
    sizes
        Public group sizes, or None when the sizes are private and all cells are noisy.
    grain
        If given, scores were dithered to multiples of 1 / grain before they were counted (see
        :mod:`dpfair.fairness.bounds.placement`).
    dependence
        Empty if the counted records are independent of each other and of the scorer; otherwise
        why they are not. Only independent counts give bounds for new records.
    undeclared
        Noisy counts of the records that are in no other cell, because their ``"group"`` or their
        ``"label"`` is none of the declared ones. Empty if the release does not count them.

    Examples
    --------
    >>> release = Release(("f", "m"), HALF, [[[90, 10]], [[60, 40]]], (math.inf,) * 2, None, "")
    >>> [rate.estimate for rate in release.rates]
    [0.1, 0.4]
    """

    groups: tuple[str, ...]
    edges: Floats
    counts: NDArray[np.int64]
    noise: tuple[float, ...]
    sizes: tuple[int, ...] | None
    dependence: str
    grain: int | None = None
    undeclared: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts, k = np.array(self.counts), len(self.groups)
        edges = grid_of(self.edges, k)
        shapes = [(k, labels, edges.shape[1] + 1) for labels in (1, 2)]
        if counts.shape not in shapes or counts.dtype.kind != "i":
            raise InputError(f"Expected whole counts of shape {shapes[0]} or {shapes[1]}.")
        if len(self.noise) != k or not all(t > 0 for t in self.noise):  # NaN fails
            raise InputError("Expected the noise parameter of each group.")
        if self.sizes is not None and (
            counts.shape[1:] != (1, 2) or len(self.sizes) != k or min(self.sizes) < 0
        ):
            raise InputError("Public sizes go with two bins and no labels.")
        if self.grain is not None and self.grain < 1:
            raise InputError(f"Expected grain >= 1, got {self.grain}.")
        if not set(self.undeclared) <= set(UNDECLARED) or (
            self.undeclared and (self.sizes is not None or len(set(self.noise)) > 1)
        ):
            raise InputError("Undeclared groups and labels are counted in tables of one noise.")
        for name, array in (("counts", counts), ("edges", edges)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and all(
            np.array_equal(getattr(self, part.name), getattr(other, part.name))
            for part in fields(self)
        )

    @property
    def labelled(self) -> bool:
        """Whether the counts are by label, as most notions of fairness need."""
        return int(self.counts.shape[1]) == 2

    @property
    def total(self) -> int:
        """The noisy number of counted records, with those of no declared group or label."""
        return int(self.counts.sum()) + sum(self.undeclared.values())

    def undeclared_rate(self, kind: str) -> NoisyRate:
        """What is known about the share of records whose group (or label) is not declared.

        A negative count is set to zero; otherwise the upper end would be too small.
        """
        count = max(self.undeclared[kind], 0)
        return NoisyRate(
            accepted=count,
            rejected=self.total - count,
            size=None,
            noise=self.noise[0],
            rejected_cells=self.counts.size + len(self.undeclared) - 1,
        )

    def right_rate(self, groups: Sequence[int], thresholds: Sequence[int]) -> NoisyRate:
        """The rate, among all records, of those in the groups that the thresholds decide right.

        No decision about a record of an undeclared group or label is right.
        """
        hits, cells = 0, 0
        for a, j in zip(groups, thresholds, strict=True):
            counts = self.counts[a]
            hits += int(counts[1, j:].sum() + counts[0, :j].sum())
            cells += counts.shape[1]
        return NoisyRate(
            accepted=hits,
            rejected=self.total - hits,
            size=None,
            noise=self.noise[0],
            accepted_cells=cells,
            rejected_cells=max(1, self.counts.size + len(self.undeclared) - cells),
        )

    @property
    def rates(self) -> tuple[NoisyRate, ...]:
        """What is known about the share of records that h accepts, per group."""
        halves = [np.flatnonzero(row == HALF[0]) for row in self.edges]
        if any(len(half) == 0 for half in halves):
            raise InputError("The grid of this release does not show what h accepts.")
        return tuple(self.rate(a, int(half[0]) + 1) for a, half in enumerate(halves))

    def rows(self, labels: tuple[int, ...], *, correct: bool = False) -> list[int]:
        """The rows of the counts that hold records of these labels."""
        if self.labelled:
            return list(labels)
        if labels != (0, 1) or correct:
            raise InputError("This notion of fairness needs a release with labels.")
        return [0]

    def rate(
        self,
        group: int,
        threshold: int,
        labels: tuple[int, ...] = (0, 1),
        *,
        correct: bool = False,
    ) -> NoisyRate:
        """What is known about a threshold's rate in one group.

        It is the rate at which records of the given labels (all of them by default) lie in a bin
        from ``threshold`` on; with ``correct`` the rate of records that the threshold decides
        right.
        """
        rows = self.rows(labels, correct=correct)
        hits, misses, hit_cells, missed_cells = 0, 0, 0, 0
        for y in rows:
            above = int(self.counts[group, y, threshold:].sum())
            below = int(self.counts[group, y, :threshold].sum())
            cells = (self.counts.shape[2] - threshold, threshold)
            if correct and y == 0:
                above, below, cells = below, above, cells[::-1]
            hits, misses = hits + above, misses + below
            hit_cells, missed_cells = hit_cells + cells[0], missed_cells + cells[1]
        public = self.sizes is not None
        return NoisyRate(
            accepted=hits,
            rejected=None if public else misses,
            size=self.sizes[group] if self.sizes is not None else None,
            noise=self.noise[group],
            accepted_cells=max(hit_cells, 1),
            rejected_cells=max(missed_cells, 1),
        )


def grid_of(edges: ArrayLike, groups: int) -> Floats:
    """Edges [group, bins - 1], checked; a single row is repeated for every group."""
    grid = np.array(edges, dtype=np.float64)
    if grid.ndim == 1:
        grid = np.tile(grid, (groups, 1))
    if grid.ndim != 2 or len(grid) != groups or not 1 <= grid.shape[1] < MAX_BINS:
        raise InputError(f"Expected up to {MAX_BINS} bins of the score for every group.")
    if not np.isfinite(grid).all() or not np.all(grid[:, 1:] > grid[:, :-1]):
        raise InputError("Expected increasing edges of the score.")
    return grid


def score_grid(epsilon: float) -> tuple[float, ...]:
    """The public edges of a score table that costs ``epsilon``; one edge is at one half.

    Bins are equal on the scale of log-odds, from -4 to 4, so that rare decisions in either
    direction have fine bins, too. Fine bins place a threshold precisely, but every bin above it
    adds its noise to the count of the accepted, so a small budget gets fewer of them.

    Examples
    --------
    >>> [round(edge, 3) for edge in score_grid(0.1)[6:9]], len(score_grid(3.0))
    ([0.378, 0.5, 0.622], 63)
    """
    bins = 64 if epsilon >= 0.5 else 32 if epsilon >= 0.15 else 16
    return tuple(1 / (1 + math.exp(8 * (0.5 - i / bins))) for i in range(1, bins))


def dependence_of(*, inferred: bool, rows_per_unit: int, discovered: bool = False) -> str:
    """Why counts of records give no bound for new ones; empty if they do.

    ``inferred``: the schema was read off these records. ``discovered``: its facts were found in
    them privately, before the fit.
    """
    if inferred:
        return "the schema was read off the counted records"
    if discovered:
        return "facts of the schema were found in the counted records"
    if rows_per_unit > 1:
        return "several records of one person are not independent"
    return ""
