"""All trade-offs between accuracy and fairness that follow from one release."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpfair.errors import FairnessWarning, InputError, NoRuleError
from dpfair.fairness.bounds.bands import accuracy_bound, band_bound
from dpfair.fairness.choice import best_rule
from dpfair.fairness.goal import Goal
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule

__all__ = ["FRONTIER_TOLERANCES", "FrontierPoint", "best_allowed", "frontier"]

FRONTIER_TOLERANCES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 1.0)


@dataclass(frozen=True)
class FrontierPoint:
    """The best rule for one tolerance.

    ``accuracy`` and ``gap`` are estimates. ``accuracy_bound`` (from below) holds with the release's
    confidence for all points at once, and so does ``gap_bound`` (from above) for all points of a
    notion; both are None if the release cannot certify anything.

    The point of the goal that a model was fitted for is the model's ``own``: its rule and the
    numbers of its certificate. These bounds were fixed beforehand and are usually tighter, but they
    are not among those that hold at once. Together with the others of its notion, they fail with
    at most twice the probability.

    ``found_for`` is the smaller tolerance whose rule is also the best one for this point, if so.
    """

    tolerance: float
    accuracy: float
    gap: float
    accuracy_bound: float | None
    gap_bound: float | None
    rule: Rule
    own: bool = False
    found_for: float | None = None


def best_allowed(points: Sequence[FrontierPoint]) -> list[FrontierPoint]:
    """The points, each with the best rule that its tolerance allows, by the estimates.

    A rule is found by smoothed counts, and its accuracy is estimated by the counts themselves. So a
    rule that was found for a smaller tolerance may have the higher estimate. It is allowed for a
    larger tolerance, too. The model's own point stays as it is, and its rule is not shown for other
    tolerances: its bounds are not among those that hold at once.
    """
    return [_best(point, points) for point in points]


def _best(point: FrontierPoint, points: Sequence[FrontierPoint]) -> FrontierPoint:
    if point.own:
        return point
    most = max(point.tolerance, point.gap)
    others = [p for p in points if not p.own and p.tolerance <= point.tolerance]
    allowed = [p for p in others if p.gap <= most]
    best = max(allowed, key=lambda p: (p.accuracy, p is point))
    if best.accuracy <= point.accuracy:
        return point
    return replace(best, tolerance=point.tolerance, found_for=best.tolerance)


def frontier(
    release: Release,
    goals: Sequence[Goal],
    confidence: float,
    *,
    smallest: float,
    families: Sequence[int] | None = None,
) -> list[FrontierPoint]:
    """The best rule for each goal that has one; reads the release and nothing else."""
    if not release.labelled:
        raise InputError("A frontier needs a release that counts scores by label.")
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # fit has warned already
        for goal in goals:
            try:
                found = best_rule(
                    release,
                    goal,
                    smallest=smallest,
                    small_groups="merge",
                    families=families,
                )
            except NoRuleError:
                continue
            certain = not release.dependence and len(release.groups) > 1
            points.append(
                FrontierPoint(
                    tolerance=goal.tolerance,
                    accuracy=found.accuracy,
                    gap=goal.notion.gap(found.values) if len(release.groups) > 1 else 0.0,
                    accuracy_bound=accuracy_bound(release, found.lottery, confidence)
                    if certain
                    else None,
                    gap_bound=band_bound(release, found.lottery, goal.notion, confidence).bound
                    if certain
                    else None,
                    rule=found.rule,
                )
            )
    return points
