"""DP-FERMI (Lowy, Gupta, Razaviyayn 2023): private training with a chi-square fairness penalty."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from dpfair import validate
from dpfair.certificate.claims import INFERRED_SCHEMA, Certificate, FairnessClaim, PrivacyClaim
from dpfair.data.schema import Schema
from dpfair.data.table import Records
from dpfair.data.tabular import TabularInput
from dpfair.errors import FairnessWarning, InputError
from dpfair.learners.descent import SAFETY, Answers, Batch, Descent, FlatClip, descend
from dpfair.learners.design import Design
from dpfair.learners.exact import NORMS
from dpfair.learners.features import design
from dpfair.learners.scorer import LinearScorer
from dpfair.methods.dp_fermi.penalty import FermiObjective, FermiPenalty, FermiSteps, project
from dpfair.methods.dp_fermi.reference import StatedNoise, train_reference
from dpfair.privacy.accountants import calibrate
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import DpEvent
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise, noise_source
from dpfair.privacy.payment import ChargeTo

__all__ = ["DPFermi"]

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]

TRAINING = "train the penalised model"
VARIANTS = ("tight", "paper", "reference")
NOTIONS = ("demographic_parity", "equalized_odds")


class DPFermi(TabularInput, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        *,
        weight: float = 1.0,
        variant: str = "tight",
        only_group: str | None = None,
        notion: str = "demographic_parity",
        schema: Schema | None = None,
        sensitive: str | int | None = None,
        relation: str = "add_remove",
        ledger: ChargeTo | str | Path | None = None,
        epochs: int = 50,
        batch_size: int = 1024,
        theta_rate: float = 0.005,
        dual_rate: float = 0.01,
        clip: float = 5.0,
        radius: float = 5.0,
        strict: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.weight = weight
        self.variant = variant
        self.only_group = only_group
        self.notion = notion
        self.schema = schema
        self.sensitive = sensitive
        self.relation = relation
        self.ledger = ledger
        self.epochs = epochs
        self.batch_size = batch_size
        self.theta_rate = theta_rate
        self.dual_rate = dual_rate
        self.clip = clip
        self.radius = radius
        self.strict = strict
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sensitive_features: Any = None) -> DPFermi:
        """Train the penalised model."""
        validate.one_of(VARIANTS, variant=self.variant)
        validate.one_of(NOTIONS, notion=self.notion)
        validate.within(*NORMS, clip=self.clip, radius=self.radius)
        validate.positive(
            batch_size=self.batch_size, theta_rate=self.theta_rate, dual_rate=self.dual_rate
        )
        validate.at_least(1, epochs=self.epochs)
        if not self.weight >= 0:
            raise InputError(f"Expected weight >= 0, got {self.weight}.")
        ledger = Ledger(
            self.epsilon, self.delta, relation=self.relation, noise=noise_source(self.random_state)
        )
        leak = "the published code is not" if self.variant == "reference" else ""
        payment = self._payment(ledger, X, leak=leak)
        records = self._training_records(X, y, sensitive_features).declared()
        if self.schema_.sensitive is None:
            warnings.warn(
                "No sensitive column given: nothing is penalised.", FairnessWarning, stacklevel=2
            )
        blind = replace(self.schema_, sensitive=None, crosses=())
        payment.pay()
        penalty = self._penalty(records, ledger)
        weights = self._train(design("standardised", blind, records), records, penalty, ledger)
        self.scorer_ = LinearScorer(blind, "standardised", weights)
        self.ledger_ = ledger
        self.certificate_ = self._certify(ledger)
        return self

    def planned_events(self, schema: Schema) -> list[tuple[str, str, DpEvent]]:
        """(scope, purpose, event) of what a fit will charge, before any record is read."""
        if self.variant != "tight" or schema.rows is None:
            raise InputError(
                "The cost of DP-FERMI is known beforehand only for variant='tight' and with rows "
                "declared in the schema."
            )
        rate = min(1.0, self.batch_size / schema.rows)
        plan = self._tight(float(self.epsilon), self.delta, rate, self._steps(schema.rows))
        return [("", TRAINING, plan.event)]

    def _steps(self, size: int) -> int:
        return self.epochs * math.ceil(max(size, 1) / self.batch_size)

    def _tight(self, epsilon: float, delta: float, rate: float, steps: int) -> Descent:
        multiplier = calibrate(epsilon, delta, rate, steps, relation=self.relation)
        return Descent(steps, rate, multiplier, FlatClip(self.clip), divisor=self.batch_size)

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> Float64:
        """The estimated probability of either class."""
        records = self._new_records(X, sensitive_features)
        scores = self.scorer_.scores(records)
        return np.stack([1 - scores, scores], axis=1)

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """The more probable class."""
        records = self._new_records(X, sensitive_features)
        return self.classes_[self.scorer_.positive(records)]

    def _penalty(self, records: Records, ledger: Ledger) -> FermiPenalty:
        """Shares are read off the records: the method takes them as public."""
        assert records.labels is not None
        groups = len(self.schema_.groups)
        odds = self.notion == "equalized_odds"
        labels = records.labels if odds else np.zeros_like(records.labels)
        counts = np.bincount(labels * groups + records.groups, minlength=groups * (1 + odds))
        counts = ledger.assume(Assumption(("group", "label") if odds else ("group",)), counts)
        table = np.maximum(counts.reshape(-1, groups), 1).astype(np.float64)
        by_label = table.sum(axis=1)
        only = None if self.only_group is None else self.schema_.groups.index(self.only_group)
        if self.variant == "reference" and only is None:
            only = int(records.groups[0]) if len(records) else 0
        return FermiPenalty(table / by_label[:, None], by_label / by_label.sum(), only)

    def _train(
        self, rows: Design, records: Records, penalty: FermiPenalty, ledger: Ledger
    ) -> Float64:
        assert records.labels is not None
        size = self.schema_.rows
        if size is None:
            [size] = ledger.assume(Assumption(), np.array([len(rows)])).tolist()
        steps = self._steps(size)
        stated = StatedNoise.for_budget(
            ledger.epsilon,
            ledger.delta,
            steps=steps,
            rows=max(size, 1),
            smallest_share=float(penalty.shares.min()),
            clip=self.clip,
            radius=self.radius,
        )
        if self.variant == "reference":
            return train_reference(
                rows,
                records.labels,
                records.groups,
                penalty,
                weight=self.weight,
                stated=stated,
                epochs=self.epochs,
                batch_size=self.batch_size,
                theta_rate=self.theta_rate,
                dual_rate=self.dual_rate,
                clip=self.clip,
                radius=self.radius,
                noise=ledger.noise,
            )
        objective, plan = self._plan(penalty, ledger, stated, steps, self.batch_size / max(size, 1))
        receipt = ledger.charge(plan.event, scope="", purpose=TRAINING)
        result = descend(
            plan,
            rows,
            records.labels,
            records.groups,
            objective=objective,
            optimizer=FermiSteps(rows.width, self.theta_rate, self.dual_rate, self.radius),
            receipt=receipt,
            start=self._start(rows.width, objective.extra_parameters, ledger.noise),
        )
        return result[: rows.width]

    def _plan(
        self, penalty: FermiPenalty, ledger: Ledger, stated: StatedNoise, steps: int, rate: float
    ) -> tuple[FermiObjective | _DualQuery, Descent]:
        rate = min(1.0, rate)
        if self.variant == "tight":
            plan = self._tight(ledger.epsilon, ledger.delta, rate, steps)
            return FermiObjective(penalty, self.weight), plan
        query = _DualQuery(
            penalty,
            weight=self.weight,
            rate=self.dual_rate,
            radius=self.radius,
            batch_size=self.batch_size,
            # The formula is for demographic parity; within a label, a record weighs 1 / P(y).
            stated=stated.dual / float(penalty.label_shares.min()),
            dual=project(ledger.noise.normals(penalty.size), self.radius),
        )
        plan = Descent(
            steps,
            rate,
            stated.theta * self.batch_size / self.clip,
            FlatClip(self.clip),
            divisor=self.batch_size,
            queries=(query,),
        )
        return query, plan

    def _start(self, width: int, extra: int, noise: Noise) -> Float64:
        """As the published code starts: a uniform theta and a normal W."""
        theta = (2 * noise.uniforms(width) - 1) / math.sqrt(width - 1)
        return np.concatenate([theta, project(noise.normals(extra), self.radius)])

    def _certify(self, ledger: Ledger) -> Certificate:
        groups = self.schema_.groups
        return Certificate(
            method=f"DP-FERMI ({self.variant})",
            privacy=PrivacyClaim.from_ledger(
                ledger,
                unit="every record",
                arithmetic="float64 Gaussian noise",
                assumed_public=self._assumed_public(),
                leaks=self._leaks(),
                records=self.schema_.rows,
            ),
            fairness=FairnessClaim.nothing(
                groups, "DP-FERMI penalises unfairness and bounds nothing"
            ),
        )

    def _assumed_public(self) -> Iterator[str]:
        yield "the schema (bounds, categories, label values, groups)"
        if self.schema_.rows is not None:
            yield f"the size of the data set ({self.schema_.rows} rows)"

    def _leaks(self) -> Iterator[str]:
        if self.variant == "reference":
            yield "the published code never clips a record's gradient, so its noise proves nothing"
            if self.only_group is None:
                yield "the published code penalises the group of the first record"
        if self.schema_.inferred:
            yield INFERRED_SCHEMA


@dataclass
class _DualQuery:
    """The stated algorithm: W ascends by its own noisy gradient, a query of the same batch.

    With ||W|| <= D, one record's d psi / d W has norm at most 2 (D + 1 / sqrt(rho)) / P(y). What is
    stated is a hair more, because the gradient is computed in float32.
    """

    penalty: FermiPenalty
    weight: float
    rate: float
    radius: float
    batch_size: int
    stated: float
    dual: Float64
    extra_parameters: int = 0

    @property
    def sensitivity(self) -> float:
        """The bound on one record's gradient by W."""
        bound = self.radius + 1 / math.sqrt(float(self.penalty.shares.min()))
        return 2 * bound / float(self.penalty.label_shares.min()) / SAFETY

    @property
    def noise_multiplier(self) -> float:
        """The stated noise in units of the sensitivity."""
        return self.stated * self.batch_size / self.sensitivity

    def __call__(self, batch: Batch) -> Float64:
        """The sum of the gradients by W."""
        _, by_dual = self.penalty.gradients(batch, self.dual)
        total: Float64 = by_dual.sum(axis=0, dtype=np.float64)
        return total

    def gradients(
        self, batch: Batch, extra: Float64, answers: Answers
    ) -> tuple[Float32, Float32 | None]:
        """d / d score of loss + lambda psi at the present W."""
        by_score, _ = self.penalty.gradients(batch, self.dual)
        return expit(batch.scores) - batch.labels + np.float32(self.weight) * by_score, None

    def dual_step(self, answers: Answers) -> None:
        """W ascends by the released answer."""
        ascent = self.weight * answers[0] / self.batch_size
        self.dual = project(self.dual + self.rate * ascent, self.radius)
