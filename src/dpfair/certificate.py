"""What a fitted model promises, in one object that prints in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dpfair.fairness.certificates import (
    chernoff_gap_bound,
    combined_gap_bound,
    interval_gap_bound,
    paper_expected_gap_bound,
    paper_gap_bound,
    paper_utility_bound,
)
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule

__all__ = ["SEEDED", "Certificate", "FairnessClaim", "PrivacyClaim", "round_up"]

Interval = tuple[float, float]

SEEDED = "the noise came from a seed, and whoever knows the seed can remove it"


@dataclass(frozen=True)
class PrivacyClaim:
    """(epsilon, delta)-differential privacy, for whom and under which assumptions.

    ``leaks`` lists what breaks the promise; a model is private only if there are none.
    """

    epsilon: float
    delta: float
    spent: float
    relation: str
    composition: str
    unit: str
    arithmetic: str
    assumed_public: tuple[str, ...]
    leaks: tuple[str, ...]

    @property
    def private(self) -> bool:
        """Whether everything that reached the model was paid for and protected by noise."""
        return not self.leaks


@dataclass(frozen=True)
class FairnessClaim:
    """A bound on the demographic-parity gap between any two groups, from released values only.

    ``bounds`` holds every bound that exists for the release: ``C3`` (the certified one, chosen
    beforehand), ``C2``, and with public sizes ``C1`` and the paper's theorem and proposition.
    """

    groups: tuple[str, ...]
    gap_bound: float | None
    confidence: float
    certified: bool
    reason: str
    bounds: Mapping[str, float]
    rates_before: tuple[float, ...]
    rates_after: tuple[float, ...]
    before: tuple[Interval, ...]
    after: tuple[Interval, ...]
    changes: Interval
    excess_changes: float | None

    @classmethod
    def from_release(cls, release: Release, rule: Rule, confidence: float) -> FairnessClaim:
        """Compute the claim from the release and its noise law alone."""
        estimates = tuple(rate.estimate for rate in release.rates)
        after = tuple(
            float(lift + (keep - lift) * p)
            for (lift, keep), p in zip(rule.accept, estimates, strict=True)
        )
        if len(release.groups) < 2:
            return cls(
                groups=release.groups,
                gap_bound=None,
                confidence=confidence,
                certified=False,
                reason="no sensitive column was given, so nothing makes the model fair",
                bounds={},
                rates_before=estimates,
                rates_after=after,
                before=tuple(rate.interval(1 - confidence) for rate in release.rates),
                after=tuple(rate.interval(1 - confidence) for rate in release.rates),
                changes=(0.0, 0.0),
                excess_changes=None,
            )
        best = combined_gap_bound(release.rates, rule, confidence)
        certified = not release.dependence
        return cls(
            groups=release.groups,
            gap_bound=best.bound if certified else None,
            confidence=confidence,
            certified=certified,
            reason=release.dependence,
            bounds=_all_bounds(release, rule, confidence, best.bound),
            rates_before=estimates,
            rates_after=after,
            before=best.before,
            after=best.after,
            changes=best.changes,
            excess_changes=best.excess_changes,
        )


@dataclass(frozen=True)
class Certificate:
    """The privacy and the fairness claim of one model.

    Examples
    --------
    >>> from dpfair import PrivateFairClassifier, load_adult
    >>> data = load_adult()
    >>> model = PrivateFairClassifier(epsilon=3, schema=data.schema).fit(data.X, data.y)
    >>> model.certificate_.fairness.certified
    True
    """

    method: str
    privacy: PrivacyClaim
    fairness: FairnessClaim

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain data."""
        data = asdict(self)
        data["privacy"]["private"] = self.privacy.private
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Certificate:
        """Read a certificate back."""
        privacy = {k: v for k, v in data["privacy"].items() if k != "private"}
        for key in ("assumed_public", "leaks"):
            privacy[key] = tuple(privacy[key])
        fairness = dict(data["fairness"])
        for key in ("groups", "rates_before", "rates_after", "changes"):
            fairness[key] = tuple(fairness[key])
        for key in ("before", "after"):
            fairness[key] = tuple((float(a), float(b)) for a, b in fairness[key])
        return cls(
            method=str(data["method"]),
            privacy=PrivacyClaim(**privacy),
            fairness=FairnessClaim(**fairness),
        )

    def sentences(self) -> list[str]:
        """The certificate in plain words, one sentence per promise or warning."""
        privacy, fairness = self.privacy, self.fairness
        said = []
        if privacy.epsilon < math.inf:
            said.append(
                f"Privacy: epsilon = {privacy.epsilon:g}, delta = {privacy.delta:g} for every "
                f"feature of {privacy.unit} ({privacy.relation.replace('_', '/')}; "
                f"{privacy.composition} composition, {privacy.spent:.4f} spent)."
            )
        if privacy.leaks:
            said.append(f"NOT PRIVATE: {'; '.join(privacy.leaks)}.")
        if fairness.gap_bound is not None:
            said.append(
                f"Fairness: with {100 * fairness.confidence:.10g}% confidence, the acceptance "
                f"rates of any two groups ({', '.join(fairness.groups)}) differ by at most "
                f"{round_up(fairness.gap_bound)} on new records, on average over the coins."
            )
        else:
            said.append(f"Fairness: NOT CERTIFIED, because {fairness.reason}.")
        if fairness.excess_changes is not None and fairness.certified:
            low, high = fairness.changes
            said.append(
                f"Utility: {low:.4f} to {high:.4f} of decisions changed (added over the groups), "
                f"at most {round_up(fairness.excess_changes)} more than the fewest at this gap."
            )
        said.append(f"Assumed public: {'; '.join(privacy.assumed_public)}.")
        said.append(f"Arithmetic: {privacy.arithmetic}.")
        return said

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def round_up(bound: float, digits: int = 4) -> str:
    """An upper bound in print: never smaller than the bound itself.

    >>> round_up(0.01151)
    '0.0116'
    """
    return f"{math.ceil(bound * 10**digits) / 10**digits:.{digits}f}"


def _all_bounds(
    release: Release, rule: Rule, confidence: float, combined: float
) -> dict[str, float]:
    bounds = {"C3": combined, "C2": interval_gap_bound(release.rates, rule, confidence).bound}
    exact = any(t == float("inf") for t in release.noise)
    if release.sizes is not None and len(release.groups) == 2 and not exact:
        eta = 1 - confidence
        bounds["C1"] = chernoff_gap_bound(release.sizes, release.noise, eta)
        bounds["paper theorem"] = paper_gap_bound(release.sizes, release.noise, eta)
        bounds["paper theorem, utility"] = paper_utility_bound(release.sizes, release.noise, eta)
        bounds["paper proposition (mean)"] = paper_expected_gap_bound(release.sizes, release.noise)
        bounds["paper proposition (mean), utility"] = paper_utility_bound(
            release.sizes, release.noise
        )
    return bounds
