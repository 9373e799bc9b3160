"""From a release to a rule: the step that reads no record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import FairnessWarning, InputError, NoRuleError
from dpfair.fairness.bounds.placement import Window, place
from dpfair.fairness.estimate import consistent_counts, estimated_masses, labelled_counts
from dpfair.fairness.optimal import Choice, Goal, merge_small, optimal_choice
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule

__all__ = [
    "SMALL_GROUPS",
    "ChosenRule",
    "PlannedRates",
    "best_rule",
    "corrected_rule",
    "placed_rule",
    "planned_rates",
    "planned_rule",
]

Floats = NDArray[np.float64]

SMALL_GROUPS = ("merge", "refuse")

# A rule must be better than a constant one by so many standard errors.
_CLEARLY = 2.0


@dataclass(frozen=True, eq=False)
class ChosenRule:
    """A rule and what it is expected to achieve.

    Parameters
    ----------
    rule
        What is applied to new records.
    counted
        The release that the rule was found by.
    lottery
        The same rule as a lottery over the thresholds of that release; for a corrected rule these
        are *everybody*, *as planned* and *nobody*.
    targets
        The rates that the rule's thresholds were placed at, if they were fixed beforehand.
    accuracy, values
        Estimates: the share of right decisions, and the goal's statistics [statistic, group]. No
        decision about a record of an undeclared group or label is right.
    acceptance
        The estimated acceptance rate of each group.
    planned
        The rule that flips correct, if there is one.
    """

    rule: Rule
    counted: Release
    lottery: Floats
    targets: tuple[float, ...] | None
    accuracy: float
    values: Floats
    acceptance: Floats
    planned: Rule | None = None


@dataclass(frozen=True)
class PlannedRates:
    """What planning fixes for the release: a rate for each group, and where to expect its cut."""

    rates: tuple[float, ...]
    windows: tuple[Window, ...]


def best_rule(
    release: Release,
    goal: Goal,
    *,
    smallest: float,
    small_groups: str,
    families: Sequence[int] | None = None,
) -> ChosenRule:
    """The most accurate rule for the goal, by the released counts.

    Small groups are pooled with others of their family. Between two thresholds of the release a
    coin decides, so that the rule's rates are those that were counted, also where many records
    share a score.
    """
    classes = _classes(release, smallest, small_groups, families)
    return _decision(release, _pooled_choice(release, goal, classes), goal)


def corrected_rule(
    planned: Rule,
    decisions: Release,
    goal: Goal,
    *,
    smallest: float,
    small_groups: str,
    families: Sequence[int] | None = None,
) -> ChosenRule:
    """A planned rule, corrected by random flips so that its counted decisions are fair.

    ``decisions`` counts what the planned rule decides about records that had no part in it. Its
    thresholds are *everybody*, *as planned* and *nobody*: a lottery over them keeps what was
    accepted with one probability and accepts what was rejected with another, as Algorithm 2 does
    with the decisions of a classifier. Since the planned rule is nearly fair, few decisions are
    flipped, and the noise of two cells is all that enters.
    """
    found = best_rule(
        decisions, goal, smallest=smallest, small_groups=small_groups, families=families
    )
    everybody, as_planned = found.lottery[:, 0], found.lottery[:, 1]
    accept = everybody[:, None] + as_planned[:, None] * planned.accept
    return replace(found, rule=Rule(np.clip(accept, 0, 1), planned.cuts), planned=planned)


def planned_rule(
    plan: Release, goal: Goal, *, smallest: float, families: Sequence[int] | None = None
) -> Rule:
    """The rule that a release of other records will correct; small groups are pooled.

    If the plan's counts allow no rule, these are the scorer's own decisions.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # the correction says it
        classes = _classes(plan, smallest, "merge", families)
    try:
        return _pooled_choice(plan, goal, classes).rule()
    except NoRuleError:
        return Rule(np.tile([0.0, 1.0], (len(plan.groups), 1)))


def planned_rates(
    plan: Release, goal: Goal, *, smallest: float, ratio: float
) -> PlannedRates | None:
    """The rates that a rule should reach, from a release that is not the one to be certified.

    ``ratio`` is the number of records to be counted for each that is planned on. None if a group
    is too small for a threshold of its own, or the notion has several rates.
    """
    if not goal.notion.monotone or (ratio * _sizes(plan) < smallest).any():
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
    """Where the cut of a group will be, by its planned counts and the variance of their noise."""
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


def placed_rule(release: Release, goal: Goal, targets: tuple[float, ...]) -> ChosenRule:
    """Thresholds at the given rates, as exactly as the release can place them."""
    choice = place(release, goal.notion.statistics[0], targets)
    return _decision(release, choice, goal, targets)


def _pooled_choice(release: Release, goal: Goal, classes: NDArray[np.int64]) -> Choice:
    """The best lottery over thresholds if the groups of a class share theirs."""
    masses, counts = estimated_masses(release), labelled_counts(release)
    merged = np.zeros((2, int(classes.max()) + 1, *masses.shape[1:]))
    np.add.at(merged[0], classes, masses)
    np.add.at(merged[1], classes, counts)
    first = [int(np.flatnonzero(classes == c)[0]) for c in range(merged.shape[1])]
    choice = optimal_choice(merged[0], merged[1], release.edges[first], goal)
    return Choice(choice.lottery[classes], masses, counts, release.edges, release.grain)


def _decision(
    release: Release, choice: Choice, goal: Goal, targets: tuple[float, ...] | None = None
) -> ChosenRule:
    constant = _constant(release, choice, goal)
    if constant is not None:
        whom = "everybody" if constant.lottery[0, 0] else "nobody"
        warnings.warn(
            f"By the released counts, the best fair rule is not clearly better than accepting "
            f"{whom} (by less than two standard errors): the model accepts {whom}.",
            FairnessWarning,
            stacklevel=4,
        )
        choice, targets = constant, None
    return ChosenRule(
        rule=choice.rule(),
        counted=release,
        lottery=choice.lottery,
        targets=targets,
        accuracy=_accuracy(release, choice),
        values=np.stack([choice.values(s) for s in goal.notion.statistics]),
        acceptance=choice.acceptance,
    )


def _accuracy(release: Release, choice: Choice) -> float:
    """The share of right decisions by the noisy counts themselves, which have no bias."""
    if not release.labelled:
        return choice.accuracy
    above = np.cumsum(release.counts[..., ::-1], axis=-1)[..., ::-1]
    above = np.pad(above, ((0, 0), (0, 0), (0, 1)))
    right = above[:, 1] + above[:, 0, :1] - above[:, 0]
    return min(1.0, max(0.0, float((choice.lottery * right).sum()) / max(release.total, 1)))


def _constant(release: Release, choice: Choice, goal: Goal) -> Choice | None:
    """To accept everybody or nobody, if the counts say that this is as good and no less fair.

    It is as good if the rule's advantage is at most two standard errors of the counts that it
    comes from: those of the records about which the two disagree, with their noise. The rule was
    chosen by these counts, so its advantage looks larger there than it is.
    """
    costs = np.array(goal.costs)
    counts = release.counts if release.labelled else choice.masses
    worth = costs[1] * counts[:, 1] - costs[0] * counts[:, 0]
    squares = costs[1] ** 2 * choice.masses[:, 1] + costs[0] ** 2 * choice.masses[:, 0]
    noise = np.array([0.0 if math.isinf(t) else 2 / t**2 for t in release.noise])
    accepts = np.cumsum(choice.lottery, axis=1)[:, :-1]
    candidates = []
    if goal.acceptance in (None, 1) and goal.capacity in (None, 1):
        candidates.append(1)
    if goal.acceptance in (None, 0):
        candidates.append(0)
    found = None
    for accepted in candidates:
        differs = accepts - accepted
        variance = np.abs(differs) * squares + differs**2 * noise[:, None] * (costs**2).sum()
        lottery = np.zeros_like(choice.lottery)
        lottery[:, 0 if accepted else -1] = 1
        constant = replace(choice, lottery=lottery)
        fairer = len(release.groups) < 2 or constant.gap(goal.notion) <= choice.gap(goal.notion)
        if (differs * worth).sum() <= _CLEARLY * math.sqrt(variance.sum()) and fairer:
            better = found is None or (worth.sum() > 0) == bool(accepted)
            found = constant if better else found
    return found


def _sizes(release: Release) -> Floats:
    sizes: Floats = consistent_counts(release).sum(axis=(1, 2))
    return sizes


def _visible(release: Release) -> float:
    """Six standard deviations of the noise on a group's size.

    The rate of a smaller group would be off by a sixth and more, and its threshold with it.
    """
    variances = [0.0 if math.isinf(t) else 2 / t**2 for t in release.noise]
    return 6 * math.sqrt(release.counts[0].size * max(variances))


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
