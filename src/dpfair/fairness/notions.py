"""Notions of fairness: which rates are compared between groups.

``NOTIONS`` is the only list of them. Rules, bounds, sentences, reports and help texts read it, so a
new notion is one row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpfair.errors import InputError
from dpfair.validate import did_you_mean

__all__ = ["NOTIONS", "Notion", "Statistic", "notion_of"]


@dataclass(frozen=True)
class Statistic:
    """A rate that is compared between groups.

    It is the share of accepted records (of records decided right, if ``correct``) among the
    records of a group that have one of the ``labels``.
    """

    name: str
    labels: tuple[int, ...] = (0, 1)
    correct: bool = False

    @property
    def plural(self) -> str:
        """The name of the rates of several groups.

        >>> Statistic("acceptance rate").plural, Statistic("accuracy").plural
        ('acceptance rates', 'accuracies')
        """
        return f"{self.name[:-1]}ies" if self.name.endswith("y") else f"{self.name}s"


@dataclass(frozen=True)
class Notion:
    """The gap of a notion: the largest difference between two groups in one of its statistics.

    For a ``ratio`` it is one minus the smallest rate divided by the largest; the four-fifths rule
    of US employment law allows 0.2.
    """

    name: str
    title: str
    statistics: tuple[Statistic, ...]
    ratio: bool = False

    def gap(self, values: ArrayLike) -> float:
        """The gap between groups whose statistics are ``values`` [statistic, group].

        Groups without a value (NaN) are left out; NaN when fewer than two are left.

        >>> NOTIONS["parity_ratio"].gap([[0.1, 0.4]])
        0.75
        """
        worst = float("nan")
        for row in np.asarray(values, dtype=np.float64):
            known = row[~np.isnan(row)]
            if len(known) > 1:
                low, high = float(known.min()), float(known.max())
                gap = (1 - low / high if high > 0 else 0.0) if self.ratio else high - low
                worst = gap if np.isnan(worst) else max(worst, gap)
        return worst

    @property
    def needs_labels(self) -> bool:
        """Whether the gap depends on the records' labels."""
        return any(s.labels != (0, 1) or s.correct for s in self.statistics)

    @property
    def monotone(self) -> bool:
        """Whether a threshold per group reaches every value of the only statistic."""
        return len(self.statistics) == 1 and not self.statistics[0].correct


_ACCEPTED = Statistic("acceptance rate")
_TRUE_POSITIVES = Statistic("true positive rate", (1,))
_FALSE_POSITIVES = Statistic("false positive rate", (0,))

NOTIONS = {
    notion.name: notion
    for notion in (
        Notion("demographic_parity", "demographic parity", (_ACCEPTED,)),
        Notion("equal_opportunity", "equal opportunity", (_TRUE_POSITIVES,)),
        Notion("equalized_odds", "equalized odds", (_TRUE_POSITIVES, _FALSE_POSITIVES)),
        Notion("accuracy_parity", "accuracy parity", (Statistic("accuracy", correct=True),)),
        Notion("parity_ratio", "ratio of acceptance rates", (_ACCEPTED,), ratio=True),
    )
}


def notion_of(name: str) -> Notion:
    """A notion by its name.

    >>> notion_of("fair")
    Traceback (most recent call last):
    dpfair.errors.InputError: Expected notion to be one of demographic_parity, equal_opportunity, \
equalized_odds, accuracy_parity, parity_ratio, got 'fair'.
    """
    if name not in NOTIONS:
        guess = did_you_mean(name, NOTIONS)
        raise InputError(f"Expected notion to be one of {', '.join(NOTIONS)}, got {name!r}{guess}.")
    return NOTIONS[name]
