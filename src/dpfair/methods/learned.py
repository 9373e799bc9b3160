"""Methods that only train: a learner's scores, accepted above one half."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.learners.protocols import Learner
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.fitted import Fitted
from dpfair.privacy.assumptions import Facts
from dpfair.privacy.plan import Budget, FitPlan, Run

__all__ = ["LearnedClassifier"]


class LearnedClassifier(PrivateClassifier):
    """A private classifier whose whole budget trains one learner on all records.

    The parameters of the learner are parameters of the method.
    """

    learner_class: ClassVar[type[Any]]

    def make_learner(self) -> Learner:
        """The learner with the parameters of the same names."""
        names = [part.name for part in fields(self.learner_class)]
        learner: Learner = self.learner_class(**{name: getattr(self, name) for name in names})
        return learner

    @property
    def in_parts(self) -> bool:  # type: ignore[override]
        """Whether a fit only asks the records for sums."""
        return self.trains_in_parts

    def make_plan(self, schema: Schema, budget: Budget, facts: Facts) -> FitPlan:
        """One step."""
        return FitPlan(budget, self.training_steps(schema, budget))

    def train(self, records: Records, run: Run) -> Fitted:
        """Train on all records of a declared group and label."""
        return Fitted(self.train_scorer(records, run))
