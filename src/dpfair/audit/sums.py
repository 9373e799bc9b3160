"""The mechanisms that add Gaussian noise to sums, as the audit samples them.

Every one is the library's own code: a step of :func:`dpfair.learners.descent.descend` from the
Poisson batch to the noisy gradient, and a tree of private boosting. A *world* is one column of the
design (or one leaf of the tree): its records have no part in other columns and the noise of the
columns is independent, so that one step is many worlds at once. A pair of neighbours is what
the records of a column may be.

One step tells more than a whole run: what a run of several steps costs follows by composition,
which :mod:`dpfair.audit.entries` samples for the parameters of a given model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpfair.audit.distinguish import Listening, Mechanism, Sampler
from dpfair.learners.boosting import BoostingPlan, _boost
from dpfair.learners.descent import (
    Answers,
    Batch,
    Descent,
    FlatClip,
    GradientDescent,
    LogisticLoss,
    descend,
)
from dpfair.learners.design import Design
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import gaussian_steps
from dpfair.privacy.ledger import Ledger, Receipt

__all__ = ["ADDED", "Column", "gradient_sums", "one_step", "paid", "sum_mechanisms", "summed"]

Floats = NDArray[np.float64]

CLIP = 0.4
_WORLDS = 200
# Larger than any claim that is tested.
_BUDGET = 100


@dataclass(frozen=True)
class Column:
    """The records of a world: their labels, and the one number that each of them has.

    At zero weights the gradient of a record has the norm ``value / 2``: a large one is clipped.
    """

    labels: tuple[int, ...]
    value: float = 100.0


ADDED: Mapping[str, tuple[Column, Column]] = {
    "nobody / one record": (Column(()), Column((1,))),
    "one record / two": (Column((1,)), Column((1, 1))),
    "many records / one more": (Column((1, 0) * 10), Column((1, 0) * 10 + (0,))),
    "a record that cancels another": (Column((1,)), Column((1, 0))),
    "an enormous record": (Column((), 1e15), Column((0,), 1e15)),
    "a record that is not clipped": (Column((), CLIP), Column((1,), CLIP)),
}
REPLACED: Mapping[str, tuple[Column, Column]] = {
    "the only record changes its label": (Column((1,)), Column((0,))),
    "and back": (Column((0,)), Column((1,))),
    "one of two changes its label": (Column((1, 1)), Column((1, 0))),
    "one of many changes its label": (Column((1, 0) * 10), Column((1, 0) * 9 + (1, 1))),
    "an enormous record": (Column((1,), 1e15), Column((0,), 1e15)),
    "a record that is not clipped": (Column((1,), CLIP), Column((0,), CLIP)),
}

Run = Callable[[Column, Listening], Floats]
"""Statistics [world, statistic] of one run on worlds that are all alike."""


def summed(
    name: str,
    run: Run,
    epsilon: float,
    delta: float,
    pairs: Mapping[str, tuple[Column, Column]] = ADDED,
) -> Mechanism:
    """A noisy sum as a mechanism to test."""

    def sampler(first: Column, second: Column) -> Sampler:
        def sample(samples: int, noise: Listening) -> tuple[Floats, Floats]:
            calls = range(-(-samples // _WORLDS))
            one, two = (
                np.concatenate([run(column, noise) for _ in calls])[:samples]
                for column in (first, second)
            )
            return one, two

        return sample

    return Mechanism(name, epsilon, delta, {n: sampler(*pair) for n, pair in pairs.items()})


def sum_mechanisms() -> list[Mechanism]:
    """Every way in which the library releases sums.

    The deltas are where, by calculation, 10^5 samples show the largest part of the claim.
    """
    full = one_step(multiplier=1.0, rate=1.0)
    return [
        _step("gradient step", full, delta=0.1),
        _step("gradient step, compiled", full, delta=0.1, compiled=True),
        _step("gradient step, exact arithmetic", replace(full, arithmetic="exact"), delta=0.1),
        _step("gradient step, replace-one", full, delta=0.1, relation="replace_one"),
        _step("gradient step on a Poisson batch", one_step(multiplier=0.4, rate=0.05), delta=0.01),
        _step("query and gradient of one batch", one_step(0.4, 0.1, query=True), delta=0.04),
        summed("leaf sums of a tree", leaf_sums, _claim(1.0, 1.0, 0.1, "add_remove"), 0.1),
    ]


def one_step(multiplier: float, rate: float, *, query: bool = False) -> Descent:
    """One step. With a query, both of its answers have a root of two more noise: one Gaussian."""
    each = multiplier * 2**0.5 if query else multiplier
    queries = (_Presence(each),) if query else ()
    return Descent(1, rate, each, FlatClip(CLIP), divisor=1.0, queries=queries)


def _claim(multiplier: float, rate: float, delta: float, relation: str) -> float:
    return epsilon_of(gaussian_steps(multiplier, rate, 1), delta, relation)


def _step(
    name: str,
    plan: Descent,
    *,
    delta: float,
    relation: str = "add_remove",
    compiled: bool = False,
) -> Mechanism:
    def run(column: Column, noise: Listening) -> Floats:
        receipt = paid(plan, noise, relation, delta)
        return gradient_sums(plan, column, receipt, compiled=compiled)

    pairs = ADDED if relation == "add_remove" else REPLACED
    return summed(name, run, epsilon_of(plan.event, delta, relation), delta, pairs)


def paid(plan: Any, noise: Listening, relation: str, delta: float) -> Receipt:
    ledger = Ledger(_BUDGET, delta, relation=relation, noise=noise)
    return ledger.charge(plan.event, scope="train", purpose="train")


def gradient_sums(
    plan: Descent, column: Column, receipt: Receipt, *, compiled: bool = False
) -> Floats:
    """The noisy sum of one step, and the answer of its query, one row per world."""
    world = np.repeat(np.arange(_WORLDS), len(column.labels))
    objective = _Overhearing() if plan.queries else LogisticLoss()
    moved = descend(
        plan,
        Design.build(np.zeros((len(world), 0)), world[:, None], _WORLDS, column.value),
        np.tile(np.array(column.labels, dtype=np.int64), _WORLDS),
        world,
        objective=objective,
        optimizer=GradientDescent(1.0),
        receipt=receipt,
        compiled=compiled,
    )
    gradient = -moved / CLIP
    if not isinstance(objective, _Overhearing):
        return gradient[:, None]
    # A record adds 1 to its answer and 1 to the gradient, up to its sign, with the same noise.
    [answer] = objective.answers
    return np.stack([answer + gradient, answer - gradient, answer, gradient], axis=1)


class _Overhearing(LogisticLoss):
    """The usual loss; it keeps the answers that it is told."""

    answers: Answers = ()

    def dual_step(self, answers: Answers) -> None:
        self.answers = answers


@dataclass(frozen=True)
class _Presence:
    """A query: how many records of each world are in the batch."""

    noise_multiplier: float
    sensitivity: float = 1.0

    def __call__(self, batch: Batch) -> Floats:
        return np.bincount(batch.groups, minlength=_WORLDS).astype(np.float64)


def leaf_sums(column: Column, noise: Listening) -> Floats:
    """Residuals and Hessians of the leaves of one tree, heard before values are made of them.

    A record of even odds contributes (1/2, 1/8) to its leaf: as much as is allowed.
    """
    plan = BoostingPlan(one_step(1.0, 1.0), trees=1, multiplier=1.0)
    world = np.repeat(np.arange(_WORLDS), len(column.labels))
    structure = SimpleNamespace(
        trees=1, leaves=_WORLDS, codes=lambda records: None, leaf=lambda tree, codes: world
    )
    labels = np.tile(np.array(column.labels, dtype=np.int64), _WORLDS)
    receipt = paid(plan, noise, "add_remove", 0.1)
    records = SimpleNamespace(labels=labels)
    _boost(plan, cast(Any, structure), cast(Any, records), np.zeros(len(labels)), receipt)
    residual, hessian = noise.heard
    return np.stack([4 * residual + hessian, 4 * residual - hessian, residual, hessian], axis=1)
