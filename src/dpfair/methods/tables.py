"""The tables that a fair rule is found by: how they are planned, and how records are counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfair.data.records import Records
from dpfair.fairness.counting import release_cells, table_cells, table_events
from dpfair.fairness.dither import dithered
from dpfair.fairness.release import HALF, Release, grid_of
from dpfair.fairness.rules import Rule
from dpfair.learners.protocols import Scorer
from dpfair.privacy.plan import Budget, Step
from dpfair.privacy.split import place_coins

__all__ = ["ACCEPTED", "Reading", "TableCells", "count", "scores_of", "table_step"]

ACCEPTED = "count the accepted by group"

_ROWS = 1 << 16


def table_step(
    name: str, scope: str, purpose: str, epsilon: Fraction, edges: tuple[float, ...], budget: Budget
) -> Step:
    """One table of counts with these edges of the score; it costs a record ``epsilon``."""
    [event] = table_events(epsilon, 1, budget.relation, public_sizes=False)
    return Step(name, scope, purpose, event, how=edges)


def scores_of(scorer: Scorer, records: Records) -> NDArray[np.float64]:
    """Scores of training records; those of no declared group are not looked at."""
    return scorer.scores(records.in_first_group())


@dataclass(frozen=True, eq=False)
class Reading:
    """What is counted of a record: its score, or what a rule decides by it.

    Parameters
    ----------
    rule
        Decides, with a coin per record.
    coins
        The secret key of these coins. Without a rule, they replace the last digits of a score.
    """

    scorer: Scorer
    rule: Rule | None = None
    coins: bytes = field(default=b"", repr=False)

    def __call__(self, records: Records) -> NDArray[np.float64]:
        scores = scores_of(self.scorer, records)
        if not self.coins:
            return scores
        coins = place_coins(records.places, self.coins)
        if self.rule is None:
            return dithered(scores, coins)
        return self.rule.decide(records.groups, scores, coins).astype(np.float64)


@dataclass(frozen=True, eq=False)
class TableCells:
    """The exact cells of a table of all records, some records at a time."""

    reading: Reading
    groups: int
    edges: NDArray[np.float64]
    by_label: bool

    def __call__(self, records: Records) -> tuple[NDArray[np.int64]]:
        total = self._cells(records.take(slice(0, 0)))
        for start in range(0, len(records), _ROWS):
            total += self._cells(records.take(slice(start, start + _ROWS)))
        return (total,)

    def _cells(self, records: Records) -> NDArray[np.int64]:
        return table_cells(
            self.reading(records),
            records.groups,
            records.labels,
            self.groups,
            self.edges,
            by_label=self.by_label,
        )


def count(
    records: Any,
    reading: Reading,
    groups: tuple[str, ...],
    *,
    edges: ArrayLike = HALF,
    by_label: bool = True,
    **how: Any,
) -> Release:
    """Count records by group, label and bin; see :func:`~dpfair.fairness.counting.release_table`.

    The records are asked for sums only.
    """
    asked = TableCells(reading, len(groups), grid_of(edges, len(groups)), by_label)

    def cells() -> NDArray[np.int64]:
        [found] = records.total(asked)
        return np.asarray(found)

    return release_cells(cells, groups, labelled=True, by_label=by_label, edges=edges, **how)
