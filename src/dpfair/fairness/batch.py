"""Decisions about a whole batch: the group rates are equal within the batch itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.fairness.counting import release_table, table_plan
from dpfair.fairness.estimate import consistent_counts
from dpfair.fairness.laplace_sums import noise_quantile
from dpfair.fairness.release import Release, score_grid
from dpfair.privacy.events import exact_epsilon
from dpfair.privacy.ledger import SEEDED, Ledger
from dpfair.privacy.noise import Noise
from dpfair.privacy.plan import UNUSED_DELTA, Budget
from dpfair.privacy.siphash import Rows
from dpfair.privacy.split import keyed_coins

__all__ = ["BatchDecisions", "decide_batch"]

COUNTING = "count the batch's scores by group"

BATCH_BINS = 200
"""A batch has no labels to count, so a large budget affords fine bins."""


@dataclass(frozen=True)
class BatchDecisions:
    """Decisions about a batch.

    Parameters
    ----------
    decisions
        Class labels, one per record.
    cuts
        The score from which on each group is accepted.
    gap_bound
        A bound on the difference between the groups' acceptance rates *in this batch*, with
        probability ``confidence`` over the noise; certain for exact quotas. With a unit it is
        about the records that were counted, ``rows_per_unit`` of each person at most, because it
        must not reveal whether there were others.
    protects
        The guarantee for the people of the batch.
    ledger
        What was charged to the batch, if anything.
    """

    decisions: NDArray[Any]
    cuts: tuple[float, ...]
    gap_bound: float
    confidence: float
    protects: str
    ledger: Ledger | None


def decide_batch(
    scores: NDArray[np.float64],
    groups: NDArray[np.integer[Any]],
    identities: Rows,
    *,
    names: tuple[str, ...],
    classes: NDArray[Any],
    rates: Sequence[float],
    key: bytes,
    epsilon: float | None,
    relation: str,
    counted: NDArray[np.int64] | None,
    rows_per_unit: int,
    confidence: float,
    noise: Noise,
) -> BatchDecisions:
    """Accept the given rate of every group.

    ``counted`` are the positions of at most ``rows_per_unit`` records of each person; None if
    every record is a person.

    Privacy
    -------
    With ``epsilon`` the cuts come from one noisy table of the batch, charged to a separate ledger;
    a decision then depends on the person's own record and on that table. Without it, quotas are
    exact: whether a person is accepted depends on the scores of all others.
    """
    if epsilon is None:
        accepted, cuts = _quotas(scores, keyed_coins(identities, key), groups, rates)
        # A quota is a whole number: each rate is off by less than one person.
        sizes = np.bincount(groups, minlength=len(names))
        got = [int(accepted[groups == a].sum()) / n for a, n in enumerate(sizes) if n]
        return BatchDecisions(
            decisions=classes[accepted.astype(np.int64)],
            cuts=cuts,
            gap_bound=max(got) - min(got) if got else 0.0,
            confidence=1.0,
            protects="nobody in the batch: each decision depends on everybody's exact score",
            ledger=None,
        )
    validate.positive(epsilon=epsilon)
    budget = Budget(
        exact_epsilon(epsilon), UNUSED_DELTA, relation=relation, rows_per_unit=rows_per_unit
    )
    row_epsilon = budget.row_epsilon
    run = table_plan(budget, COUNTING, len(names)).open(noise)
    edges = score_grid(float(row_epsilon))
    if row_epsilon >= 1:
        edges = tuple(i / BATCH_BINS for i in range(1, BATCH_BINS))
    chosen_rows = np.arange(len(scores)) if counted is None else counted
    release = release_table(
        scores[chosen_rows],
        groups[chosen_rows],
        names,
        edges=edges,
        receipt=run["count"],
        dependence="the counted records are the ones decided about",
    )
    chosen = [_cut(release, a, rate) for a, rate in enumerate(rates)]
    cuts = tuple(cut for cut, _ in chosen)
    accepted = scores >= np.array(cuts)[groups]
    eta = (1 - confidence) / len(names)
    ranges = [_range(release, a, cell, eta) for a, (_, cell) in enumerate(chosen)]
    largest, smallest = max(high for _, high in ranges), min(low for low, _ in ranges)
    whom = "record" if counted is None else "person"
    return BatchDecisions(
        decisions=classes[accepted.astype(np.int64)],
        cuts=cuts,
        gap_bound=largest - smallest if len(names) > 1 else 0.0,
        confidence=confidence,
        protects=(
            f"every {whom} in the batch, with epsilon = {epsilon:g} against observers of all other "
            f"decisions, which depend on that {whom} only through the noisy table"
            if run.ledger.private
            else f"nobody in the batch: {SEEDED}"
        ),
        ledger=run.ledger,
    )


def _quotas(
    scores: NDArray[np.float64],
    ties: NDArray[np.float64],
    groups: NDArray[np.integer[Any]],
    rates: Sequence[float],
) -> tuple[NDArray[np.bool_], tuple[float, ...]]:
    accepted = np.zeros(len(scores), dtype=bool)
    cuts = []
    for a, rate in enumerate(rates):
        members = np.flatnonzero(groups == a)
        ranked = members[np.lexsort((ties[members], -scores[members]))]
        quota = round(rate * len(members))
        accepted[ranked[:quota]] = True
        cuts.append(float(scores[ranked[quota - 1]]) if quota else float("inf"))
    return accepted, tuple(cuts)


def _cut(release: Release, group: int, rate: float) -> tuple[float, int]:
    """The cut inside its bin, as if scores were spread evenly there, and the bin."""
    counts = consistent_counts(release)[group, 0]
    below = np.concatenate([[0.0], np.cumsum(counts)])
    goal = below[-1] * (1 - rate)
    cell = int(np.clip(np.searchsorted(below, goal, side="right") - 1, 0, len(counts) - 1))
    inside = (goal - below[cell]) / counts[cell] if counts[cell] > 0 else 0.0
    ends = np.array([0.0, *release.edges[group], 1.0])
    if rate <= 0:
        return float("inf"), cell
    return float(ends[cell] + min(1.0, max(0.0, inside)) * (ends[cell + 1] - ends[cell])), cell


def _range(release: Release, group: int, cell: int, eta: float) -> tuple[float, float]:
    """An interval for the acceptance rate in the batch, with error probability eta over the noise.

    The cut lies in the cell, so the accepted are between the counts above its two ends. By
    Levy's inequality all partial sums of the noise are within the quantile at eta / 4 of their
    last one.
    """
    counts = release.counts[group, 0]
    off = noise_quantile(release.noise[group], len(counts), eta / 4)
    fewest, most = int(counts[cell + 1 :].sum()) - off, int(counts[cell:].sum()) + off
    size = int(counts.sum())
    low, high = fewest / max(size + off, 1), most / max(size - off, 1)
    return min(1.0, max(0.0, low)), min(1.0, max(0.0, high))
