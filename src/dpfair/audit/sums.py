"""The mechanisms that add Gaussian noise to sums, as the audit samples them.

All of them are the library's own code: a step of :func:`dpfair.learners.descent.descend` from the
Poisson batch to the noisy gradient, a tree of private boosting, and a visit of a block of columns.
A *trial* is one column of the design, one leaf of the tree or one cell of the block: its records do
not contribute to other columns, and the noise of the columns is independent, so one step contains
many trials. A pair of neighbours is two possible sets of records of a column.

Testing one step is more powerful than testing a whole run: the cost of several steps follows by
composition, which :mod:`dpfair.audit.entries` samples for the parameters of a given model.
Composition assumes that every step has its own noise and its own batch. Two steps are therefore
tested, too: their difference detects shared noise, and their sum detects a shared batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpfair.audit.distinguish import Listening, Mechanism, Sampler
from dpfair.learners.boosting import BoostingTraining, boost
from dpfair.learners.descent import (
    Answers,
    Batch,
    Descent,
    FlatClip,
    LogisticLoss,
    descend,
)
from dpfair.learners.design import Design
from dpfair.learners.exact import Grid
from dpfair.learners.leaf_sums import SENSITIVITY, whole_leaf_sums
from dpfair.learners.logistic import LogisticTraining
from dpfair.learners.visits import visit
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.draw import Draw, Exact
from dpfair.privacy.events import gaussian_steps, step_event
from dpfair.privacy.ledger import Ledger, Receipt

__all__ = [
    "ADDED",
    "CLIP",
    "Column",
    "gradient_sums",
    "one_step",
    "paid",
    "sum_mechanisms",
    "summed",
]

Floats = NDArray[np.float64]

CLIP = 0.4
_TRIALS = 200
# Larger than any claim that is tested.
_BUDGET = 100


@dataclass(frozen=True)
class Column:
    """The records of a trial: their labels, and the one number that each of them has.

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
"""Statistics [trial, statistic] of one run on trials that are all alike."""


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
            calls = range(-(-samples // _TRIALS))
            one, two = (
                np.concatenate([run(column, noise) for _ in calls])[:samples]
                for column in (first, second)
            )
            return one, two

        return sample

    return Mechanism(name, epsilon, delta, {n: sampler(*pair) for n, pair in pairs.items()})


def sum_mechanisms() -> list[Mechanism]:
    """Every way in which the library releases sums.

    By calculation, 10^5 samples reach the largest part of the claim at these deltas; for two steps,
    they detect a shared batch best.
    """
    full, sampled = one_step(multiplier=1.0, rate=1.0), one_step(multiplier=0.4, rate=0.05)
    two, often = replace(one_step(0.5, 0.2), steps=2), one_step(0.4, 0.1)
    whole, coins, pair = (replace(plan, arithmetic="exact") for plan in (full, sampled, two))
    replaced = "replace_one"
    return [
        _step("gradient step", full, delta=0.1),
        _step("gradient step, compiled", full, delta=0.1, compiled=True),
        _step("gradient step, exact arithmetic", whole, delta=0.1),
        _step("gradient step, exact arithmetic, compiled", whole, delta=0.1, compiled=True),
        _step("gradient step, exact arithmetic, two units", whole, delta=0.1, scales=(1.0, 8.0)),
        _step("gradient step, replace-one", full, delta=0.1, relation=replaced),
        _step("gradient step on a Poisson batch", sampled, delta=0.01),
        _step("gradient step on a Poisson batch, exact arithmetic", coins, delta=0.01),
        _step(
            "gradient step on a Poisson batch, replace-one", often, delta=0.02, relation=replaced
        ),
        _step("two steps on Poisson batches", two, delta=0.05),
        _step("two steps on Poisson batches, exact arithmetic", pair, delta=0.05),
        _step("query and gradient of one batch", one_step(0.4, 0.1, query=True), delta=0.04),
        _leaves("leaf sums of a tree", full, delta=0.1),
        _leaves("leaf sums of a tree, exact arithmetic", whole, delta=0.1),
        _cells("two draws of the cell sums of a block", multiplier=2**0.5, delta=0.1),
    ]


def one_step(multiplier: float, rate: float, *, query: bool = False) -> Descent:
    """One step. With a query, the noise of both answers is larger by the square root of two."""
    each = multiplier * 2**0.5 if query else multiplier
    queries = (_Presence(each),) if query else ()
    return Descent(1, rate, each, FlatClip(CLIP), divisor=1.0, queries=queries)


def _step(
    name: str,
    plan: Descent,
    *,
    delta: float,
    relation: str = "add_remove",
    compiled: bool = False,
    scales: tuple[float, ...] = (1.0,),
) -> Mechanism:
    def run(column: Column, noise: Listening) -> Floats:
        receipt = paid(plan, noise, relation, delta)
        return gradient_sums(plan, column, receipt, compiled=compiled, scales=scales)

    pairs = ADDED if relation == "add_remove" else REPLACED
    return summed(name, run, epsilon_of(plan.event, delta, relation), delta, pairs)


def _leaves(name: str, plan: Descent, *, delta: float) -> Mechanism:
    """A tree with the noise of a step."""
    trees = BoostingTraining(LogisticTraining(plan, 0.2), trees=1, multiplier=plan.noise_multiplier)
    claim = epsilon_of(plan.event, delta, "add_remove")
    return summed(name, lambda column, noise: leaf_sums(trees, column, noise, delta), claim, delta)


def _cells(name: str, multiplier: float, *, delta: float) -> Mechanism:
    """A visit of a block by two draws, each with noise of its own."""
    event = gaussian_steps(multiplier, 1.0, 2, exact=True)

    def run(column: Column, noise: Listening) -> Floats:
        receipt = paid(SimpleNamespace(event=event), noise, "add_remove", delta)
        return cell_sums(multiplier, column, receipt)

    return summed(name, run, epsilon_of(event, delta, "add_remove"), delta)


def paid(plan: Any, noise: Listening, relation: str, delta: float) -> Receipt:
    ledger = Ledger(_BUDGET, delta, relation=relation, noise=noise)
    return ledger.charge(plan.event, scope="train", purpose="train")


def gradient_sums(
    plan: Descent,
    column: Column,
    receipt: Receipt,
    *,
    compiled: bool = False,
    scales: tuple[float, ...] = (1.0,),
) -> Floats:
    """The noisy sums of all steps, and the answer of a query, one row per trial.

    There is a block of cells for each of the ``scales``, and each trial has a cell in each block.
    Records have a cell in the first block only; the other cells contain only noise.
    """
    trial = np.repeat(np.arange(_TRIALS), len(column.labels))
    values = column.value * np.repeat(scales, _TRIALS)
    objective = _Overhearing() if plan.queries else LogisticLoss()
    optimizer = _Standing()
    descend(
        plan,
        Design.build(np.zeros((len(trial), 0)), trial[:, None], len(values), values),
        np.tile(np.array(column.labels, dtype=np.int64), _TRIALS),
        trial,
        objective=objective,
        optimizer=optimizer,
        receipt=receipt,
        compiled=compiled,
    )
    # A record adds 1 to its answer and 1 to the gradient, up to its sign, with the same noise.
    answers = objective.answers if isinstance(objective, _Overhearing) else ()
    sums = [gradient / CLIP for gradient in optimizer.gradients]
    return _together(np.concatenate([*answers, *sums]).reshape(-1, _TRIALS))


def _together(released: Floats) -> Floats:
    """One or two numbers of each trial; two also give their sum and their difference."""
    if len(released) == 1:
        return released.T
    one, two = released
    return np.stack([one + two, one - two, one, two], axis=1)


class _Standing:
    """An optimizer that stores gradients and does not move, so that all steps are alike."""

    def __init__(self) -> None:
        self.gradients: list[Floats] = []

    def step(self, parameters: Floats, gradient: Floats) -> Floats:
        self.gradients.append(gradient)
        return parameters


class _Overhearing(LogisticLoss):
    """The usual loss, which stores the noisy answers."""

    answers: Answers = ()

    def dual_step(self, answers: Answers) -> None:
        self.answers = answers


@dataclass(frozen=True)
class _Presence:
    """A query: how many records of each trial are in the batch."""

    noise_multiplier: float
    sensitivity: float = 1.0

    def __call__(self, batch: Batch) -> Floats:
        return np.bincount(batch.groups, minlength=_TRIALS).astype(np.float64)


def leaf_sums(plan: BoostingTraining, column: Column, noise: Listening, delta: float) -> Floats:
    """Noisy residuals and Hessians of the leaves of one tree, before their values are computed.

    A record with even odds contributes (1/2, 1/8) to its leaf, which is the maximum.
    """
    trial = np.repeat(np.arange(_TRIALS), len(column.labels))
    structure = SimpleNamespace(
        trees=1, leaves=_TRIALS, codes=lambda records: None, leaf=lambda tree, codes: trial
    )
    labels = np.tile(np.array(column.labels, dtype=np.int64), _TRIALS)
    receipt = paid(plan, noise, "add_remove", delta)
    records = SimpleNamespace(labels=labels)
    boost(plan, cast(Any, structure), cast(Any, records), np.zeros(len(labels)), receipt)
    residual, hessian = noise.heard
    return np.stack([4 * residual + hessian, 4 * residual - hessian, residual, hessian], axis=1)


def cell_sums(multiplier: float, column: Column, receipt: Receipt) -> Floats:
    """The noisy sums of the cells of one block, from two draws.

    As in a leaf, a record with even odds contributes (1/2, 1/8), which is the maximum; along this
    direction the two numbers of a cell distinguish neighbours best.
    """
    trial = np.repeat(np.arange(_TRIALS), len(column.labels))
    labels = np.tile(np.array(column.labels, dtype=np.int64), _TRIALS)
    step = step_event(multiplier, 1.0, exact=True)
    draws = [_Overheard(receipt.draw(step)) for _ in range(2)]
    unit = Grid.of(SENSITIVITY, multiplier).cell

    def whole() -> NDArray[np.int64]:
        return whole_leaf_sums(trial, labels, np.zeros(len(labels)), _TRIALS, unit)

    visit(cast(Any, draws), multiplier, whole, _TRIALS)
    return _together(np.stack([np.array([4.0, 1.0]) @ draw.answer for draw in draws]))


class _Overheard:
    """A draw whose noisy answer is stored."""

    answer: NDArray[np.int64]

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def discrete_gaussian(
        self, value: Exact[NDArray[np.int64]], units: Floats, sensitivity: float
    ) -> NDArray[np.int64]:
        self.answer = self._draw.discrete_gaussian(value, units, sensitivity)
        return self.answer
