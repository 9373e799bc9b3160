"""Records whose group or label the schema does not declare: how many there are."""

from __future__ import annotations

from dpfair.fairness.rates import Interval
from dpfair.fairness.release import REUSED, Release

__all__ = ["many_undeclared", "undeclared_shares"]

MANY = 0.02


def undeclared_shares(
    release: Release, confidence: float
) -> dict[str, tuple[float, Interval | None]]:
    """Of all records, the share with an undeclared ``"group"`` or ``"label"``, as counted.

    All intervals together hold with the confidence. None stands for an interval that records of
    one person, or of an unknown schema, do not give. That records also trained is no obstacle: what
    is undeclared does not depend on the scorer.
    """
    certain = release.dependence in ("", REUSED)
    found: dict[str, tuple[float, Interval | None]] = {}
    for kind in release.undeclared:
        rate = release.undeclared_rate(kind)
        level = (1 - confidence) / len(release.undeclared)
        found[kind] = rate.estimate, rate.interval(level) if certain else None
    return found


def many_undeclared(share: float, ends: Interval | None) -> bool:
    """Whether more than a few percent of the records are undeclared, beyond what noise explains.

    >>> many_undeclared(0.05, (0.0, 0.1)), many_undeclared(0.05, (0.04, 0.06))
    (False, True)
    """
    return (share if ends is None else ends[0]) > MANY
