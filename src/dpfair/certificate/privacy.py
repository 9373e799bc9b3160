"""The privacy claim: how much was spent, for whom, and what is assumed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    DpEvent,
    PoissonSampledDpEvent,
    RepeatAndSelectDpEvent,
)

from dpfair.certificate.judgement import Judgement, judge_privacy
from dpfair.fairness.release import Release
from dpfair.privacy.events import (
    GridGaussianDpEvent,
    OneOfDpEvent,
    ThresholdedDpEvent,
    has_floating_noise,
    parts,
)
from dpfair.privacy.ledger import SEEDED, Ledger
from dpfair.privacy.plan import EVERY_FEATURE

__all__ = [
    "INFERRED_SCHEMA",
    "SEEDED_DISCOVERY",
    "PrivacyClaim",
    "arithmetic_of",
    "contradicts",
    "counted_records",
]

INFERRED_SCHEMA = "the schema was read off the data without paying for it"
SEEDED_DISCOVERY = "facts of the schema were found with noise from a seed"


@dataclass(frozen=True)
class PrivacyClaim:
    """(epsilon, delta)-differential privacy, for whom and under which assumptions.

    ``leaks`` lists what breaks the promise; a model is private only if there are none.
    ``records`` is the number of records (or persons) that delta is judged by: the declared number,
    or an estimate from noisy counts with a ``records_error`` of three standard deviations. It is
    None if unknown. ``protects`` is what is protected of a record. ``found`` lists the facts about
    columns that the budget paid for.
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
    records: int | None = None
    records_error: int = 0
    protects: str = EVERY_FEATURE
    found: tuple[str, ...] = ()
    earlier: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def from_ledger(
        cls,
        ledger: Ledger,
        *,
        unit: str,
        arithmetic: str,
        assumed_public: Iterable[str],
        leaks: Iterable[str],
        records: int | None = None,
        records_error: int = 0,
        protects: str = EVERY_FEATURE,
        found: Iterable[str] = (),
        earlier: tuple[float, float] = (0.0, 0.0),
    ) -> PrivacyClaim:
        """The claim of what a ledger paid for; noise from a seed is a leak.

        ``assumed_public`` is what was public before any record was read.
        """
        return cls(
            epsilon=ledger.epsilon,
            delta=ledger.delta,
            spent=ledger.spent,
            relation=ledger.relation,
            composition=ledger.composition,
            unit=unit,
            arithmetic=arithmetic,
            assumed_public=(*assumed_public, *(fact.text for fact in ledger.assumptions)),
            leaks=(*(() if ledger.private else (SEEDED,)), *leaks),
            records=records,
            records_error=records_error,
            protects=protects,
            found=tuple(found),
            earlier=earlier,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PrivacyClaim:
        """Read a claim back from plain data."""
        fields = {key: value for key, value in data.items() if key != "private"}
        for key in ("assumed_public", "leaks", "found", "earlier"):
            fields[key] = tuple(fields[key])
        return cls(**fields)

    @property
    def private(self) -> bool:
        """Whether everything that reached the model was paid for and protected by noise."""
        return not self.leaks

    @property
    def judgement(self) -> Judgement | None:
        """How much the budget promises; None for a model that is not private."""
        if self.leaks:
            return None
        epsilon, delta = self.in_all
        judged = judge_privacy(epsilon, delta, self.records, self.records_error)
        if not self.earlier[0]:
            return judged
        both = f"with the earlier job that found facts, epsilon = {epsilon:.10g} in all"
        return replace(judged, rule=f"{both}: {judged.rule}")

    @property
    def in_all(self) -> tuple[float, float]:
        """Epsilon and delta of the fit and of the earlier job that found facts for it."""
        return self.epsilon + self.earlier[0], self.delta + self.earlier[1]


def arithmetic_of(ledger: Ledger) -> str:
    """Which arithmetic protects what was released, by the events that the ledger paid for.

    >>> arithmetic_of(Ledger(1, 1e-5))
    'no noise'
    """
    leaves = [leaf for entry in ledger.entries for leaf in _noise(entry.event)]
    tables = any(isinstance(leaf, DiscreteLaplaceDpEvent) for leaf in leaves)
    exact_sums = any(isinstance(leaf, GridGaussianDpEvent) for leaf in leaves)
    if any(has_floating_noise(entry.event) for entry in ledger.entries):
        noise = "float64 Gaussian noise"
        return f"exact integers for the counts, {noise} in training" if tables else noise
    if any(isinstance(leaf, ThresholdedDpEvent) for leaf in leaves) and not exact_sums:
        return "exact integers"
    if exact_sums:
        counts = "discrete Laplace noise on the counts, " if tables else ""
        return f"exact integers everywhere: {counts}discrete Gaussian noise on the gradient sums"
    return "exact integers" if tables else "no noise"


def _noise(event: DpEvent) -> Iterator[DpEvent]:
    """The mechanisms that an event is made of, also inside searches and samples."""
    return itertools.chain.from_iterable(map(_inside, parts(event)))


def _inside(leaf: DpEvent) -> Iterator[DpEvent]:
    if isinstance(leaf, OneOfDpEvent):
        return itertools.chain.from_iterable(map(_noise, leaf.events))
    if isinstance(leaf, (RepeatAndSelectDpEvent, PoissonSampledDpEvent)):
        return _inside(leaf.event)
    return iter([leaf])


def contradicts(declared: int, counted: int, error: int) -> bool:
    """Whether clearly more records were counted than are declared.

    If there are no more, the count is practically never larger by twice the ``error``, six standard
    deviations. Fewer are no contradiction: a part of a data set may be fitted, and a delta is
    judged more strictly by the larger number.

    >>> contradicts(45_222, 45_290, 60), contradicts(75_000, 599_724, 900)
    (False, True)
    """
    return counted - declared > 2 * error


def counted_records(release: Release, share: float, rows_per_unit: int) -> tuple[int, int]:
    """Estimate the number of records (or persons) from a release that counts a share of them.

    The second number is the error: three standard deviations of the noise and of the coins that
    chose the share. Each person may have a single record, so there may be as many persons as
    records. The estimate assumes that many, because delta must be small for the largest possible
    number; the error includes the smallest.
    """
    ratios = [math.exp(-t) for t in release.noise if release.sizes is None]
    cells = release.counts[0].size
    variance = sum(cells * 2 * q / (1 - q) ** 2 for q in ratios)
    counted = max(release.total, 0)
    error = 3 * math.sqrt(variance + counted * (1 - share))
    found, error = counted / share, error / share
    fewest = max(found - error, 0) / rows_per_unit
    return round(found), math.ceil(found - fewest)
