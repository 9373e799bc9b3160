"""The training of a method: its learner, its share of the budget, and what is found before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from dpfair.data.encode import completed
from dpfair.data.schema import Schema
from dpfair.discovery.discover import (
    FEWEST_ROWS,
    NAMING_SHARE,
    SHARE,
    Discovery,
    gaussian_precision,
    worth_binning,
)
from dpfair.errors import AccuracyWarning, InputError, warn
from dpfair.learners.logistic import LogisticLearner
from dpfair.learners.protocols import Learner, Scorer, Tensors, TrainingBudget
from dpfair.privacy.events import DpEvent, pure_epsilon
from dpfair.privacy.plan import Budget, FitPlan, Run, Step

__all__ = ["DISCOVER", "TRAIN", "TRAINING", "Training", "check_learner"]

TRAIN = "train"
"""The name of the step that trains, in every plan that has one."""

TRAINING = "train the scorer"

DISCOVER = "discover"
"""The name of the step that finds undeclared facts of the schema."""

DISCOVERING = "find undeclared facts of the columns"


class Training:
    """What methods use to train a scorer on columns whose facts may not all be declared."""

    schema_: Schema

    discovery_share: float = SHARE
    """The part of the training budget that finds undeclared facts of the schema."""

    finds_bins: ClassVar[bool] = False
    """Whether bins are found for columns whose bounds are declared; published methods have none."""

    default_learner: ClassVar[type[Learner]] = LogisticLearner
    """What trains the scorer if no learner is given."""

    stated_training: DpEvent | None = None
    """The event of a training that a file states, while it is checked; a fit finds its own."""

    @property
    def trains_in_parts(self) -> bool:
        """Whether the learner only asks the records for sums."""
        return bool(getattr(self.make_learner(), "in_parts", False))

    def make_learner(self) -> Learner:
        """What trains the scorer, for methods that use a learner."""
        learner: Learner | None = getattr(self, "learner", None)
        return self.default_learner() if learner is None else learner

    def restore(self, tensors: Tensors) -> Scorer:
        """The scorer of a file."""
        return self.make_learner().restore(self.schema_, tensors)

    def training_steps(
        self,
        schema: Schema,
        budget: Budget,
        *,
        epsilon: Fraction | None = None,
        scope: str = "",
        share: float = 1.0,
        others: Sequence[Step] = (),
    ) -> tuple[Step, ...]:
        """The step that trains the learner, with what the other steps of its scope leave.

        ``epsilon`` is what a record of the scope may cost in all; None: the whole budget. A step
        that finds undeclared facts of the schema in the same scope comes first, if it is needed.
        """
        most = float(budget.row_epsilon if epsilon is None else epsilon)
        events = [step.event for step in others if step.scope in ("", scope)]
        first = self._discovery_steps(schema, budget, most, scope, events)
        training = self.make_learner().plan(
            schema,
            TrainingBudget(
                most,
                budget.row_delta,
                budget.relation,
                share,
                (*(step.event for step in first), *events),
                self.stated_training,
            ),
        )
        return (*first, Step(TRAIN, scope, TRAINING, training.event, how=training))

    def _discovery_steps(
        self,
        schema: Schema,
        budget: Budget,
        epsilon: float,
        scope: str,
        others: Sequence[DpEvent],
    ) -> tuple[Step, ...]:
        binned = getattr(self.make_learner(), "uses_bins", True)
        fine = self.finds_bins and binned and self.discovery_share > 0 and worth_binning(schema)
        if schema.discovery is not None:
            fine = False  # one discovery for a schema: its file says which facts it found
            if schema.unbounded:
                names = ", ".join(repr(c.name) for c in schema.columns if c.unbounded)
                raise InputError(
                    "Facts of this schema were found by an earlier job, and it still leaves out "
                    f"bounds or categories of {names}. Declare them, or leave them out of the "
                    "schema that the job completes."
                )
        if not (schema.unbounded or fine):
            return ()
        if not 0 < self.discovery_share < 1:
            raise InputError("Expected a share in (0, 1) for finding bounds and categories.")
        pure = sum(float(spent) for event in others if (spent := pure_epsilon(event)) is not None)
        left = gaussian_precision(max(epsilon - pure, epsilon / 2), budget.row_delta)
        if budget.relation == "replace_one":  # it moves every count twice as far
            left /= 4
        found = Discovery(
            schema,
            precision=self.discovery_share * left,
            delta=NAMING_SHARE * budget.row_delta,
            fine=fine,
        )
        return (Step(DISCOVER, scope, DISCOVERING, found.event, how=found),)

    def train_scorer(self, records: Any, run: Run) -> Scorer:
        """Train the learner as planned on the records of a declared group and label."""
        chosen = records.declared()
        scorer = self.make_learner().train(
            run.plan[TRAIN].how, chosen, self.schema_, run[TRAIN], run.progress
        )
        chosen.forget()
        return scorer

    def discover(self, records: Any, run: Run) -> Any:
        """Complete the schema by what the training records show, and encode all records by it."""
        scope, found = run.plan[DISCOVER].scope, run.plan[DISCOVER].how
        part = records if scope == "" else run.parts(records)[scope]
        before, columns = self.schema_, found.find(part.declared(), run[DISCOVER]).columns
        self.schema_ = replace(before, columns=columns)
        return records.map(partial(completed, before=before, after=self.schema_))

    def warn_discovery(self, plan: FitPlan) -> None:
        """Say so if facts are found in few records."""
        rows = self.schema_.rows
        if DISCOVER in plan and rows is not None and rows < FEWEST_ROWS:
            warn(
                f"Bounds and categories are found with a part of the budget. With {rows} declared "
                "records that may cost more accuracy than it brings: declare what you know.",
                AccuracyWarning,
            )


def check_learner(learner: Any) -> None:
    """A classifier has methods of the same names as a learner, and they do something else."""
    fits = isinstance(learner, Learner) and not isinstance(learner, (type, Training))
    if learner is not None and not fits:
        kind = learner.__name__ if isinstance(learner, type) else type(learner).__name__
        raise InputError(f"Expected a learner such as LogisticLearner(), got {kind}.")
