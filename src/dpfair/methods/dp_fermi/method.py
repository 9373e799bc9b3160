"""DP-FERMI (Lowy, Gupta, Razaviyayn 2023): private training with a chi-square fairness penalty."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.certificate.privacy import PrivacyClaim
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.learners.descent import Descent, FlatClip, descend
from dpfair.learners.design import Design
from dpfair.learners.exact import NORMS
from dpfair.learners.features import design
from dpfair.learners.protocols import Tensors
from dpfair.learners.scorer import LinearScorer, check_width
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.dp_fermi.penalty import (
    DualQuery,
    FermiObjective,
    FermiPenalty,
    FermiSteps,
    project,
)
from dpfair.methods.dp_fermi.reference import StatedNoise, train_reference
from dpfair.methods.fitted import Fitted
from dpfair.methods.training import TRAIN
from dpfair.privacy.accountants import calibrate
from dpfair.privacy.assumptions import Assumption, Facts
from dpfair.privacy.noise import Noise
from dpfair.privacy.plan import Budget, FitPlan, Run, Step

__all__ = ["DPFermi"]

Float64 = NDArray[np.float64]

TRAINING = "train the penalised model"
VARIANTS = ("tight", "paper", "reference")
NOTIONS = ("demographic_parity", "equalized_odds")
SIZE = Assumption()


@dataclass(eq=False, repr=False)
class DPFermi(PrivateClassifier):
    """Logistic regression with a differentially private fairness penalty.

    Parameters
    ----------
    epsilon, delta
        The privacy budget of one fit.
    weight
        The paper's lambda: how much unfairness costs.
    variant
        ``"tight"``: gradients of theta and W clipped jointly, one Poisson-sampled Gaussian, PLD.
        ``"paper"``: the stated noise on separately bounded gradients; the ledger shows what
        it really costs, which is far less than epsilon.
        ``"reference"``: what the published code does; **not private as coded**.
    only_group
        Penalise one group only, as the published code does with the first group of its
        training file. None penalises all groups (``"reference"`` then takes the first record's).
    notion
        ``"demographic_parity"`` or ``"equalized_odds"``.
    schema, sensitive, relation, ledger, strict, random_state
        As in :class:`dpfair.PrivateFairClassifier`.
    epochs, batch_size, theta_rate, dual_rate, clip, radius
        The settings of the published experiments.

    Privacy
    -------
    As the method assumes, the number of records of each group is public, for equalized odds that of
    each group and label: the penalty and the stated noise use their shares P(s), or P(s | y) and
    P(y). So is the size of the data set, which is ``schema.rows`` if declared. Nothing else is read
    but through noisy sums.

    Examples
    --------
    >>> from dpfair import load_adult
    >>> data = load_adult()
    >>> model = DPFermi(3, weight=1.0, schema=data.schema, epochs=2).fit(data.X, data.y)
    >>> model.certificate_.fairness.certified
    False
    """

    without_groups = "No sensitive column given: nothing is penalised."
    no_claim = "DP-FERMI penalises unfairness and bounds nothing"
    encodings = frozenset({"standardised"})
    quick: ClassVar[dict[str, Any]] = {"epochs": 4, "batch_size": 100}

    _: KW_ONLY
    weight: float = 1.0
    variant: str = "tight"
    only_group: str | None = None
    notion: str = "demographic_parity"
    epochs: int = 50
    batch_size: int = 1024
    theta_rate: float = 0.005
    dual_rate: float = 0.01
    clip: float = 5.0
    radius: float = 5.0

    def check_parameters(self) -> None:
        """Raise ``InputError`` for parameters that no fit can have."""
        super().check_parameters()
        validate.one_of(VARIANTS, variant=self.variant)
        validate.one_of(NOTIONS, notion=self.notion)
        validate.within(*NORMS, clip=self.clip, radius=self.radius)
        validate.positive(
            batch_size=self.batch_size, theta_rate=self.theta_rate, dual_rate=self.dual_rate
        )
        validate.at_least(1, epochs=self.epochs)
        if not self.weight >= 0:
            raise InputError(f"Expected weight >= 0, got {self.weight}.")

    @property
    def title(self) -> str:
        """The method, as certificates name it."""
        return f"DP-FERMI ({self.variant})"

    def leaks(self, schema: Schema | None) -> list[str]:
        """What is read without being paid for."""
        found = []
        if self.variant == "reference":
            found.append(
                "the published code never clips a record's gradient, so its noise proves nothing"
            )
            if self.only_group is None:
                found.append("the published code penalises the group of the first record")
        return found + super().leaks(schema)

    def privacy(self) -> PrivacyClaim:
        """What the ledger paid for; the published code adds noise that nobody accounts for."""
        return replace(super().privacy(), arithmetic="float64 Gaussian noise")

    @property
    def _shares_fact(self) -> Assumption:
        """What the penalty takes as public."""
        return Assumption(("group", "label") if self.notion == "equalized_odds" else ("group",))

    def assumes(self, schema: Schema) -> tuple[Assumption, ...]:
        """The stated noise depends on the groups' shares, and all noise on the size."""
        if self.variant == "tight" and schema.rows is not None:
            return ()
        return self.public_facts(schema)

    def public_facts(self, schema: Schema) -> tuple[Assumption, ...]:
        """The shares that the penalty uses, and the size unless it is declared."""
        return (self._shares_fact, *(() if schema.rows is not None else (SIZE,)))

    def make_plan(self, schema: Schema, budget: Budget, facts: Facts) -> FitPlan:
        """One descent; the published code has no step that is private."""
        if not (self.only_group is None or self.only_group in schema.groups):
            raise InputError(f"There is no group {self.only_group!r} to penalise.")
        check_width(schema, "standardised")
        if self.variant == "reference":
            return FitPlan(budget, ())
        size = schema.rows if schema.rows is not None else int(facts[SIZE][0])
        rate, steps = min(1.0, self.batch_size / max(size, 1)), self._steps(size)
        if self.variant == "tight":
            multiplier = calibrate(
                float(budget.epsilon),
                budget.delta,
                rate,
                steps,
                relation=budget.relation,
                stated=self.stated_training,
            )
            descent = Descent(steps, rate, multiplier, FlatClip(self.clip), divisor=self.batch_size)
        else:
            descent = self._stated_descent(schema, budget, facts, rate, steps, size)
        return FitPlan(budget, (Step(TRAIN, "", TRAINING, descent.event, how=descent),))

    def train(self, records: Records, run: Run) -> Fitted:
        """Train the penalised model without the group as a feature."""
        records, schema = records.declared(), self.schema_
        assert records.labels is not None
        counts = run.assume(
            self._shares_fact, records.counts(self._shares_fact.by, len(schema.groups))
        )
        penalty = self._penalty(counts, schema)
        if self.variant == "reference" and penalty.only_group is None:
            first = int(records.groups[0]) if len(records) else 0
            penalty = replace(penalty, only_group=first)
        blind = replace(schema, sensitive=None, crosses=())
        rows = design("standardised", blind, records)
        if self.variant == "reference":
            weights = self._train_reference(rows, records, penalty, run)
        else:
            weights = self._descend(rows, records, penalty, run)
        return Fitted(LinearScorer(blind, "standardised", weights))

    def restore(self, tensors: Tensors) -> LinearScorer:
        """The scorer of a file."""
        blind = replace(self.schema_, sensitive=None, crosses=())
        return LinearScorer.from_tensors(blind, "standardised", tensors)

    def _steps(self, size: int) -> int:
        return self.epochs * math.ceil(max(size, 1) / self.batch_size)

    def _penalty(self, counts: NDArray[np.int64], schema: Schema) -> FermiPenalty:
        """The penalty for group shares that are taken as public."""
        table = np.maximum(counts.reshape(-1, len(schema.groups)), 1).astype(np.float64)
        by_label = table.sum(axis=1)
        only = None if self.only_group is None else schema.groups.index(self.only_group)
        return FermiPenalty(table / by_label[:, None], by_label / by_label.sum(), only)

    def _stated(self, budget: Budget, penalty: FermiPenalty, size: int) -> StatedNoise:
        return StatedNoise.for_budget(
            float(budget.epsilon),
            budget.delta,
            steps=self._steps(size),
            rows=max(size, 1),
            smallest_share=float(penalty.shares.min()),
            clip=self.clip,
            radius=self.radius,
        )

    def _stated_descent(
        self, schema: Schema, budget: Budget, facts: Facts, rate: float, steps: int, size: int
    ) -> Descent:
        penalty = self._penalty(facts[self._shares_fact], schema)
        stated = self._stated(budget, penalty, size)
        query = DualQuery(
            penalty,
            weight=self.weight,
            rate=self.dual_rate,
            radius=self.radius,
            batch_size=self.batch_size,
            # The formula is for demographic parity; within a label, a record weighs 1 / P(y).
            stated=stated.dual / float(penalty.label_shares.min()),
            dual=np.zeros(penalty.size),
        )
        return Descent(
            steps,
            rate,
            stated.theta * self.batch_size / self.clip,
            FlatClip(self.clip),
            divisor=self.batch_size,
            queries=(query,),
        )

    def _descend(self, rows: Design, records: Records, penalty: FermiPenalty, run: Run) -> Float64:
        descent: Descent = run.plan[TRAIN].how
        objective: FermiObjective | DualQuery = FermiObjective(penalty, self.weight)
        if self.variant == "paper":
            [query] = descent.queries
            assert isinstance(query, DualQuery)
            query = replace(query, dual=project(run.noise.normals(penalty.size), self.radius))
            descent, objective = replace(descent, queries=(query,)), query
        assert records.labels is not None
        result = descend(
            descent,
            rows,
            records.labels,
            records.groups,
            objective=objective,
            optimizer=FermiSteps(rows.width, self.theta_rate, self.dual_rate, self.radius),
            receipt=run[TRAIN],
            start=self._start(rows.width, objective.extra_parameters, run.noise),
        )
        return result[: rows.width]

    def _start(self, width: int, extra: int, noise: Noise) -> Float64:
        """As the published code starts: a uniform theta and a normal W."""
        theta = (2 * noise.uniforms(width) - 1) / math.sqrt(width - 1)
        return np.concatenate([theta, project(noise.normals(extra), self.radius)])

    def _train_reference(
        self, rows: Design, records: Records, penalty: FermiPenalty, run: Run
    ) -> Float64:
        assert records.labels is not None
        size = self.schema_.rows
        if size is None:
            size = int(run.ledger.facts[SIZE][0])
        return train_reference(
            rows,
            records.labels,
            records.groups,
            penalty,
            weight=self.weight,
            stated=self._stated(run.plan.budget, penalty, size),
            epochs=self.epochs,
            batch_size=self.batch_size,
            theta_rate=self.theta_rate,
            dual_rate=self.dual_rate,
            clip=self.clip,
            radius=self.radius,
            noise=run.noise,
        )
