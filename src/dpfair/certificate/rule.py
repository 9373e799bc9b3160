"""The fairness claim of a rule that released counts chose."""

from __future__ import annotations

from functools import partial

from dpfair.certificate.fairness import NO_GROUPS, PARITY, FairnessClaim, named_pairs
from dpfair.fairness.bounds.bands import (
    Floats,
    RuleBound,
    accuracy_bound,
    band_bound,
    fixed_accuracy,
    fixed_bound,
)
from dpfair.fairness.bounds.placement import placement_bound
from dpfair.fairness.choice import ChosenRule, checked_rule
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import Notion
from dpfair.fairness.rates import NoisyRate
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.undeclared import undeclared_shares

__all__ = ["best_constant", "rule_claim"]


def rule_claim(
    release: Release,
    decision: ChosenRule,
    goal: Goal,
    confidence: float,
    check: Release | None = None,
) -> FairnessClaim:
    """The claim of a rule that released counts chose, for any goal.

    ``release`` counts scores. ``check`` counts the rule's decisions on records that were not used
    to find the rule; estimates and bounds then come from it. Without a check, the bound comes from
    the release that the rule was found by: from the flips that correct a planned rule, from the
    placement of thresholds, or from bands.
    """
    notion, k, lottery = goal.notion, len(release.groups), decision.lottery
    counted = decision.counted
    if check is not None:
        decision = checked_rule(decision, check, goal)
    reason = NO_GROUPS if k < 2 else counted.dependence if check is None else check.dependence
    bound = None if reason else _gap_bound(decision, notion, confidence, check)
    names = [statistic.name for statistic in notion.statistics]
    values = {n: tuple(map(float, v)) for n, v in zip(names, decision.values, strict=True)}
    intervals = dict(zip(names, bound.intervals, strict=True)) if bound else {}
    parity = notion.statistics == PARITY.statistics
    before = _before(release)
    accuracy = partial(_accuracy_bound, counted, lottery, check)
    constant, certain = best_constant(counted if check is None else check, (1 - confidence) / 2)
    return FairnessClaim(
        notion=notion.name,
        tolerance=goal.tolerance,
        groups=release.groups,
        gap_bound=bound.bound if bound else None,
        confidence=confidence,
        certified=bound is not None,
        reason=reason,
        bounds={bound.method: bound.bound} if bound else {},
        pairs=named_pairs(release.groups, bound.pairs) if bound else (),
        gap_estimate=notion.gap(decision.values) if k > 1 else 0.0,
        accuracy_estimate=decision.accuracy,
        accuracy_bound=accuracy(confidence) if bound else None,
        values=values,
        intervals=intervals,
        rates_before=tuple(rate.estimate for rate in before),
        rates_after=tuple(map(float, decision.acceptance)),
        # All groups together; not of records that trained the scorer.
        before=()
        if release.dependence
        else tuple(rate.interval((1 - confidence) / k) for rate in before),
        after=intervals.get(names[0], ()) if parity else (),
        constant_accuracy=constant,
        beats_constant=(accuracy((1 + confidence) / 2) or 0.0) > certain if bound else None,
        undeclared=undeclared_shares(counted, confidence),
        constant=decision.rule.constant,
        other_goal=goal.other_goal,
    )


def _gap_bound(
    decision: ChosenRule, notion: Notion, confidence: float, check: Release | None
) -> RuleBound:
    counted, lottery = decision.counted, decision.lottery
    if check is not None and not decision.rule.constant:
        return fixed_bound(check, notion, confidence)
    if decision.planned is not None:
        return fixed_bound(counted, notion, confidence, lottery)
    if decision.targets is not None:
        return placement_bound(counted, notion, decision.targets, confidence)
    return band_bound(counted, lottery, notion, confidence)


def _accuracy_bound(
    counted: Release, lottery: Floats, check: Release | None, confidence: float
) -> float | None:
    if check is not None:
        return fixed_accuracy(check, confidence)
    return accuracy_bound(counted, lottery, confidence)


def best_constant(counted: Release, eta: float) -> tuple[float | None, float]:
    """The accuracy of the better constant rule: an estimate, and an upper limit at level eta."""
    if not counted.labelled:
        return None, 1.0
    k, last = len(counted.groups), counted.counts.shape[2]
    rates = [counted.right_rate(range(k), [j] * k) for j in (0, last)]
    return max(r.estimate for r in rates), max(r.upper_limit(eta / 2) for r in rates)


def _before(release: Release) -> tuple[NoisyRate, ...]:
    """The acceptance rates of the scorer alone, if the grid has an edge at one half."""
    return release.rates if all(HALF[0] in row for row in release.edges) else ()
