"""Section 4: how the gap is bounded, pair by pair, and what else the release offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dpfair.certificate import FairnessClaim
from dpfair.certificate.text import round_up
from dpfair.fairness.frontier import FrontierPoint
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.fair_classifier import PrivateFairClassifier
from dpfair.report.svg import bar, frontier_plot

__all__ = [
    "Bound",
    "Frontier",
    "PairBound",
    "frontier_of",
    "gap_bounds",
    "method_of",
    "pair_bounds",
]

MAX_PAIRS = 15

# Bounds on the gap, strongest promise first; a certificate's other bounds are not about the gap.
EXPLAINED = {
    "C3": "Certified. The worst case over all rates that fit the released counts, knowing that not "
    "every group can be extreme at once (Fisher's region). Chosen before the data was seen.",
    "C2": "An exact interval for each group on its own, and the worst case over all of them.",
    "C1": "From the sizes and the noise alone, so known before any data is seen (Chernoff).",
    "paper theorem": "The paper's bound with the same confidence, also known beforehand.",
    "paper proposition (mean)": "The paper's bound on the gap on average over many models: not a "
    "promise about this one, so a shorter bar is not a stronger promise.",
}

METHODS = {
    "placed": "The rates were fixed on other records before the counts were made, and the "
    "counts only showed where to put each threshold. So the bound needs no allowance for having "
    "chosen among many rules.",
    "band": "The counts themselves chose the rule, so the bound uses intervals that hold for "
    "all thresholds of the table at once, hence for whatever rule was chosen.",
    "corrected": "A rule was planned on other records, and what it decides about the "
    "counted ones was counted with noise. Random flips make these decisions fair. The bound holds "
    "for all flips at once, hence for those that the counts chose.",
    "fixed": "The finished rule decided about records that had no part in it, and those "
    "decisions were counted with noise.",
}


@dataclass(frozen=True)
class Bound:
    """A bound on the gap with its bar and a sentence about it."""

    name: str
    printed: str
    explanation: str
    plot: Markup


@dataclass(frozen=True)
class PairBound:
    """The certified bound for two groups."""

    first: str
    second: str
    printed: str
    plot: Markup


@dataclass(frozen=True)
class Frontier:
    """Every trade-off of one notion that the release offers."""

    points: tuple[FrontierPoint, ...]
    certified: bool
    plot: Markup


def gap_bounds(bounds: Mapping[str, float]) -> list[Bound]:
    """The bounds on the gap that exist for this release, on one scale."""
    found = {name: bounds[name] for name in EXPLAINED if name in bounds}
    longest = max(found.values(), default=1.0)
    kinds = {"C3": "strong", "paper proposition (mean)": "mean"}
    return [
        Bound(
            name,
            round_up(value),
            EXPLAINED[name],
            bar(value, longest, f"{name}: {round_up(value)}", kinds.get(name, "plain")),
        )
        for name, value in found.items()
    ]


def method_of(bounds: Mapping[str, float]) -> str:
    """How the bound was found, for rules other than the paper's."""
    return next((METHODS[name] for name in bounds if name in METHODS), "")


def pair_bounds(fairness: FairnessClaim) -> tuple[list[PairBound], int]:
    """The worst pairs of groups, and how many more there are; nothing to add for two groups."""
    if len(fairness.groups) < 3:
        return [], 0
    worst = sorted(fairness.pairs, key=lambda pair: -pair[2])
    longest = max((bound for _, _, bound in worst), default=1.0)
    shown = [
        PairBound(a, b, round_up(bound), bar(bound, longest, f"{a} and {b}: {round_up(bound)}"))
        for a, b, bound in worst[:MAX_PAIRS]
    ]
    return shown, max(0, len(worst) - MAX_PAIRS)


def frontier_of(model: PrivateClassifier) -> Frontier | None:
    """Accuracy against the gap for the model's own notion, if its release shows it."""
    if not isinstance(model, PrivateFairClassifier) or len(model.schema_.groups) < 2:
        return None
    points = _distinct(model.frontier())
    if not points:
        return None
    fairness = model.certificate_.fairness
    own = None
    if fairness.gap_estimate is not None and fairness.accuracy_estimate is not None:
        own = (fairness.gap_estimate, fairness.accuracy_estimate)
    certified = all(p.gap_bound is not None and p.accuracy_bound is not None for p in points)
    curves = [[(p.gap, p.accuracy) for p in points]]
    if certified:  # the model's own bounds are not among those that hold at once
        others = [p for p in points if not p.own]
        curves.append([(p.gap_bound or 0.0, p.accuracy_bound or 0.0) for p in others])
    sure = None
    if fairness.gap_bound is not None and fairness.accuracy_bound is not None:
        sure = (fairness.gap_bound, fairness.accuracy_bound)
    plot = frontier_plot(curves, own, "Accuracy against the gap", certified=sure)
    return Frontier(points, certified, plot)


def _distinct(points: Sequence[FrontierPoint]) -> tuple[FrontierPoint, ...]:
    """Without the tolerances that no longer change anything."""
    kept: list[FrontierPoint] = []
    for point in points:
        if point.found_for is not None:
            continue
        last = kept[-1] if kept else None
        if (
            last is None
            or point.own
            or abs(point.gap - last.gap) > 1e-6
            or point.accuracy > last.accuracy + 1e-6
        ):
            kept.append(point)
    return tuple(kept)
