"""Finished runs of the panel, averaged over seeds and over tables."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.panel.contenders import Contender

__all__ = ["Choice", "Mean", "Results", "choose", "mean_of"]


@dataclass(frozen=True)
class Mean:
    """A mean with its standard error; no error for a single value."""

    value: float
    error: float | None


def mean_of(values: Sequence[float]) -> Mean:
    """The mean of some values, as if they were independent."""
    several = len(values) > 1
    error = statistics.stdev(values) / math.sqrt(len(values)) if several else None
    return Mean(statistics.fmean(values), error)


class Results:
    """The newest result of every table, contender and seed."""

    def __init__(self, entries: Iterable[dict[str, Any]], seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self._runs: dict[tuple[str, Contender], dict[int, dict[str, Any]]] = defaultdict(dict)
        for entry in entries:
            if entry["seed"] in seeds:
                contender = Contender(**entry["contender"])
                self._runs[entry["table"], contender][entry["seed"]] = entry

    @property
    def contenders(self) -> list[Contender]:
        """Every contender with a result, in the order of the first ones."""
        return list(dict.fromkeys(contender for _, contender in self._runs))

    @property
    def sources(self) -> list[str]:
        """The digests of the source that made results of the library."""
        found = (
            r["source"] for (_, c), runs in self._runs.items() if c.private for r in runs.values()
        )
        return sorted(set(found))

    def facts_of(self, table: str) -> dict[str, Any] | None:
        """A result of the table, for its size and shares."""
        found = (runs for (name, _), runs in self._runs.items() if name == table)
        return next((run for runs in found for run in runs.values()), None)

    def mean(self, table: str, contender: Contender, what: str = "accuracy") -> Mean | None:
        """The mean over the seeds; None unless every seed has a result without an error."""
        runs = self._runs.get((table, contender), {})
        values = [run[what] for run in runs.values() if what in run]
        return mean_of(values) if len(values) == len(self.seeds) else None

    def over_tables(
        self, tables: Sequence[str], contender: Contender, what: str = "accuracy"
    ) -> float | None:
        """The mean over the tables; None if a table has none."""
        means = [self.mean(table, contender, what) for table in tables]
        values = [mean.value for mean in means if mean is not None]
        return statistics.fmean(values) if values and len(values) == len(means) else None

    def failures(self) -> Counter[tuple[str, Contender, str]]:
        """How many seeds of a table and a contender ended with an error, by its text."""
        return Counter(
            (table, contender, run["error"])
            for (table, contender), runs in self._runs.items()
            for run in runs.values()
            if "error" in run
        )

    def missing(self, tables: Sequence[str]) -> Counter[tuple[str, Contender]]:
        """How many seeds have no result, for every table and every contender that has any."""
        left = {
            (table, contender): len(self.seeds) - len(self._runs.get((table, contender), {}))
            for table in tables
            for contender in self.contenders
        }
        return Counter({pair: count for pair, count in left.items() if count})


@dataclass(frozen=True)
class Choice:
    """What the choosing half says about the learners with one kind of schema.

    ``accuracies`` has the mean over tables, modes and budgets; None for a learner that lacks a
    result, which cannot be chosen. ``ahead`` is the difference of accuracy of the others to the
    first learner, with its standard error over the tables.
    """

    facts: str
    accuracies: dict[str, float | None]
    ahead: dict[str, Mean | None]

    @property
    def learner(self) -> str | None:
        """The learner with the highest mean accuracy; the first of equal ones."""
        complete = {name: found for name, found in self.accuracies.items() if found is not None}
        return max(complete, key=lambda name: complete[name]) if complete else None


def choose(results: Results, facts: str, tables: Sequence[str]) -> Choice:
    """Compare the learners on some tables.

    Every table, mode and budget has the same weight.
    """
    private = [c for c in results.contenders if c.private and c.facts == facts]
    settings = list(dict.fromkeys((c.mode, c.epsilon) for c in private))
    by_table: dict[str, list[float] | None] = {}
    for learner in dict.fromkeys(c.name for c in private):
        cells = [
            [results.mean(table, Contender(learner, facts, *setting)) for setting in settings]
            for table in tables
        ]
        complete = all(cell is not None for row in cells for cell in row)
        means = [statistics.fmean(cell.value for cell in row if cell) for row in cells if complete]
        by_table[learner] = means or None
    first = next(iter(by_table.values()), None)
    others = list(by_table.items())[1:]
    return Choice(
        facts,
        {name: statistics.fmean(own) if own else None for name, own in by_table.items()},
        {name: _difference(own, first) for name, own in others},
    )


def _difference(own: list[float] | None, first: list[float] | None) -> Mean | None:
    if not own or not first:
        return None
    return mean_of([a - b for a, b in zip(own, first, strict=True)])
