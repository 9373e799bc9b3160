"""The tables that a fair rule is found by: how they are planned, and how records are counted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.fairness.counting import release_table, table_events
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule
from dpfair.learners.protocols import Scorer
from dpfair.privacy.noise import Noise
from dpfair.privacy.plan import Budget, Step

__all__ = ["ACCEPTED", "count", "decided", "scores_of", "table_step"]

ACCEPTED = "count the accepted by group"


def table_step(
    name: str, scope: str, purpose: str, epsilon: Fraction, edges: tuple[float, ...], budget: Budget
) -> Step:
    """One table of counts with these edges of the score; it costs a record ``epsilon``."""
    [event] = table_events(epsilon, 1, budget.relation, public_sizes=False)
    return Step(name, scope, purpose, event, how=edges)


def scores_of(scorer: Scorer, records: Records) -> NDArray[np.float64]:
    """Scores of training records; those of no declared group are not looked at."""
    return scorer.scores(records.in_first_group())


def decided(rule: Rule, scorer: Scorer, records: Records, noise: Noise) -> NDArray[np.float64]:
    """What a rule decides about training records, with fresh coins."""
    coins = noise.uniforms(len(records))
    return rule.decide(records.groups, scores_of(scorer, records), coins).astype(np.float64)


def count(
    records: Records, scores: NDArray[np.float64], groups: tuple[str, ...], **how: Any
) -> Release:
    """Count records by group, label and bin of the score; see :func:`release_table`."""
    return release_table(scores, records.groups, groups, labels=records.labels, **how)
