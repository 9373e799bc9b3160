"""Jobs around a model: paying from a ledger file, searching, batches and evaluations.

A job that is not an estimator is wrapped in one, whose ``fit`` does the job.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from dpfair.audit.catalogue.fair import ROWS_OF_A_PERSON, fair_model
from dpfair.audit.catalogue.method import BUDGET, Method, small_model, with_notion
from dpfair.audit.differences import PerRecord
from dpfair.audit.sample import PERSON, sample_records, table_of
from dpfair.data.schema import Schema
from dpfair.errors import FairnessWarning
from dpfair.evaluation import evaluate_privately
from dpfair.fairness.notions import NOTIONS
from dpfair.learners.logistic import LogisticLearner
from dpfair.methods.fair_classifier import PrivateFairClassifier
from dpfair.methods.logistic_regression import PrivateLogisticRegression
from dpfair.methods.search import PrivateSearchCV
from dpfair.privacy.assumptions import NO_FACTS, Facts
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.noise import Noise
from dpfair.privacy.payment import Payment
from dpfair.privacy.plan import FitPlan, Run

__all__ = ["JOBS", "PaidFromFile", "PaidRegression", "PrivateBatch", "PrivateEvaluation"]


class _AsIfSecure:
    """Noise that an audit records, marked as secure because a ledger file requires secure noise."""

    secure = True

    def __init__(self, own: Noise) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


class PaidRegression(PrivateLogisticRegression):
    """Logistic regression without the row that paid for it, whose hash differs in every fit."""

    def payment(
        self, plan: FitPlan, schema: Schema, noise: Noise | None = None, unit: str | None = None
    ) -> Payment:
        """A payment as if the noise were secure."""
        return super().payment(plan, schema, cast(Noise, _AsIfSecure(cast(Noise, noise))), unit)

    def learn(self, records: Any, run: Run) -> None:
        """Remove the row and train."""
        run.ledger.row = None
        super().learn(records, run)


class PaidFromFile:
    """A model that a new ledger file pays for, with all rows of the file as output."""

    def __init__(self, model: PrivateLogisticRegression) -> None:
        self.model = model

    def plan(self, schema: Schema | None = None, facts: Facts = NO_FACTS) -> FitPlan:
        """The plan of the model."""
        return self.model.plan(schema, facts)

    def fit(self, X: Any, y: Any) -> PaidFromFile:
        """Fit, and store the rows of the file without their times."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "audit.ledger"
            file = LedgerFile.create(path, 2 * BUDGET, 1e-5, relation=self.model.relation)
            try:
                self.model.set_params(ledger=path).fit(X, y)
            finally:
                self.model.set_params(ledger=None)
                self.rows_ = [json.loads(json.loads(row)["body"]) for row in file.export()]
                file.close()
        for row in self.rows_:
            del row["time"]
        self.ledger_ = self.model.ledger_
        return self


def _paid(schema: Schema, relation: str) -> Any:
    return PaidFromFile(small_model(PaidRegression, schema, relation))


def _search(schema: Schema, relation: str) -> Any:
    # Noise that needs no calibration: planning a search tries dozens of budgets.
    template = PrivateLogisticRegression(steps=3, noise_multiplier=4.0, relation=relation)
    grid = {"clip": [0.3, 1.0]}
    return PrivateSearchCV(template, grid, epsilon=2 * BUDGET, mean_runs=1.5, schema=schema)


def _search_fair(schema: Schema, relation: str) -> Any:
    learner = LogisticLearner(steps=3, noise_multiplier=8.0)
    template = fair_model(schema, relation, learner=learner, notion="equalized_odds", tolerance=0.2)
    grid = {"rule__costs": [(1, 1), (1, 2)]}
    return PrivateSearchCV(template, grid, epsilon=2 * BUDGET, mean_runs=1.5, schema=schema)


class PrivateBatch:
    """Decisions about a private batch by a public model; ``fit`` makes the decisions."""

    def __init__(self, model: PrivateFairClassifier, epsilon: float | None) -> None:
        self.model, self.epsilon = model, epsilon

    def fit(self, X: Any, y: Any = None) -> PrivateBatch:
        """Decide about the batch; each decision goes to the owner of the record."""
        batch = self.model.decide_batch(X, epsilon=self.epsilon)
        self.decisions_ = PerRecord(batch.decisions)
        self.cuts_, self.gap_bound_, self.protects_ = batch.cuts, batch.gap_bound, batch.protects
        self.ledger_ = batch.ledger
        return self


def _batch(schema: Schema, relation: str) -> Any:
    return PrivateBatch(_public_model(schema, relation, 1), epsilon=1.0)


def _batch_persons(schema: Schema, relation: str) -> Any:
    return PrivateBatch(_public_model(schema, relation, ROWS_OF_A_PERSON), epsilon=3.0)


class PrivateEvaluation:
    """Metrics of a public model on private records; ``fit`` computes them."""

    def __init__(self, model: PrivateFairClassifier, epsilon: float) -> None:
        self.model, self.epsilon = model, epsilon

    def fit(self, X: Any, y: Any) -> PrivateEvaluation:
        """Release the metrics."""
        self.metrics_ = evaluate_privately(self.model, X, y, epsilon=self.epsilon)
        self.ledger_ = self.metrics_.ledger
        return self


def _evaluations() -> Iterator[Method]:
    """With each notion of the model, which is that of the metrics."""
    for notion in NOTIONS:

        def make(schema: Schema, relation: str, notion: str = notion) -> Any:
            return PrivateEvaluation(_public_model(schema, relation, 1, notion), epsilon=1.0)

        what = "Accuracy and gap of a public model on private records"
        yield with_notion("evaluation", what, notion, make)


def _evaluation_persons(schema: Schema, relation: str) -> Any:
    return PrivateEvaluation(_public_model(schema, relation, ROWS_OF_A_PERSON), epsilon=3.0)


@lru_cache(maxsize=32)
def _public_model(
    schema: Schema, relation: str, rows_per_unit: int, notion: str = "demographic_parity"
) -> PrivateFairClassifier:
    """Fitted on public records."""
    person = None if rows_per_unit == 1 else PERSON
    settings = {"unit": person, "rows_per_unit": rows_per_unit, "mode": "reuse", "notion": notion}
    # Half are accepted, so that the decisions depend on the record.
    model = fair_model(schema, relation, target=0.5, random_state=1, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        return model.fit(*table_of(schema, sample_records(schema, 200, seed=5)))


JOBS = (
    Method("logistic-paid", "Logistic regression that a ledger file pays for", _paid),
    Method("search", "The best of several logistic regressions", _search),
    Method("search-fair", "The best of several certified classifiers", _search_fair),
    Method("batch", "Decisions about a private batch", _batch, refuses_unknown_groups=True),
    Method(
        "batch-persons",
        "Decisions about a private batch of persons with several records",
        _batch_persons,
        rows_per_unit=ROWS_OF_A_PERSON,
        refuses_unknown_groups=True,
    ),
    *_evaluations(),
    Method(
        "evaluation-persons",
        "Metrics of a public model on persons with several records",
        _evaluation_persons,
        rows_per_unit=ROWS_OF_A_PERSON,
    ),
)
