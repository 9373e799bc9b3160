"""Which error probabilities a bound rests on, read off the questions that it asks.

Coverage cannot see a level that is a little too large: bounds have slack. So the levels themselves
are added up, here and by what the questions mean, not by how the library divides them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import chi2
from trust.mutants.registry import patched

from dpfair.fairness.bounds import placement
from dpfair.fairness.bounds.deviations import Deviation
from dpfair.fairness.rates import NoisyRate

__all__ = ["Asked", "asked"]


@dataclass
class Asked:
    """Questions and their levels; the same question twice can fail only once."""

    limits: dict[tuple[str, NoisyRate], list[float]] = field(default_factory=dict)
    regions: list[tuple[float, float]] = field(default_factory=list)  # surprise, size of a group
    quantiles: list[float] = field(default_factory=list)  # of one deviation
    sums: list[float] = field(default_factory=list)  # of two deviations

    def limit(self, kind: str, rate: NoisyRate, level: float) -> None:
        """An interval, a limit to one side, or a range of sizes."""
        self.limits.setdefault((kind, rate), []).append(level)

    def levels(self, kind: str) -> list[float]:
        """The levels of all questions of a kind, repeated ones included."""
        return [level for (k, _), levels in self.limits.items() if k == kind for level in levels]

    def total(self, *kinds: str, surest: bool = False) -> float:
        """The levels of all limits of these kinds, each at its largest or surest level."""
        pick = min if surest else max
        return sum(pick(levels) for (kind, _), levels in self.limits.items() if kind in kinds)

    def fisher(self, groups: int) -> float:
        """How probable it is that a region fails: its p-values, or one of its sizes.

        Minus twice the logarithm of a p-value is at most a chi-square with two degrees of freedom,
        and the groups are independent.
        """
        total = 0.0
        for start in range(0, len(self.regions), groups):
            region = self.regions[start : start + groups]
            surprise = min(surprise for surprise, _ in region)
            total += float(chi2.sf(2 * surprise, 2 * groups)) + sum(size for _, size in region)
        return total


@contextmanager
def asked() -> Iterator[Asked]:
    """Record all levels. No limit is computed: each is answered with what is always true."""
    found = Asked()
    quantile, sums = Deviation.quantile, placement.sum_quantiles

    def answered(kind: str, answer: Any) -> Any:
        def method(self: NoisyRate, eta: float) -> Any:
            found.limit(kind, self, eta)
            return answer

        return method

    def nested(self: NoisyRate, etas: Any, eta_size: float) -> Any:
        private = self.size is None
        found.regions.append((float(-np.log(min(etas))), eta_size if private else 0.0))
        return np.tile([0.0, 1.0], (len(etas), 1))

    def sizes(self: NoisyRate, eta: float) -> tuple[int, int]:
        found.limit("sizes", self, eta)
        size = max(1, self.accepted + (self.rejected or 0))
        return size, size

    def one(self: Any, level: float) -> float:
        found.quantiles.append(level)
        return quantile(self, level)

    def two(above: Any, below: Any, level: float) -> Any:
        found.sums.append(level)
        return sums(above, below, level)

    with patched(
        (NoisyRate, "interval", answered("interval", (0.0, 1.0))),
        (NoisyRate, "lower_limit", answered("lower", 0.0)),
        (NoisyRate, "upper_limit", answered("upper", 1.0)),
        (NoisyRate, "nested_intervals", nested),
        (NoisyRate, "size_range", sizes),
        (Deviation, "quantile", one),
        (placement, "sum_quantiles", two),
    ):
        yield found
