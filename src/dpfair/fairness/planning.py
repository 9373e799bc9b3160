"""Plans from other records: the rates that a rule should reach, and its expected cuts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.fairness.dither import Window
from dpfair.fairness.estimate import estimated_masses, labelled_counts
from dpfair.fairness.goal import Goal
from dpfair.fairness.optimal import optimal_choice
from dpfair.fairness.release import Release
from dpfair.fairness.small_groups import group_sizes

__all__ = ["PlannedRates", "planned_rates"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PlannedRates:
    """The result of planning: a rate for each group, and the expected position of its cut."""

    rates: tuple[float, ...]
    windows: tuple[Window, ...]


def planned_rates(
    plan: Release, goal: Goal, *, smallest: float, ratio: float
) -> PlannedRates | None:
    """The rates that a rule should reach, from a release that is not the one to be certified.

    ``ratio`` is the number of records to be counted per record that is used for planning. None if a
    group is too small for its own threshold, or if the notion has several rates.
    """
    if not goal.notion.monotone or (ratio * group_sizes(plan) < smallest).any():
        return None
    statistic = goal.notion.statistics[0]
    masses, counts = estimated_masses(plan), labelled_counts(plan)
    rates = optimal_choice(masses, counts, plan.edges, goal).values(statistic)
    members = counts[:, list(statistic.labels)].sum(axis=1)
    windows = [
        _window(members[a], plan.edges[a], float(rates[a]), ratio, 2 * plan.counts[a].size / t**2)
        for a, t in enumerate(plan.noise)
    ]
    return PlannedRates(tuple(rates.tolist()), tuple(windows))


def _window(counts: Floats, edges: Floats, rate: float, ratio: float, noise: float) -> Window:
    """The expected position of a group's cut, by its planned counts and their noise variance."""
    size, ends = max(float(counts.sum()), 1.0), np.array([0.0, *edges, 1.0])
    # Both tables have a sampling error, the planned one also its noise.
    off = math.sqrt((1 + 1 / ratio) * rate * (1 - rate) / size + noise / size**2)
    below = np.concatenate([[0.0], np.cumsum(counts)])
    goals = size * np.clip(1 - rate + 3.5 * np.array([-off, off]), 0, 1)
    first, last = np.clip(np.searchsorted(below, goals, side="right") - 1, 0, len(counts) - 1)
    # A bin may hold more records than were counted there.
    unseen = 2 * math.sqrt(noise / len(counts))
    return Window(
        ends=tuple(ends[first : last + 2].tolist()),
        masses=tuple(((counts[first : last + 1] + unseen) / size).clip(0, 1).tolist()),
        rate=rate,
        size=ratio * size,
    )
