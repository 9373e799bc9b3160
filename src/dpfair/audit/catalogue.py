"""Every method that claims privacy, small enough that one fit takes milliseconds.

An entry makes an unfitted model for a schema and a relation; audits know nothing else about it. A
model has ``fit(X, y)``, says what it paid in ``ledger_``, and may have ``predict``,
``predict_proba``, ``planned_events`` and ``certificate_``. What is no estimator is wrapped in one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dpfair.audit.differences import PerRecord
from dpfair.audit.sample import PERSON, sample_records, table_of
from dpfair.data.schema import Schema
from dpfair.data.table import get_column, numbers
from dpfair.errors import FairnessWarning
from dpfair.evaluation import evaluate_privately
from dpfair.fairness.notions import NOTIONS
from dpfair.learners.boosting import PrivateBoosting
from dpfair.learners.logistic import PrivateLogisticRegression
from dpfair.methods.algorithm2 import paper_algorithm2
from dpfair.methods.dp_fermi.method import DPFermi
from dpfair.methods.fair_classifier import PrivateFairClassifier
from dpfair.methods.post_processor import FairPostProcessor
from dpfair.methods.search import PrivateSearchCV
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.ledger_file.file import LedgerFile
from dpfair.privacy.payment import Payment

__all__ = ["CATALOGUE", "Method"]

BUDGET = 3.0
ROWS_OF_A_PERSON = 3

# So many that certified thresholds are placed, not corrected, at this budget (division.corrects).
MANY = 150_000

# What the names of entries say of the notion.
_SHORT = {
    "demographic_parity": "",
    "equal_opportunity": "-opportunity",
    "equalized_odds": "-odds",
    "accuracy_parity": "-accuracy",
    "parity_ratio": "-ratio",
}


@dataclass(frozen=True)
class Method:
    """One entry of the catalogue.

    Parameters
    ----------
    name, description
        For people.
    make
        Makes an unfitted model from a schema and a relation.
    rows_per_unit
        How many records of a person count; more than 1 if whole persons are protected.
    refuses_unknown_groups
        Whether a record of no declared group is an error by design: such a record cannot be
        decided about, and is no neighbour.
    variant_of
        The entry that differs from this one in its notion only; tests may then look at fewer
        tables.
    """

    name: str
    description: str
    make: Callable[[Schema, str], Any]
    rows_per_unit: int = 1
    refuses_unknown_groups: bool = False
    variant_of: str = ""


def _with_notion(
    name: str, description: str, notion: str, make: Callable[[Schema, str], Any]
) -> Method:
    """An entry for one notion; that for demographic parity has the plain name."""
    short = _SHORT[notion]
    what = f"{description}: {NOTIONS[notion].title}"
    return Method(f"{name}{short}", what, make, variant_of=name if short else "")


def _learner(**settings: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(**{"steps": 4} | settings)


def _sgd(**settings: Any) -> PrivateLogisticRegression:
    # Enough noise: to calibrate that of sampled batches takes the accountant a second.
    learner = PrivateLogisticRegression(solver="sgd", features="standardised", noise_multiplier=8)
    learner.set_params(**{"steps": 6, "batch_size": 20, "arithmetic": "float64"} | settings)
    return learner


def _fair(schema: Schema, relation: str, **settings: Any) -> PrivateFairClassifier:
    model = PrivateFairClassifier(BUDGET, schema=schema, relation=relation, smallest_group=4)
    model.set_params(**{"learner": _learner()} | settings)
    return model


def _logistic(schema: Schema, relation: str, **settings: Any) -> Any:
    settings = {"arithmetic": "float64"} | settings
    return _learner(epsilon=BUDGET, schema=schema, relation=relation, **settings)


def _logistic_sgd(schema: Schema, relation: str, **settings: Any) -> Any:
    return _sgd(epsilon=BUDGET, schema=schema, relation=relation, **settings)


def _boosting(schema: Schema, relation: str, arithmetic: str = "float64") -> Any:
    few = {"steps": 3, "trees": 4, "depth": 2}
    model = PrivateBoosting(BUDGET, schema=schema, relation=relation, arithmetic=arithmetic)
    return model.set_params(**few)


def _paper(schema: Schema, relation: str) -> Any:
    model = paper_algorithm2(BUDGET, 1e-5, schema=schema, release_epsilon=0.5)
    return model.set_params(relation=relation, learner=_sgd())


class FirstNumber:
    """A public classifier: positive from the middle of the first number's bounds on."""

    def __init__(self, schema: Schema) -> None:
        self.column = schema.numeric[0]
        self.classes_ = np.array([0, 1])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """0 or 1; what is no number is 0."""
        values = numbers(get_column(X, self.column.name))
        return np.asarray(values >= self.column.standard[0], dtype=np.int64)


def _post(schema: Schema, relation: str, *, public_sizes: bool = False) -> Any:
    assert schema.sensitive is not None
    return FairPostProcessor(
        FirstNumber(schema),
        BUDGET,
        sensitive=schema.sensitive.name,
        groups=schema.groups,
        held_out=True,
        public_sizes=public_sizes,
        relation=relation,
    )


def _fermi(schema: Schema, relation: str, **settings: Any) -> Any:
    # Batches of everybody, whose noise is calibrated at once.
    settings = {"epsilon": BUDGET, "epochs": 4, "batch_size": schema.rows or 100} | settings
    return DPFermi(schema=schema, relation=relation, **settings)


def _fermi_paper(schema: Schema, relation: str, **settings: Any) -> Any:
    few = {"variant": "paper", "epsilon": 0.25, "epochs": 1, "batch_size": 8}
    return _fermi(schema, relation, **few | settings)


def _search(schema: Schema, relation: str) -> Any:
    # Noise that needs no calibration: planning a search tries dozens of budgets.
    template = PrivateLogisticRegression(steps=3, noise_multiplier=4.0, relation=relation)
    grid = {"clip": [0.3, 1.0]}
    return PrivateSearchCV(template, grid, epsilon=2 * BUDGET, mean_runs=1.5, schema=schema)


def _search_fair(schema: Schema, relation: str) -> Any:
    learner = _learner(steps=3, noise_multiplier=8.0)
    template = _fair(schema, relation, learner=learner, notion="equalized_odds", tolerance=0.2)
    grid = {"costs": [(1, 1), (1, 2)]}
    return PrivateSearchCV(template, grid, epsilon=2 * BUDGET, mean_runs=1.5, schema=schema)


def _persons(schema: Schema, relation: str) -> Any:
    return _fair(schema, relation, unit=PERSON, rows_per_unit=ROWS_OF_A_PERSON)


def _intersection(schema: Schema, relation: str) -> Any:
    assert schema.sensitive is not None
    columns = [*schema.sensitive.column_names, schema.categorical[-1].name]
    settings = {"sensitive": list(dict.fromkeys(columns)), "tolerance": 0.1, "mode": "reuse"}
    return _fair(schema, relation, **settings)


class _AsIfSecure:
    """The ledger of a fit that an audit listens to: a file would not pay for the audit's noise.

    The hash of the row that pays is another one in every fit, so it stays here.
    """

    private = True

    def __init__(self, own: Ledger) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


class _PaidRegression(PrivateLogisticRegression):
    def _payment(self, own: Ledger, X: Any, *, leak: str = "") -> Payment:
        return super()._payment(cast(Ledger, _AsIfSecure(own)), X, leak=leak)


class PaidFromFile:
    """A model that a new ledger file pays for; whoever may read the file sees all its rows."""

    def __init__(self, model: PrivateLogisticRegression) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> PaidFromFile:
        """Fit, and keep what the file says, but for the time."""
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
    learner = _PaidRegression(BUDGET, schema=schema, relation=relation, steps=4)
    return PaidFromFile(learner)


class PrivateBatch:
    """Decisions about a private batch by a model that is public: its fit decides."""

    def __init__(self, model: PrivateFairClassifier, epsilon: float) -> None:
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
    """How well a public model does on private records: its fit counts."""

    def __init__(self, model: PrivateFairClassifier, epsilon: float) -> None:
        self.model, self.epsilon = model, epsilon

    def fit(self, X: Any, y: Any) -> PrivateEvaluation:
        """Release the metrics."""
        self.metrics_ = evaluate_privately(self.model, X, y, epsilon=self.epsilon)
        self.ledger_ = self.metrics_.ledger
        return self


def _evaluations() -> Iterator[Method]:
    """With each notion of the model, which is that of the metrics."""
    for notion in _SHORT:

        def make(schema: Schema, relation: str, notion: str = notion) -> Any:
            return PrivateEvaluation(_public_model(schema, relation, 1, notion), epsilon=1.0)

        what = "Accuracy and gap of a public model on private records"
        yield _with_notion("evaluation", what, notion, make)


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
    model = _fair(schema, relation, target=0.5, random_state=1, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        return model.fit(*table_of(schema, sample_records(schema, 200, seed=5)))


def _notions(
    name: str, description: str, names: Iterable[str] = _SHORT, rows: int | None = None, **how: Any
) -> Iterator[Method]:
    """A way to a fair rule with each of these notions."""
    for notion in names:

        def make(schema: Schema, relation: str, notion: str = notion) -> Any:
            schema = schema if rows is None else replace(schema, rows=rows)
            tolerance = 0.0 if notion == "demographic_parity" else 0.1
            return _fair(schema, relation, notion=notion, tolerance=tolerance, **how)

        yield _with_notion(name, description, notion, make)


CATALOGUE = (
    Method("logistic", "Logistic regression, full-batch gradients in floating point", _logistic),
    Method(
        "logistic-exact",
        "Logistic regression, full-batch gradients in integers",
        lambda schema, relation: _logistic(schema, relation, arithmetic="exact"),
    ),
    Method("logistic-paid", "Logistic regression that a ledger file pays for", _paid),
    Method("logistic-sgd", "Logistic regression, DP-SGD in floating point", _logistic_sgd),
    Method(
        "logistic-sgd-exact",
        "Logistic regression, DP-SGD in integers",
        lambda schema, relation: _logistic_sgd(schema, relation, arithmetic="exact"),
    ),
    Method("boosting", "Trees of random structure on logistic regression", _boosting),
    Method(
        "boosting-exact",
        "Trees of random structure on logistic regression, in integers",
        lambda schema, relation: _boosting(schema, relation, arithmetic="exact"),
    ),
    *_notions("certified", "A planned rule corrected on records of its own"),
    *_notions(
        "placed",
        "Thresholds placed on records of their own",
        [name for name, notion in NOTIONS.items() if notion.monotone],
        rows=MANY,
    ),
    Method(
        "certified-undeclared-rows",
        "A certified rule for records of whom nobody knows how many there are",
        lambda schema, relation: _fair(replace(schema, rows=None), relation),
    ),
    *_notions("reuse", "All records train and are counted", mode="reuse"),
    *_notions(
        "reuse-check",
        "All records train and are counted, a third part checks the rule",
        mode="reuse",
        check_share=0.4,
    ),
    Method(
        "certified-values",
        "A certified rule, and a count of irregular values",
        lambda schema, relation: _fair(schema, relation, values_epsilon=0.2),
    ),
    Method(
        "reuse-values",
        "All records train and are counted, irregular values, too",
        lambda schema, relation: _fair(schema, relation, mode="reuse", values_epsilon=0.2),
    ),
    Method(
        "reuse-boosting",
        "All records grow trees and are counted",
        lambda schema, relation: _fair(
            schema, relation, mode="reuse", learner=_boosting(schema, relation, "exact")
        ),
    ),
    Method(
        "algorithm2",
        "The paper's rule with private group sizes",
        lambda schema, relation: _fair(schema, relation, rule="algorithm2"),
    ),
    Method(
        "algorithm2-basic",
        "The paper's rule with private group sizes, costs added up",
        lambda schema, relation: _fair(schema, relation, rule="algorithm2", composition="basic"),
    ),
    Method(
        "algorithm2-sizes",
        "The paper's rule with public group sizes",
        lambda schema, relation: _fair(schema, relation, rule="algorithm2", public_sizes=True),
    ),
    Method("algorithm2-paper", "The paper's experiment: DP-SGD, public sizes, sums", _paper),
    Method("post-processor", "The paper's rule on top of a public classifier", _post),
    Method(
        "post-processor-sizes",
        "The same with public group sizes",
        lambda schema, relation: _post(schema, relation, public_sizes=True),
    ),
    Method("dp-fermi", "DP-FERMI with joint clipping", _fermi),
    Method(
        "dp-fermi-odds",
        "DP-FERMI with joint clipping: equalized odds",
        lambda schema, relation: _fermi(schema, relation, notion="equalized_odds"),
    ),
    Method(
        "dp-fermi-undeclared-rows",
        "DP-FERMI with joint clipping, the number of records being assumed",
        lambda schema, relation: _fermi(replace(schema, rows=None), relation),
    ),
    Method("dp-fermi-paper", "DP-FERMI with its stated noise", _fermi_paper),
    Method(
        "dp-fermi-paper-odds",
        "DP-FERMI with its stated noise: equalized odds",
        lambda schema, relation: _fermi_paper(schema, relation, notion="equalized_odds"),
    ),
    Method("search", "The best of several logistic regressions", _search),
    Method("search-fair", "The best of several certified classifiers", _search_fair),
    Method(
        "certified-persons",
        "Persons with several records each",
        _persons,
        rows_per_unit=ROWS_OF_A_PERSON,
    ),
    Method("intersection", "Groups by two columns", _intersection),
    Method(
        "batch",
        "Decisions about a private batch",
        _batch,
        refuses_unknown_groups=True,
    ),
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
