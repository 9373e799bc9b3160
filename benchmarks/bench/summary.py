"""Medians and ranges of what the rounds took; ratios are of contenders in the same round."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.bench.rounds import Results

__all__ = ["Spread", "ratios", "values"]

RATES = {"rate": "wall", "cpu rate": "cpu"}


@dataclass(frozen=True)
class Spread:
    """The median of some numbers, and the smallest and largest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Spread:
        """Of at least one number.

        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, low=1.0, high=3.0)
        """
        return cls(statistics.median(numbers), min(numbers), max(numbers))


def values(results: Results, title: str, key: str, *, per_unit: bool = False) -> list[float]:
    """What a contender took in every round: ``cpu``, ``wall``, ``peak`` or a rate."""
    return [
        quantity(found[title], key, per_unit=per_unit)
        for found in results["rounds"]
        if title in found
    ]


def ratios(results: Results, title: str, first: str, key: str) -> list[float]:
    """How many times as much a contender took, in every round that has both.

    Times are per unit of work, because some contenders make fewer steps.
    """
    return [
        quantity(found[title], key, per_unit=True) / quantity(found[first], key, per_unit=True)
        for found in results["rounds"]
        if title in found and first in found and found[first][key] > 0
    ]


def quantity(taken: Mapping[str, float], key: str, *, per_unit: bool) -> float:
    """One number of one run."""
    if key in RATES:
        return taken["units"] / taken[RATES[key]]
    return taken[key] / (taken["units"] if per_unit and key != "peak" else 1)
