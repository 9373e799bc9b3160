"""Private boosting: trees of random structure on top of private logistic regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator

from dpfair import validate
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.descent import ARITHMETICS
from dpfair.learners.design import chunks
from dpfair.learners.exact import MULTIPLIERS, Grid
from dpfair.learners.leaf_sums import (
    HESSIAN_SCALE,
    SENSITIVITY,
    residuals_and_hessians,
    whole_leaf_sums,
)
from dpfair.learners.logistic import LogisticLearner, LogisticTraining
from dpfair.learners.protocols import Progress, Tensors, TrainingBudget
from dpfair.learners.scorer import check_width
from dpfair.learners.trees import BoostedScorer, RandomTrees
from dpfair.privacy.accountants import calibrate_event
from dpfair.privacy.events import DpEvent, compose, gaussian_steps, step_event
from dpfair.privacy.ledger import Receipt

__all__ = ["SENSITIVITY", "BoostingLearner", "BoostingSettings", "BoostingTraining", "boost"]

_SHRINKAGE, _RIDGE = 0.1, 200.0


@dataclass(frozen=True)
class BoostingTraining:
    """The linear run, and the noise multiplier of each tree's leaf sums."""

    linear: LogisticTraining
    trees: int
    multiplier: float

    def __post_init__(self) -> None:
        validate.within(*MULTIPLIERS, multiplier=self.multiplier)

    @property
    def exact(self) -> bool:
        """Whether sums and noise are whole numbers."""
        return self.linear.descent.exact

    @property
    def event(self) -> DpEvent:
        """The cost of both."""
        trees = gaussian_steps(self.multiplier, 1.0, self.trees, exact=self.exact)
        return compose([self.linear.event, trees])


@dataclass(eq=False, repr=False, kw_only=True)
class BoostingSettings:
    r"""How boosted trees are trained.

    Parameters
    ----------
    trees, depth
        The number of trees, and of questions in each.
    tree_share
        The part of the training budget (of :math:`\mu^2` in Gaussian privacy) for the trees.
    steps, learning_rate, clip, arithmetic
        As in :class:`~dpfair.learners.logistic.LogisticSettings`.
    """

    trees: int = 300
    depth: int = 6
    tree_share: float = 0.3
    steps: int | None = None
    learning_rate: float | None = None
    clip: float | None = None
    arithmetic: str = "exact"


class BoostingLearner(BoostingSettings, BaseEstimator):  # type: ignore[misc]
    r"""Private logistic regression, then boosted trees whose structure looks at no record.

    Each tree releases the sum of residuals :math:`y - p`, clipped to 1/2, and of Hessians
    :math:`p (1 - p)` of every leaf, with Gaussian noise, and moves the log-odds of a leaf by
    :math:`0.1\, G / (H + 200)`. It pays with large budgets only (docs/results.md).

    Privacy
    -------
    A record lies in one leaf of a tree, so it moves the leaf sums by at most
    :math:`\sqrt{1/4 + 1/64}` (the Hessians are scaled by 1/2). All trees and all steps are one
    composition of Gaussians, calibrated by the PLD accountant.
    """

    quick: ClassVar[dict[str, Any]] = {"steps": 3, "trees": 4, "depth": 2}

    @property
    def _linear(self) -> LogisticLearner:
        return LogisticLearner(
            steps=self.steps,
            learning_rate=self.learning_rate,
            clip=self.clip,
            arithmetic=self.arithmetic,
        )

    def plan(self, schema: Schema, budget: TrainingBudget) -> BoostingTraining:
        """The runs that a budget buys, before any record is read."""
        validate.in_open_interval(0, 1, tree_share=self.tree_share)
        validate.one_of(ARITHMETICS, arithmetic=self.arithmetic)
        if self.learning_rate is not None:
            validate.positive(learning_rate=self.learning_rate)
        if self.steps is not None:
            validate.at_least(1, steps=self.steps)
        RandomTrees(schema, self.trees, self.depth)
        check_width(schema, "binned")
        steps, clip, rate = self._linear.recipe(budget.epsilon)

        def of(sigma: float) -> BoostingTraining:
            # Together all queries are as informative as one Gaussian with this multiplier.
            linear = sigma * math.sqrt(steps / (1 - self.tree_share))
            trees = sigma * math.sqrt(self.trees / self.tree_share)
            return BoostingTraining(
                self._linear.full_batch(steps, clip, rate, linear), self.trees, trees
            )

        sigma = calibrate_event(
            lambda sigma: of(sigma).event,
            budget.epsilon,
            budget.delta,
            relation=budget.relation,
            other_events=budget.other_events,
            stated=budget.stated,
        )
        return of(sigma)

    def train(
        self,
        plan: BoostingTraining,
        records: Records,
        schema: Schema,
        receipt: Receipt,
        progress: Progress | None = None,
    ) -> BoostedScorer:
        """The linear part first, then the trees on top of it."""
        linear = self._linear.train(plan.linear, records, schema, receipt, progress)
        structure = RandomTrees(schema, self.trees, self.depth)
        odds = linear.log_odds(records)
        return BoostedScorer(linear, structure, boost(plan, structure, records, odds, receipt))

    def restore(self, schema: Schema, tensors: Tensors) -> BoostedScorer:
        """The scorer of a file."""
        scorer = BoostedScorer.from_tensors(schema, "binned", tensors)
        if scorer.structure != RandomTrees(schema, self.trees, self.depth):
            raise InputError("Its trees are not those of its settings.")
        return scorer


def boost(
    plan: BoostingTraining,
    structure: RandomTrees,
    records: Records,
    odds: np.ndarray[tuple[int], np.dtype[np.float64]],
    receipt: Receipt,
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The numbers of all leaves, one tree after the other; the log-odds move along in place."""
    assert records.labels is not None
    exact = plan.exact
    codes, step = structure.codes(records), step_event(plan.multiplier, 1.0, exact=exact)
    unit = Grid.of(SENSITIVITY, plan.multiplier).cell
    values = np.zeros((structure.trees, structure.leaves))
    for tree in range(structure.trees):
        leaf, draw = structure.leaf(tree, codes), receipt.draw(step)
        if exact:
            whole = whole_leaf_sums(leaf, records.labels, odds, structure.leaves, unit)
            units = np.full((2, structure.leaves), unit)
            noisy = unit * draw.discrete_gaussian(whole, units, SENSITIVITY)
        else:
            parts = residuals_and_hessians(records.labels, special.expit(odds))
            sums = [np.bincount(leaf, part, structure.leaves) for part in parts]
            noisy = draw.gaussian(np.stack(sums).astype(np.float64), SENSITIVITY)
        gradients, hessians = noisy[0], np.maximum(noisy[1] / HESSIAN_SCALE, 0)
        values[tree] = _SHRINKAGE * gradients / (hessians + _RIDGE)
        for chunk in chunks(len(leaf)):
            odds[chunk] += values[tree].take(leaf[chunk])
    return values
