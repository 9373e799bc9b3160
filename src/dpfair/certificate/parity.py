"""The fairness claim of the paper's Algorithm 2, which flips decisions to reach parity."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from dpfair.certificate.fairness import NO_GROUPS, PARITY, FairnessClaim, named_pairs
from dpfair.fairness.bounds.paper import (
    chernoff_gap_bound,
    combined_gap_bound,
    interval_gap_bound,
    paper_expected_gap_bound,
    paper_gap_bound,
    paper_utility_bound,
)
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule
from dpfair.fairness.undeclared import undeclared_shares

__all__ = ["parity_claim"]


def parity_claim(release: Release, rule: Rule, confidence: float) -> FairnessClaim:
    """The claim of a rule that flips decisions, from the released counts and their noise law."""
    estimates = tuple(rate.estimate for rate in release.rates)
    after = tuple(
        float(lift + (keep - lift) * p)
        for (lift, keep), p in zip(rule.accept, estimates, strict=True)
    )
    statistic = PARITY.statistics[0].name
    if len(release.groups) < 2:
        alone = tuple(rate.interval(1 - confidence) for rate in release.rates)
        return replace(
            FairnessClaim.nothing(release.groups, NO_GROUPS, confidence),
            values={statistic: after},
            intervals={statistic: alone},
            rates_before=estimates,
            rates_after=after,
            before=alone,
            after=alone,
        )
    best = combined_gap_bound(release.rates, rule, confidence)
    certified = not release.dependence
    # All groups' intervals hold together, so the worst case over two of them is also a bound.
    worst = {
        (a, b): min(
            best.bound,
            max(best.after[a][1], best.after[b][1]) - min(best.after[a][0], best.after[b][0]),
        )
        for a, b in itertools.combinations(range(len(after)), 2)
    }
    return FairnessClaim(
        notion=PARITY.name,
        tolerance=0.0,
        groups=release.groups,
        gap_bound=best.bound if certified else None,
        confidence=confidence,
        certified=certified,
        reason=release.dependence,
        bounds=_all_bounds(release, rule, confidence, best.bound),
        pairs=named_pairs(release.groups, worst) if certified else (),
        gap_estimate=max(after) - min(after),
        values={statistic: after},
        intervals={statistic: best.after},
        rates_before=estimates,
        rates_after=after,
        before=best.before,
        after=best.after,
        changes=best.changes,
        excess_changes=best.excess_changes,
        undeclared=undeclared_shares(release, confidence),
        constant=rule.constant,
    )


def _all_bounds(
    release: Release, rule: Rule, confidence: float, combined: float
) -> dict[str, float]:
    bounds = {"C3": combined, "C2": interval_gap_bound(release.rates, rule, confidence).bound}
    exact = any(math.isinf(t) for t in release.noise)
    if release.sizes is not None and len(release.groups) == 2 and min(release.sizes) and not exact:
        eta = 1 - confidence
        bounds["C1"] = chernoff_gap_bound(release.sizes, release.noise, eta)
        bounds["paper theorem"] = paper_gap_bound(release.sizes, release.noise, eta)
        bounds["paper theorem, utility"] = paper_utility_bound(release.sizes, release.noise, eta)
        bounds["paper proposition (mean)"] = paper_expected_gap_bound(release.sizes, release.noise)
        bounds["paper proposition (mean), utility"] = paper_utility_bound(
            release.sizes, release.noise
        )
    return bounds
