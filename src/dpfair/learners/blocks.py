"""Private logistic regression with corrections for pairs and triples of columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dpfair import validate
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.learners.block_fit import BlockFit
from dpfair.learners.block_plan import BlockTraining
from dpfair.learners.block_scorer import BlockScorer
from dpfair.learners.descent import Adam
from dpfair.learners.detail import MOST, Detail
from dpfair.learners.features import (
    coarse_codes,
    coarse_sizes,
    coarse_weights,
    feature_decay,
)
from dpfair.learners.full_batch import descend_full_batch
from dpfair.learners.grouping import Block, Grouping
from dpfair.learners.leaf_sums import SENSITIVITY
from dpfair.learners.logistic import LogisticLearner
from dpfair.learners.protocols import Progress, Tensors, TrainingBudget
from dpfair.learners.scorer import LinearScorer, check_width
from dpfair.learners.screening import (
    LARGE_EFFECT,
    best_blocks,
    candidate_pairs,
    importance,
    interacts,
    pair_count,
)
from dpfair.privacy.accountants import calibrate_event
from dpfair.privacy.events import step_event
from dpfair.privacy.histograms import exact_counts, noisy_counts
from dpfair.privacy.ledger import Receipt

__all__ = ["BlockLearner", "BlockSettings"]

_FEATURES = "binned"

# Enough to ask some pairs again and to go on with the descent.
_FEWEST_DRAWS = 10

# Below this many records times epsilon, a screen finds too little to be worth its share.
_SMALL = 2500

# The part of the draws after the screen that go on with the descent if interactions are small.
_LINEAR_PART = 0.5


@dataclass(eq=False, repr=False, kw_only=True)
class BlockSettings:
    """How the learner of blocks is trained.

    Parameters
    ----------
    steps
        The linear steps before pairs are screened.
    draws
        The noisy sums after that, at least ten.
    evidence
        Blocks are used if the interaction of a pair, when asked a second time, has a score above
        this, in standard deviations of what chance would show; None to use them always.
    learning_rate, clip
        As in :class:`~dpfair.learners.logistic.LogisticSettings`.
    """

    steps: int = 50
    draws: int = 100
    evidence: float | None = 3.0
    learning_rate: float | None = None
    clip: float | None = None


@dataclass(frozen=True)
class BinCounts:
    """How many records have which bin or category, per column."""

    schema: Schema

    def __call__(self, records: Records) -> list[NDArray[np.int64]]:
        sizes = coarse_sizes(self.schema)
        codes = coarse_codes(self.schema, records)
        return [exact_counts(codes[name], size) for name, size in sizes.items()]


class BlockLearner(BlockSettings, BaseEstimator):  # type: ignore[misc]
    r"""Private logistic regression, corrected for pairs and triples of columns that act jointly.

    1. A descent of a few steps on binned features, a fifth of the budget.
    2. Noisy histograms of all columns; they serve to join the bins of a column to a few groups
       (:mod:`dpfair.learners.grouping`), and to weigh the importance of a column.
    3. *Screen*: up to 66 pairs, each visited once. A visit releases the sum of residuals and of
       Hessians of every cell and corrects the log-odds of its cells
       (:mod:`dpfair.learners.visits`), here by 0.3 of the posterior mean.
    4. *Confirm*: the four best pairs again, with less noise. If none of them shows an interaction,
       all corrections are dropped, and the descent goes on with all draws that are left: the result
       is about that of :class:`~dpfair.learners.logistic.LogisticLearner` with four fifths of the
       budget. If an interaction is small, the descent gets half of these draws.
    5. *Visit*: with the draws that are then left, up to twelve of the best pairs and twenty triples
       of their columns, and the best of these once more. If an interaction is large, all
       corrections so far are kept, and blocks get all draws.

    The noise of the screen decides how many groups a column has and how many blocks there are
    (:mod:`dpfair.learners.detail`).

    It learns what no sum of columns can express, such as a rule about two columns, from much less
    budget than :class:`~dpfair.learners.boosting.BoostingLearner` (docs/interactions.md). With more
    than twelve columns, a pair is screened only if each of its columns has some weight of its own.
    If fewer than 2500 / epsilon records are declared, no pair is screened. Arithmetic is exact.

    Privacy
    -------
    All records enter every step. A gradient is clipped; a record lies in one bin of each of the D
    columns (sensitivity :math:`\sqrt D`) and in one cell of a block (:math:`\sqrt{1/4 + 1/64}`).
    The numbers of draws and their noise multipliers follow from the settings, from D, from the
    budget and from the declared number of records. What the draws are used for follows from earlier
    answers: an adaptive composition of Gaussians with multipliers fixed beforehand, calibrated by
    the PLD accountant.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> from dpfair.learners.protocols import TrainingBudget
    >>> plan = BlockLearner().plan(load_adult().schema, TrainingBudget(3.0, 1e-5, "add_remove"))
    >>> plan.pairs, plan.draws
    (66, 100)
    """

    in_parts: ClassVar[bool] = True
    """Training only asks the records for sums of whole numbers."""

    quick: ClassVar[dict[str, Any]] = {"steps": 3, "draws": 45, "evidence": None}

    def plan(self, schema: Schema, budget: TrainingBudget) -> BlockTraining:
        """The draws that a budget buys, by the numbers of columns and of declared records."""
        validate.at_least(1, steps=self.steps)
        validate.at_least(_FEWEST_DRAWS, draws=self.draws)
        if self.learning_rate is not None:
            validate.positive(learning_rate=self.learning_rate)
        if self.evidence is not None:
            validate.positive(evidence=self.evidence)
        check_width(schema, _FEATURES)
        linear = LogisticLearner(
            steps=self.steps, learning_rate=self.learning_rate, clip=self.clip, arithmetic="exact"
        )
        recipe = linear.recipe(budget.epsilon)
        pairs = 0 if self._too_few(schema, budget) else pair_count(len(coarse_sizes(schema)))

        def of(sigma: float) -> BlockTraining:
            return BlockTraining.of(
                sigma, lambda noise: linear.full_batch(*recipe, noise), pairs, self.draws
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

    def _too_few(self, schema: Schema, budget: TrainingBudget) -> bool:
        """Whether so few records are declared that no pair is screened."""
        if schema.rows is None or self.evidence is None:
            return False
        return schema.rows * budget.share * budget.epsilon < _SMALL

    def train(
        self,
        plan: BlockTraining,
        records: Records,
        schema: Schema,
        receipt: Receipt,
        progress: Progress | None = None,
    ) -> BlockScorer:
        """The first steps, the screen, and then blocks or further steps."""
        check_width(schema, _FEATURES)
        # One optimizer for both parts of the descent: it remembers the size of the gradients.
        descended = partial(
            descend_full_batch,
            features=_FEATURES,
            schema=schema,
            records=records,
            optimizer=Adam(plan.first.learning_rate, decay=feature_decay(_FEATURES, schema)),
            receipt=receipt,
        )
        weights = descended(plan.first.descent, progress=progress)
        left, grouping, blocks, detail = plan.draws, None, list[Block](), MOST
        if plan.pairs:
            fit, detail = self._screened(plan, weights, records, schema, receipt)
            blocks, grouping = self._blocks(fit, detail), fit.grouping
            if blocks and interacts(fit.found, self.evidence or 0.0, LARGE_EFFECT):
                fit.visit_all(blocks, detail.pairs)
                return fit.scorer()
            left = fit.left
        steps = int(_LINEAR_PART * left) if blocks else left
        done = plan.first.descent.steps
        further = None if progress is None else lambda steps: progress(done + steps)
        if steps:
            weights = descended(plan.further(steps), start=weights, progress=further)
        linear = LinearScorer(schema, _FEATURES, weights)
        if grouping is None or not blocks:
            return BlockScorer(linear)
        fit = BlockFit(linear, grouping, records, receipt, left - steps, plan.multiplier)
        fit.visit_all(blocks, detail.pairs)
        return fit.scorer()

    def _blocks(self, fit: BlockFit, detail: Detail) -> list[Block]:
        """The blocks to visit, if pairs act jointly by what the best of them show again."""
        blocks = best_blocks(fit.found, detail)
        fit.confirm([block for block in blocks if len(block) == 2])
        if self.evidence is not None and not interacts(fit.found, self.evidence):
            return []
        return blocks

    def _screened(
        self,
        plan: BlockTraining,
        weights: NDArray[np.float64],
        records: Records,
        schema: Schema,
        receipt: Receipt,
    ) -> tuple[BlockFit, Detail]:
        """The linear model after its pairs were screened, and how fine its blocks are."""
        draw = receipt.draw(step_event(plan.mass_multiplier, 1.0, exact=True))
        sizes = [*coarse_sizes(schema).values()]
        counts = noisy_counts(draw, lambda: records.total(BinCounts(schema)), sizes)
        masses = [count.astype(np.float64) for count in counts]
        columns = coarse_weights(schema, weights)
        size = float(np.mean([mass.sum() for mass in masses]))
        detail = Detail.of(size / (SENSITIVITY * plan.screen_multiplier))
        grouping = Grouping.by_mass(schema, masses, columns, detail)
        linear = LinearScorer(schema, _FEATURES, weights)
        fit = BlockFit(linear, grouping, records, receipt, plan.draws, plan.multiplier)
        fit.screen(candidate_pairs(importance(masses, columns)), plan.screen_multiplier)
        return fit, detail

    def restore(self, schema: Schema, tensors: Tensors) -> BlockScorer:
        """The scorer of a file."""
        return BlockScorer.from_tensors(schema, _FEATURES, tensors)
