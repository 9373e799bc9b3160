"""One small fitted model of every method and variant; and their files, with changes."""

from __future__ import annotations

import copy
import json
import struct
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from safetensors.numpy import load, save
from sample_tables import LOANS, make_loans
from sklearn.base import BaseEstimator, ClassifierMixin

from dpfair import (
    DPFermi,
    FairPostProcessor,
    PrivateBoosting,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
    Schema,
)
from dpfair.audit.catalogue import small_model
from dpfair.learners.blocks import BlockLearner
from dpfair.learners.boosting import BoostingLearner
from dpfair.learners.logistic import LogisticLearner
from dpfair.methods import METHODS
from dpfair.methods.algorithm1 import Algorithm1
from dpfair.methods.algorithm2 import Algorithm2
from dpfair.methods.base import PrivateClassifier

__all__ = [
    "KINDS",
    "OF_METHOD",
    "SEARCHES",
    "WITH_CLASSIFIER",
    "fitted",
    "header_of",
    "put",
    "rewritten",
    "rich",
    "table_of",
]

SCHEMA = Schema.from_dict(LOANS)
LARGE = Schema.from_dict(LOANS | {"rows": 150_000})
"""Thresholds are placed in large tables."""

UNSIZED = Schema.from_dict({name: fact for name, fact in LOANS.items() if name != "rows"})
QUICK = LogisticLearner(steps=20)
GROUPS = [f"g{i}" for i in range(20)]


def rich(table: pl.DataFrame) -> np.ndarray:
    """Somebody's classifier."""
    return np.asarray(table["income"] > 50, dtype=np.int64)


class RichestHalf(ClassifierMixin, BaseEstimator):
    """A classifier that has to be trained."""

    def fit(self, table: pl.DataFrame, y: Any) -> RichestHalf:
        self.classes_ = np.unique(y)
        self.median_ = float(table["income"].median())
        return self

    def predict(self, table: pl.DataFrame) -> np.ndarray:
        return self.classes_[np.asarray(table["income"] > self.median_, dtype=np.int64)]


@cache
def _loans() -> tuple[pl.DataFrame, np.ndarray]:
    return make_loans()


def _twenty_groups() -> tuple[Schema, pl.DataFrame]:
    data = copy.deepcopy(LOANS) | {"rows": 150_000}
    data["sensitive"]["values"] = GROUPS
    X, _ = _loans()
    return Schema.from_dict(data), X.with_columns(sex=pl.Series(GROUPS * (len(X) // 20)))


def _fair(**settings: Any) -> PrivateFairClassifier:
    given = {"schema": SCHEMA, "learner": QUICK, "random_state": 1} | settings
    return PrivateFairClassifier(2, **given).fit(*_loans())


def _twenty() -> PrivateFairClassifier:
    schema, X = _twenty_groups()
    model = PrivateFairClassifier(
        1, schema=schema, learner=QUICK, random_state=1, rule={"smallest_group": 0}
    )
    return model.fit(X, _loans()[1])


def _flips(**settings: Any) -> Algorithm2:
    given = {"schema": SCHEMA, "learner": QUICK, "random_state": 1} | settings
    return Algorithm2(2, **given).fit(*_loans())


def _rates(epsilon: float | None = 2, classifier: Any = rich, **settings: Any) -> FairPostProcessor:
    given = {"sensitive": "sex", "groups": ["f", "m"], "random_state": 1} | settings
    return FairPostProcessor(classifier, epsilon, **given).fit(*_loans())


def _fermi(**settings: Any) -> DPFermi:
    given = {"schema": SCHEMA, "epochs": 2, "batch_size": 200, "random_state": 1} | settings
    return DPFermi(2, **given).fit(*_loans())


def _logistic(**settings: Any) -> PrivateLogisticRegression:
    given = {"schema": SCHEMA, "random_state": 1} | settings
    return PrivateLogisticRegression(2, **given).fit(*_loans())


def _search(estimator: PrivateClassifier, grid: dict[str, list[Any]]) -> PrivateClassifier:
    return PrivateSearchCV(estimator, grid, epsilon=2, mean_runs=2, random_state=1).fit(*_loans())


_TREES = BoostingLearner(trees=3, depth=2, steps=20)
_BLOCKS = BlockLearner(steps=20, draws=30, evidence=None)

KINDS: dict[str, Callable[[], PrivateClassifier]] = {
    "placed": lambda: _fair(schema=LARGE),
    "corrected": lambda: _fair(),
    "bands": lambda: _fair(schema=LARGE).with_rule(notion="equalized_odds"),
    "other rule": lambda: _fair().with_rule(tolerance=0.1, confidence=0.9),
    "reuse": lambda: _fair(mode="reuse"),
    "check": lambda: _fair(mode="reuse", division={"check_share": 0.3}),
    "values": lambda: _fair(division={"values_epsilon": 0.2}),
    "persons": lambda: _fair(unit="age", rows_per_unit=2),
    "replaced": lambda: _fair(relation="replace_one", rule={"coins": "fresh"}),
    "boosted": lambda: _fair(learner=_TREES, rule={"notion": "equalized_odds"}),
    "blocks": lambda: _fair(learner=_BLOCKS),
    "intersection": lambda: _fair(sensitive=["sex", "job"]),
    "inferred": lambda: _fair(schema=None, sensitive="sex"),
    "one group": lambda: _fair(schema=None),
    "groups": _twenty,
    "flips": lambda: _flips(),
    "public sizes": lambda: _flips(public_sizes=True, composition="basic", target="lower"),
    "exact rates": lambda: _rates(None, groups=None),
    "algorithm 1": lambda: Algorithm1(rich, sensitive="sex", held_out=True).fit(*_loans()),
    "rates": lambda: _rates(held_out=True),
    "rates of public sizes": lambda: _rates(public_sizes=True),
    "rates, trained in fit": lambda: _rates(classifier=RichestHalf()),
    "penalty": lambda: _fermi(),
    "penalty, size assumed": lambda: _fermi(schema=UNSIZED, notion="equalized_odds"),
    "stated penalty": lambda: _fermi(variant="paper"),
    "published penalty": lambda: _fermi(variant="reference", only_group="f"),
    "logistic": lambda: _logistic(steps=20),
    "logistic, noise given": lambda: _logistic(steps=20, noise_multiplier=30.0),
    "dp-sgd": lambda: _logistic(solver="sgd", features="standardised", epochs=2, batch_size=300),
    "boosting": lambda: PrivateBoosting(
        2, schema=SCHEMA, trees=3, depth=2, steps=20, random_state=1
    ).fit(*_loans()),
    "search": lambda: _search(
        PrivateFairClassifier(schema=SCHEMA, learner=QUICK), {"rule__tolerance": [0.0, 0.1]}
    ),
    "search of penalties": lambda: _search(
        DPFermi(schema=SCHEMA, epochs=2, batch_size=200), {"weight": [0.5, 1.0]}
    ),
}

OF_METHOD = {
    "fair": "placed",
    "algorithm1": "algorithm 1",
    "algorithm2": "flips",
    "post-processor": "rates",
    "dp-fermi": "penalty",
    "logistic": "logistic",
    "boosting": "boosting",
}
"""A kind of every method; a method that is not listed here has one of its own."""

for _name, _method in METHODS.items():
    if _name not in OF_METHOD:
        OF_METHOD[_name] = f"method {_name}"
        KINDS[OF_METHOD[_name]] = lambda kind=_method: small_model(
            kind, SCHEMA, random_state=1
        ).fit(*_loans())

SEARCHES = ("search", "search of penalties")
WITH_CLASSIFIER = ("exact rates", "algorithm 1", "rates", "rates of public sizes")
"""Models whose files do not hold the classifier, which is :func:`rich`."""


@cache
def fitted(kind: str) -> PrivateClassifier:
    """The model of a kind; of a search its winner. Made once, so do not change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KINDS[kind]()
    return model.best_estimator_ if kind in SEARCHES else model


def table_of(kind: str) -> pl.DataFrame:
    """Records that the model can decide about."""
    return _twenty_groups()[1] if kind == "groups" else _loans()[0]


def header_of(content: bytes) -> dict[str, Any]:
    """What dpfair wrote into a file."""
    [length] = struct.unpack("<Q", content[:8])
    outer = json.loads(content[8 : 8 + length])
    header: dict[str, Any] = json.loads(outer["__metadata__"]["dpfair-model"])
    return header


def rewritten(
    content: bytes,
    change: Callable[[dict[str, Any]], object] | None = None,
    *,
    text: Callable[[str], str] | None = None,
    tensors: dict[str, Any] | None = None,
) -> bytes:
    """The same file with another header, other text of the header, or other (more) tensors."""
    header = header_of(content)
    if change is not None:
        change(header)
    # Infinity has a name, which a careful reader refuses; but such a number has none.
    written = json.dumps(header).replace("Infinity", "1e999")
    return save(
        load(content) | (tensors or {}),
        metadata={"dpfair-model": written if text is None else text(written)},
    )


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of a header: one entry replaced or added."""

    def change(header: dict[str, Any]) -> None:
        place: Any = header
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change
