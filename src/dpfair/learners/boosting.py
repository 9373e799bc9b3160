"""Private boosting: trees of random structure on top of private logistic regression."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit

from dpfair import validate
from dpfair.data.schema import Schema
from dpfair.data.table import Records
from dpfair.learners.descent import ARITHMETICS, Descent
from dpfair.learners.exact import MULTIPLIERS, Grid, integer_sums, logistic
from dpfair.learners.logistic import PrivateLogisticRegression
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.trees import BoostedScorer, RandomTrees
from dpfair.privacy.accountants import calibrate_event
from dpfair.privacy.events import DpEvent, compose, gaussian_steps, step_event
from dpfair.privacy.ledger import Ledger, Receipt
from dpfair.privacy.payment import ChargeTo

__all__ = ["PrivateBoosting"]

# A record adds its clipped residual to one leaf and its scaled Hessian to another number of it.
_CLIP, _HESSIAN_SCALE = 0.5, 0.5
_SENSITIVITY = math.nextafter(math.hypot(_CLIP, _HESSIAN_SCALE / 4), math.inf)
_SHRINKAGE, _RIDGE = 0.1, 200.0


@dataclass(frozen=True)
class BoostingPlan:
    """The linear run, and the noise multiplier of each tree's leaf sums."""

    linear: Descent
    trees: int
    multiplier: float

    def __post_init__(self) -> None:
        validate.within(*MULTIPLIERS, multiplier=self.multiplier)

    @property
    def event(self) -> DpEvent:
        """The cost of both."""
        trees = gaussian_steps(self.multiplier, 1.0, self.trees, exact=self.linear.exact)
        return compose([self.linear.event, trees])


class PrivateBoosting(PrivateLogisticRegression):
    r"""Private logistic regression, then boosted trees whose structure looks at no record.

    Each tree releases the sum of residuals :math:`y - p`, clipped to 1/2, and of Hessians
    :math:`p (1 - p)` of every leaf, with Gaussian noise, and moves the log-odds of a leaf by
    :math:`0.1\, G / (H + 200)`. It pays with large budgets only (docs/results.md).

    Parameters
    ----------
    trees, depth
        The number of trees, and of questions in each.
    tree_share
        The part of the training budget (of :math:`\mu^2` in Gaussian privacy) for the trees.
    epsilon, delta, schema, sensitive, steps, learning_rate, clip, arithmetic, relation, ledger,
    strict, random_state
        As in :class:`PrivateLogisticRegression`.

    Privacy
    -------
    A record lies in one leaf of a tree, so it moves the leaf sums by at most
    :math:`\sqrt{1/4 + 1/64}` (the Hessians are scaled by 1/2). All trees and all steps are one
    composition of Gaussians, calibrated by the PLD accountant.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        schema: Schema | None = None,
        sensitive: str | int | None = None,
        trees: int = 300,
        depth: int = 6,
        tree_share: float = 0.3,
        steps: int | None = None,
        learning_rate: float | None = None,
        clip: float | None = None,
        arithmetic: str = "exact",
        relation: str = "add_remove",
        ledger: ChargeTo | str | Path | None = None,
        strict: bool = False,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            schema=schema,
            sensitive=sensitive,
            steps=steps,
            learning_rate=learning_rate,
            clip=clip,
            arithmetic=arithmetic,
            relation=relation,
            ledger=ledger,
            strict=strict,
            random_state=random_state,
        )
        self.trees = trees
        self.depth = depth
        self.tree_share = tree_share

    def plan(  # type: ignore[override]
        self,
        schema: Schema,
        epsilon: float,
        delta: float,
        *,
        relation: str,
        share: float = 1.0,
        other_events: Sequence[DpEvent] = (),
    ) -> BoostingPlan:
        """The runs that a budget buys, before any record is read."""
        validate.in_open_interval(0, 1, tree_share=self.tree_share)
        validate.one_of(ARITHMETICS, arithmetic=self.arithmetic)
        if self.learning_rate is not None:
            validate.positive(learning_rate=self.learning_rate)
        RandomTrees(schema, self.trees, self.depth)
        steps, clip = self._recipe(epsilon)

        def of(sigma: float) -> BoostingPlan:
            # Together all queries are as informative as one Gaussian with this multiplier.
            linear = sigma * math.sqrt(steps / (1 - self.tree_share))
            trees = sigma * math.sqrt(self.trees / self.tree_share)
            return BoostingPlan(self._full_batch(steps, clip, linear), self.trees, trees)

        sigma = calibrate_event(
            lambda sigma: compose([of(sigma).event, *other_events]),
            epsilon,
            delta,
            relation=relation,
        )
        return of(sigma)

    def _run(  # type: ignore[override]
        self,
        plan: BoostingPlan,
        records: Records,
        schema: Schema,
        ledger: Ledger,
        receipt: Receipt,
        epsilon: float,
        progress: Callable[[int], None] | None,
    ) -> BoostedScorer:
        linear = super()._run(plan.linear, records, schema, ledger, receipt, epsilon, progress)
        assert isinstance(linear, LinearScorer)
        structure = RandomTrees(schema, self.trees, self.depth)
        odds = linear.log_odds(records)
        return BoostedScorer(linear, structure, _boost(plan, structure, records, odds, receipt))


def _boost(
    plan: BoostingPlan,
    structure: RandomTrees,
    records: Records,
    odds: np.ndarray[tuple[int], np.dtype[np.float64]],
    receipt: Receipt,
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    assert records.labels is not None
    exact = plan.linear.exact
    codes, step = structure.codes(records), step_event(plan.multiplier, 1.0, exact=exact)
    unit = Grid.of(_SENSITIVITY, plan.multiplier).cell
    values = np.zeros((structure.trees, structure.leaves))
    for tree in range(structure.trees):
        leaf, draw = structure.leaf(tree, codes), receipt.draw(step)
        chance = logistic(odds) if exact else expit(odds)
        residual = np.clip(records.labels - chance, -_CLIP, _CLIP)
        hessian = _HESSIAN_SCALE * chance * (1 - chance)
        if exact:
            whole = [
                integer_sums(leaf, np.trunc(part / unit), structure.leaves)
                for part in (residual, hessian)
            ]
            units = np.full((2, structure.leaves), unit)
            noisy = unit * draw.discrete_gaussian(np.stack(whole), units, _SENSITIVITY)
        else:
            sums = [np.bincount(leaf, part, structure.leaves) for part in (residual, hessian)]
            noisy = draw.gaussian(np.stack(sums).astype(np.float64), _SENSITIVITY)
        gradients, hessians = noisy[0], np.maximum(noisy[1] / _HESSIAN_SCALE, 0)
        values[tree] = _SHRINKAGE * gradients / (hessians + _RIDGE)
        odds = odds + values[tree, leaf]
    return values
