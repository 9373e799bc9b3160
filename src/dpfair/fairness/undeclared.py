"""Records that do not fit the schema: how many there are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpfair.fairness.rates import Interval
from dpfair.fairness.release import HALF, REUSED, Release, release_table
from dpfair.privacy.ledger import Ledger

__all__ = [
    "IRREGULAR",
    "irregular_share",
    "many_undeclared",
    "release_irregular",
    "undeclared_shares",
]

IRREGULAR = "count records with irregular values"

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


def release_irregular(
    irregular: NDArray[np.bool_],
    *,
    epsilon: Fraction,
    ledger: Ledger,
    scope: str,
    dependence: str,
) -> Release:
    """Count the records with a feature value that is missing, out of bounds or undeclared.

    In the table of scores they would need cells of their own beside all others, whose noise would
    widen every bound; so they have a table of two cells, and it has a price of its own.
    """
    return release_table(
        irregular.astype(np.float64),
        np.zeros(len(irregular), dtype=np.int64),
        ("all",),
        edges=HALF,
        epsilon=epsilon,
        ledger=ledger,
        scope=scope,
        purpose=IRREGULAR,
        dependence=dependence,
    )


def irregular_share(release: Release, confidence: float) -> tuple[float, Interval | None]:
    """The share of records with an irregular value, and the interval that holds it."""
    rate, certain = release.rate(0, 1), release.dependence in ("", REUSED)
    return rate.estimate, rate.interval(1 - confidence) if certain else None


def many_undeclared(share: float, ends: Interval | None) -> bool:
    """Whether more than a few percent of the records are undeclared, beyond what noise explains.

    >>> many_undeclared(0.05, (0.0, 0.1)), many_undeclared(0.05, (0.04, 0.06))
    (False, True)
    """
    return (share if ends is None else ends[0]) > MANY
