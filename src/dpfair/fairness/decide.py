"""From a release to a rule: the step that reads no record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import FairnessWarning, InputError
from dpfair.fairness.estimate import consistent_counts, estimated_masses, labelled_counts
from dpfair.fairness.optimal import Aim, Choice, interpolated_lottery, merge_small, optimal_choice
from dpfair.fairness.placement import place
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule

__all__ = ["SMALL_GROUPS", "Decision", "Target", "best_rule", "placed_rule", "planned_targets"]

Floats = NDArray[np.float64]

SMALL_GROUPS = ("merge", "refuse")


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule and what it is expected to achieve.

    Parameters
    ----------
    rule
        What is applied to new records.
    lottery
        The same rule as a lottery over the thresholds of the release, if it is one.
    targets
        The rates that the rule's thresholds were placed at, if they were fixed beforehand.
    accuracy, values
        Estimates: the share of right decisions, and the aim's statistics [statistic, group].
    acceptance
        The estimated acceptance rate of each group.
    """

    rule: Rule
    lottery: Floats | None
    targets: tuple[float, ...] | None
    accuracy: float
    values: Floats
    acceptance: Floats


@dataclass(frozen=True)
class Target:
    """What planning fixes for the release: a rate for each group, and where to expect its cut."""

    rates: tuple[float, ...]
    windows: tuple[tuple[float, float], ...]


def best_rule(
    release: Release,
    aim: Aim,
    *,
    smallest: float,
    small_groups: str,
    coins: bool,
    families: Sequence[int] | None = None,
) -> Decision:
    """The most accurate rule for the aim, by the released counts.

    Small groups are pooled with others of their family.

    Without ``coins`` a notion with a single rate gets one cut per group, placed inside its bin by
    the neighbouring counts; such a rule is not made of the release's own thresholds.
    """
    masses, counts = estimated_masses(release), labelled_counts(release)
    classes = _classes(release, smallest, small_groups, families)
    merged = np.zeros((2, int(classes.max()) + 1, *masses.shape[1:]))
    np.add.at(merged[0], classes, masses)
    np.add.at(merged[1], classes, counts)
    first = [int(np.flatnonzero(classes == c)[0]) for c in range(merged.shape[1])]
    choice = optimal_choice(merged[0], merged[1], release.edges[first], aim)
    spread = Choice(choice.lottery[classes], masses, counts, release.edges, release.grain)
    if coins or not aim.notion.monotone:
        return _decision(spread, aim, spread.rule())
    shared = choice.threshold_rule(aim.notion.statistics[0])
    rule = Rule(shared.accept[classes], shared.cuts[classes])
    return _decision(spread, aim, rule, on_grid=False)


def planned_targets(plan: Release, aim: Aim, *, smallest: float) -> Target | None:
    """The rates that a rule should reach, from a release that is not the one to be certified.

    None if a group is too small for a threshold of its own, or the notion has several rates.
    """
    if not aim.notion.monotone or (_sizes(plan) < smallest).any():
        return None
    statistic = aim.notion.statistics[0]
    masses, counts = estimated_masses(plan), labelled_counts(plan)
    rates = optimal_choice(masses, counts, plan.edges, aim).values(statistic)
    counted = np.maximum(counts[:, list(statistic.labels)].sum(axis=(1, 2)), 1)
    noise = 2 * plan.counts[0].size / np.array(plan.noise) ** 2
    # Both tables have a sampling error, this one also its noise; 2.5 standard deviations.
    off = 2.5 * np.sqrt(2 * rates * (1 - rates) / counted + noise / counted**2)
    ends = [
        interpolated_lottery(masses, counts, plan.edges, statistic, np.clip(shifted, 0, 1))
        for shifted in (rates + off, rates - off)
    ]
    low, high = (choice.threshold_rule(statistic).cuts[:, 0] for choice in ends)
    windows = zip(np.minimum(low, 1).tolist(), np.minimum(high, 1).tolist(), strict=True)
    return Target(tuple(rates.tolist()), tuple(windows))


def placed_rule(release: Release, aim: Aim, targets: tuple[float, ...]) -> Decision:
    """Thresholds at the given rates, as exactly as the release can place them."""
    choice = place(release, aim.notion.statistics[0], targets)
    return _decision(choice, aim, choice.rule(), targets=targets)


def _decision(
    choice: Choice,
    aim: Aim,
    rule: Rule,
    *,
    on_grid: bool = True,
    targets: tuple[float, ...] | None = None,
) -> Decision:
    return Decision(
        rule=rule,
        lottery=choice.lottery if on_grid else None,
        targets=targets,
        accuracy=choice.accuracy,
        values=np.stack([choice.values(s) for s in aim.notion.statistics]),
        acceptance=choice.acceptance,
    )


def _sizes(release: Release) -> Floats:
    sizes: Floats = consistent_counts(release).sum(axis=(1, 2))
    return sizes


def _visible(release: Release) -> float:
    """Four standard deviations of the noise on a group's size: less is not worth a threshold."""
    variances = [0.0 if math.isinf(t) else 2 / t**2 for t in release.noise]
    return 4 * math.sqrt(release.counts[0].size * max(variances))


def _classes(
    release: Release, smallest: float, small_groups: str, families: Sequence[int] | None
) -> NDArray[np.int64]:
    """Which groups share a threshold; by released sizes, so this costs nothing."""
    sizes = _sizes(release)
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
    warnings.warn(
        f"Too few records of {', '.join(small)} for a rule of their own: "
        "small groups share one threshold.",
        FairnessWarning,
        stacklevel=4,
    )
    return merge_small(sizes, smallest, families)
