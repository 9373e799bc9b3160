"""Private logistic regression with corrections for pairs and triples of columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from dpfair import validate
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.learners.block_fit import BlockFit
from dpfair.learners.block_scorer import BlockScorer
from dpfair.learners.descent import Adam, Descent, LogisticLoss, descend
from dpfair.learners.exact import MULTIPLIERS
from dpfair.learners.features import (
    coarse_codes,
    coarse_sizes,
    coarse_weights,
    design,
    feature_decay,
)
from dpfair.learners.grouping import Grouping
from dpfair.learners.logistic import LogisticLearner, LogisticTraining
from dpfair.learners.protocols import Progress, Tensors, TrainingBudget
from dpfair.learners.scorer import LinearScorer, check_width
from dpfair.learners.screening import (
    best_blocks,
    candidate_pairs,
    importance,
    interacts,
    pair_count,
)
from dpfair.privacy.accountants import calibrate_event
from dpfair.privacy.events import DpEvent, compose, gaussian_steps, step_event
from dpfair.privacy.histograms import noisy_histograms
from dpfair.privacy.ledger import Receipt

__all__ = ["BlockLearner", "BlockSettings", "BlockTraining"]

_FEATURES = "binned"

# Parts of the budget (of mu^2 in Gaussian privacy): linear steps before the screen, masses of the
# bins, and the screen. The draws after the screen get the rest.
_LINEAR_SHARE, _MASS_SHARE, _SCREEN_SHARE = 0.2, 0.02, 0.1


@dataclass(frozen=True)
class BlockTraining:
    """The draws of a run, in their order; the screen has a draw per pair, or there is none.

    Parameters
    ----------
    first
        The linear steps before the screen.
    pairs, mass_multiplier, screen_multiplier
        The number of screened pairs, and the noise on the histograms and on a screened pair.
    draws, multiplier
        The draws after the screen, which go on with the descent or visit blocks.
    """

    first: LogisticTraining
    pairs: int
    mass_multiplier: float
    screen_multiplier: float
    draws: int
    multiplier: float

    def __post_init__(self) -> None:
        validate.within(*MULTIPLIERS, multiplier=self.multiplier)
        validate.within(*MULTIPLIERS, mass_multiplier=self.mass_multiplier)
        validate.within(*MULTIPLIERS, screen_multiplier=self.screen_multiplier)

    @property
    def event(self) -> DpEvent:
        """The cost of all draws."""
        events = [self.first.event]
        if self.pairs:
            events.append(step_event(self.mass_multiplier, 1.0, exact=True))
            events.append(gaussian_steps(self.screen_multiplier, 1.0, self.pairs, exact=True))
        return compose([*events, gaussian_steps(self.multiplier, 1.0, self.draws, exact=True)])

    @property
    def rest(self) -> Descent:
        """The draws after the screen as steps that go on with the descent.

        Gradients are divided by the same number as before, so that the optimizer, which remembers
        their size, makes steps of the same length from less noise.
        """
        return replace(self.first.descent, steps=self.draws, noise_multiplier=self.multiplier)


@dataclass(eq=False, repr=False, kw_only=True)
class BlockSettings:
    """How the learner of blocks is trained.

    Parameters
    ----------
    steps
        The linear steps before pairs are screened.
    draws
        The noisy sums after that.
    evidence
        Blocks are used if the interaction of a pair has a score above this, in standard deviations
        of what chance would show; None to use them always.
    learning_rate, clip
        As in :class:`~dpfair.learners.logistic.LogisticSettings`.
    """

    steps: int = 50
    draws: int = 100
    evidence: float | None = 3.2
    learning_rate: float | None = None
    clip: float | None = None


class BlockLearner(BlockSettings, BaseEstimator):  # type: ignore[misc]
    r"""Private logistic regression, corrected for pairs and triples of columns that act jointly.

    1. A descent of a few steps on binned features, a fifth of the budget.
    2. Noisy histograms of all columns; they serve to join the bins of a column to at most six
       groups, and to weigh the importance of a column.
    3. *Screen*: up to 66 pairs, each visited once. A visit releases the sum of residuals and of
       Hessians of every cell and corrects the log-odds of its cells
       (:mod:`dpfair.learners.visits`), here by 0.3 of the posterior mean.
    4. If no pair shows an interaction, the corrections are dropped and the descent goes on with
       all that is left: the result is that of :class:`~dpfair.learners.logistic.LogisticLearner`
       with nine tenths of the budget. Otherwise the twelve best pairs and twenty triples of their
       columns are visited, and the best twelve of these once more.

    It learns what no sum of columns can express, such as a rule about two columns, from much less
    budget than :class:`~dpfair.learners.boosting.BoostingLearner`. Arithmetic is exact.

    Privacy
    -------
    All records enter every step. A gradient is clipped; a record lies in one bin of each of the D
    columns (sensitivity :math:`\sqrt D`) and in one cell of a block (:math:`\sqrt{1/4 + 1/64}`).
    The numbers of draws and their noise multipliers follow from the settings and from D. What the
    draws are used for follows from earlier answers: an adaptive composition of Gaussians with
    multipliers fixed beforehand, calibrated by the PLD accountant.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> from dpfair.learners.protocols import TrainingBudget
    >>> plan = BlockLearner().plan(load_adult().schema, TrainingBudget(3.0, 1e-5, "add_remove"))
    >>> plan.pairs, plan.draws
    (66, 100)
    """

    quick: ClassVar[dict[str, Any]] = {"steps": 3, "draws": 45, "evidence": None}

    def plan(self, schema: Schema, budget: TrainingBudget) -> BlockTraining:
        """The draws that a budget buys; of the schema, only the number of columns matters."""
        validate.at_least(1, steps=self.steps, draws=self.draws)
        if self.learning_rate is not None:
            validate.positive(learning_rate=self.learning_rate)
        if self.evidence is not None:
            validate.positive(evidence=self.evidence)
        check_width(schema, _FEATURES)
        linear = LogisticLearner(
            steps=self.steps, learning_rate=self.learning_rate, clip=self.clip, arithmetic="exact"
        )
        recipe = linear.recipe(budget.epsilon)
        pairs = pair_count(len(coarse_sizes(schema)))
        rest = 1 - _LINEAR_SHARE - (_MASS_SHARE + _SCREEN_SHARE if pairs else 0.0)

        def of(sigma: float) -> BlockTraining:
            # Together all draws are as informative as one Gaussian with this multiplier.
            return BlockTraining(
                linear.full_batch(*recipe, sigma * math.sqrt(self.steps / _LINEAR_SHARE)),
                pairs,
                sigma * math.sqrt(1 / _MASS_SHARE),
                sigma * math.sqrt(max(pairs, 1) / _SCREEN_SHARE),
                self.draws,
                sigma * math.sqrt(self.draws / rest),
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
        plan: BlockTraining,
        records: Records,
        schema: Schema,
        receipt: Receipt,
        progress: Progress | None = None,
    ) -> BlockScorer:
        """The first steps, the screen, and then blocks or further steps."""
        assert records.labels is not None
        check_width(schema, _FEATURES)
        # One optimizer for both parts of the descent: it remembers the size of the gradients.
        descended = partial(
            descend,
            design=design(_FEATURES, schema, records),
            labels=records.labels,
            groups=records.groups,
            objective=LogisticLoss(),
            optimizer=Adam(plan.first.learning_rate, decay=feature_decay(_FEATURES, schema)),
            receipt=receipt,
        )
        weights = descended(plan.first.descent, progress=progress)
        if plan.pairs:
            fit = self._screened(plan, weights, records, schema, receipt)
            if self.evidence is None or interacts(fit.found, self.evidence):
                fit.visit_all(best_blocks(fit.found), plan.draws, plan.multiplier)
                return fit.scorer()
        done = plan.first.descent.steps
        further = None if progress is None else lambda steps: progress(done + steps)
        weights = descended(plan.rest, start=weights, progress=further)
        return BlockScorer(LinearScorer(schema, _FEATURES, weights))

    def _screened(
        self,
        plan: BlockTraining,
        weights: NDArray[np.float64],
        records: Records,
        schema: Schema,
        receipt: Receipt,
    ) -> BlockFit:
        """The linear model after its pairs were screened."""
        draw = receipt.draw(step_event(plan.mass_multiplier, 1.0, exact=True))
        codes = [*coarse_codes(schema, records).values()]
        counts = noisy_histograms(draw, codes, [*coarse_sizes(schema).values()])
        masses = [count.astype(np.float64) for count in counts]
        columns = coarse_weights(schema, weights)
        grouping = Grouping.by_mass(schema, masses, columns)
        fit = BlockFit(LinearScorer(schema, _FEATURES, weights), grouping, records, receipt)
        fit.screen(candidate_pairs(importance(masses, columns)), plan.screen_multiplier)
        return fit

    def restore(self, schema: Schema, tensors: Tensors) -> BlockScorer:
        """The scorer of a file."""
        return BlockScorer.from_tensors(schema, _FEATURES, tensors)
