"""From a release to a rule; this step reads no record."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import FairnessWarning, NoRuleError, warn
from dpfair.fairness.bounds.placement import place
from dpfair.fairness.estimate import estimated_masses, labelled_counts
from dpfair.fairness.goal import Goal
from dpfair.fairness.lottery import Choice
from dpfair.fairness.optimal import optimal_choice
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule
from dpfair.fairness.small_groups import threshold_classes

__all__ = [
    "ChosenRule",
    "best_rule",
    "checked_rule",
    "corrected_rule",
    "placed_rule",
    "planned_rule",
]

Floats = NDArray[np.float64]

# A rule must be better than a constant one by so many standard errors.
_CLEARLY = 2.0


@dataclass(frozen=True, eq=False)
class ChosenRule:
    """A rule and what it is expected to achieve.

    Parameters
    ----------
    rule
        The rule for new records.
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
    coin decides, so that the rates of the rule are the counted ones, also if many records have the
    same score.
    """
    classes = threshold_classes(release, smallest, small_groups, families)
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

    ``decisions`` counts what the planned rule decides about records that were not used to plan it.
    Its thresholds are *everybody*, *as planned* and *nobody*: a lottery over them keeps what was
    accepted with one probability and accepts what was rejected with another, as Algorithm 2 does
    with the decisions of a classifier. Since the planned rule is nearly fair, few decisions are
    flipped, and only the noise of two cells enters.
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

    If the plan's counts allow no rule, it is the scorer's own decisions.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # the correction warns
        classes = threshold_classes(plan, smallest, "merge", families)
    try:
        return _pooled_choice(plan, goal, classes).rule()
    except NoRuleError:
        return Rule(np.tile([0.0, 1.0], (len(plan.groups), 1)))


def placed_rule(release: Release, goal: Goal, targets: tuple[float, ...]) -> ChosenRule:
    """Thresholds at the given rates, as exactly as the release can place them."""
    choice = place(release, goal.notion.statistics[0], targets)
    return _decision(release, choice, goal, targets)


def checked_rule(chosen: ChosenRule, check: Release, goal: Goal) -> ChosenRule:
    """The same rule with the estimates of a check, which counts what the rule decides.

    The check's records were not used to find the rule, so its estimates have no selection bias.
    """
    as_decided = np.tile([0.0, 1.0, 0.0], (len(check.groups), 1))
    if chosen.rule.constant:
        as_decided = np.stack(
            [chosen.lottery[:, 0], 0 * chosen.lottery[:, 0], chosen.lottery[:, -1]], axis=1
        )
    masses, counts = estimated_masses(check), labelled_counts(check)
    choice = Choice(as_decided, masses, counts, check.edges, check.grain)
    return replace(
        chosen,
        accuracy=_accuracy(check, choice),
        values=np.stack([choice.values(s) for s in goal.notion.statistics]),
        acceptance=choice.acceptance,
    )


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
        warn(
            f"By the released counts, the best fair rule is not clearly better than accepting "
            f"{whom} (by less than two standard errors): the model accepts {whom}.",
            FairnessWarning,
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
    """The constant rule, if it is as good by the counts and no less fair; else None.

    It is as good if the rule's advantage is at most two standard errors of the counts that it
    comes from: those of the records about which the two disagree, with their noise. The rule was
    chosen by these counts, so its advantage appears larger on them than it is.
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
