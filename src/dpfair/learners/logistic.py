"""Private logistic regression: full-batch noisy gradient descent, or the paper's DP-SGD."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from dpfair import validate
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.descent import (
    ARITHMETICS,
    Adam,
    Descent,
    FlatClip,
    GradientDescent,
    LogisticLoss,
    descend,
)
from dpfair.learners.exact import NORMS
from dpfair.learners.features import FEATURES, design, feature_decay
from dpfair.learners.full_batch import descend_full_batch
from dpfair.learners.protocols import Progress, Tensors, TrainingBudget
from dpfair.learners.scorer import LinearScorer, check_width
from dpfair.privacy.accountants import calibrate
from dpfair.privacy.events import DpEvent
from dpfair.privacy.ledger import Receipt

__all__ = [
    "PAPER_SETTINGS",
    "SOLVERS",
    "LogisticLearner",
    "LogisticSettings",
    "LogisticTraining",
]

SOLVERS = ("full_batch", "sgd")

# Section IV of the paper; the number of steps is epochs * ceil(rows / batch_size).
PAPER_SETTINGS: dict[str, Any] = {
    "solver": "sgd",
    "features": "standardised",
    "arithmetic": "float64",
    "learning_rate": 0.01,
    "clip": 1.5,
    "batch_size": 1024,
    "epochs": 50,
}


@dataclass(frozen=True)
class LogisticTraining:
    """A planned descent and the learning rate of its steps."""

    descent: Descent
    learning_rate: float

    @property
    def steps(self) -> int:
        """How many steps the descent has."""
        return self.descent.steps

    @property
    def event(self) -> DpEvent:
        """What the descent costs."""
        return self.descent.event


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticSettings:
    """How logistic regression is trained.

    Parameters
    ----------
    solver
        ``"full_batch"``: every step sees all records; Adam on the noisy gradient, mean of the
        last half of the iterates. It needs no public size. ``"sgd"``: DP-SGD with Poisson
        batches of expected size ``batch_size``; it needs ``schema.rows``.
    features
        ``"binned"`` or ``"standardised"``, see :func:`dpfair.learners.features.design`.
    steps, epochs
        The number of steps, or (``"sgd"``) of passes over the data; give one of the two at most.
        None for the recipe of the solver.
    learning_rate
        The size of a step. None for the recipe of the solver.
    clip
        The largest norm of a record's gradient. None for the recipe of the solver.
    batch_size
        The expected number of records of a step of ``"sgd"``. None for the recipe of the solver.
    noise_multiplier
        None for the smallest that the budget allows. Noise that is too small for the budget is
        refused when it is charged.
    arithmetic
        ``"exact"``: clipped gradients are rounded to a grid, and summed and protected in
        integers, see :mod:`dpfair.learners.exact`. ``"float64"``: faster, above all for
        ``"sgd"``, but the guarantee is that of the ideal Gaussian mechanism up to rounding, and
        an attacker who sees every digit of a noisy gradient may use the rounding.
    """

    solver: str = "full_batch"
    features: str = "binned"
    steps: int | None = None
    epochs: int | None = None
    learning_rate: float | None = None
    clip: float | None = None
    batch_size: int | None = None
    noise_multiplier: float | None = None
    arithmetic: str = "exact"


class LogisticLearner(LogisticSettings, BaseEstimator):  # type: ignore[misc]
    """Logistic regression by noisy gradient descent.

    Its parameters are those of :class:`LogisticSettings`.

    Privacy
    -------
    Each step releases a sum of gradients clipped to ``clip``, with Gaussian noise calibrated so
    that all steps together cost (epsilon, delta) by the PLD accountant. Exact arithmetic costs
    the same, by :mod:`dpfair.privacy.grid`.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> from dpfair.learners.protocols import TrainingBudget
    >>> budget = TrainingBudget(3.0, 1e-5, "add_remove")
    >>> LogisticLearner().plan(load_adult().schema, budget).descent.steps
    200
    """

    quick: ClassVar[dict[str, Any]] = {"steps": 4}

    @property
    def in_parts(self) -> bool:
        """Whether training only asks the records for sums of whole numbers."""
        return self.solver == "full_batch" and self.arithmetic == "exact"

    @property
    def uses_bins(self) -> bool:
        """Whether the bins of a column matter."""
        return self.features == "binned"

    def plan(self, schema: Schema, budget: TrainingBudget) -> LogisticTraining:
        """The run that a budget buys, before any record is read."""
        validate.one_of(SOLVERS, solver=self.solver)
        validate.one_of(FEATURES, features=self.features)
        validate.one_of(ARITHMETICS, arithmetic=self.arithmetic)
        if self.learning_rate is not None:
            validate.positive(learning_rate=self.learning_rate)
        if self.noise_multiplier is not None:
            validate.positive(noise_multiplier=self.noise_multiplier)
        for name in ("steps", "epochs", "batch_size"):
            if getattr(self, name) is not None:
                validate.at_least(1, **{name: getattr(self, name)})
        check_width(schema, self.features)
        if self.solver == "sgd":
            return self._sgd(schema, budget)
        steps, clip, rate = self.recipe(budget.epsilon)
        return self.full_batch(steps, clip, rate, self._noise_multiplier(budget, 1.0, steps))

    def recipe(self, epsilon: float) -> tuple[int, float, float]:
        """Steps, clipping norm and learning rate of full batches.

        Defaults were chosen on Adult and Credit Card with seeds that no reported figure uses.
        """
        steps = (100 if epsilon <= 1 else 200) if self.steps is None else self.steps
        clip = 0.4 if self.clip is None else self.clip
        validate.within(*NORMS, clip=clip)
        return steps, clip, self.learning_rate or 0.2

    def full_batch(
        self, steps: int, clip: float, rate: float, multiplier: float
    ) -> LogisticTraining:
        """A descent that sees all records in every step, with this much noise."""
        # Adam does not see the scale of the gradient; in units of the noise it is a plain number.
        descent = Descent(
            steps,
            1.0,
            multiplier,
            FlatClip(clip),
            divisor=multiplier * clip,
            average_last=0.5,
            arithmetic=self.arithmetic,
        )
        return LogisticTraining(descent, rate)

    def _sgd(self, schema: Schema, budget: TrainingBudget) -> LogisticTraining:
        if schema.rows is None:
            raise InputError(
                "DP-SGD needs the public size of the data: declare rows in the schema."
            )
        rows = schema.rows * budget.share
        batch = self.batch_size or PAPER_SETTINGS["batch_size"]
        epochs = self.epochs or PAPER_SETTINGS["epochs"]
        clip = PAPER_SETTINGS["clip"] if self.clip is None else self.clip
        validate.within(*NORMS, clip=clip)
        validate.positive(batch_size=batch)
        rate = min(1.0, batch / rows)
        steps = self.steps or epochs * math.ceil(rows / batch)
        descent = Descent(
            steps,
            rate,
            self._noise_multiplier(budget, rate, steps),
            FlatClip(clip),
            divisor=batch,
            arithmetic=self.arithmetic,
        )
        return LogisticTraining(descent, self.learning_rate or PAPER_SETTINGS["learning_rate"])

    def _noise_multiplier(self, budget: TrainingBudget, rate: float, steps: int) -> float:
        if self.noise_multiplier is not None:
            return self.noise_multiplier
        return calibrate(
            budget.epsilon,
            budget.delta,
            rate,
            steps,
            relation=budget.relation,
            other_events=budget.other_events,
            exact=self.arithmetic == "exact",
            stated=budget.stated,
        )

    def train(
        self,
        plan: LogisticTraining,
        records: Records,
        schema: Schema,
        receipt: Receipt,
        progress: Progress | None = None,
    ) -> LinearScorer:
        """Descend as planned."""
        optimizer = (
            GradientDescent(plan.learning_rate)
            if self.solver == "sgd"
            else Adam(plan.learning_rate, decay=feature_decay(self.features, schema))
        )
        if self.in_parts:
            weights = descend_full_batch(
                plan.descent,
                self.features,
                schema,
                records,
                optimizer=optimizer,
                receipt=receipt,
                progress=progress,
            )
            return LinearScorer(schema, self.features, weights)
        assert records.labels is not None
        at_once = max(1, int(plan.descent.sampling_rate * len(records)))
        rows = design(self.features, schema, records, at_once=at_once)
        start = None
        if self.solver == "sgd":
            # The paper's network starts as PyTorch's linear layers do, the other solver at zero.
            start = (2 * receipt.noise.uniforms(rows.width) - 1) / math.sqrt(rows.width - 1)
        weights = descend(
            plan.descent,
            rows,
            records.labels,
            records.groups,
            objective=LogisticLoss(),
            optimizer=optimizer,
            receipt=receipt,
            start=start,
            progress=progress,
        )
        return LinearScorer(schema, self.features, weights)

    def restore(self, schema: Schema, tensors: Tensors) -> LinearScorer:
        """The scorer of a file."""
        return LinearScorer.from_tensors(schema, self.features, tensors)
