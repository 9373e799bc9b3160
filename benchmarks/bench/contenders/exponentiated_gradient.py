"""ExponentiatedGradient of fairlearn over logistic regression: a fair fit without privacy."""

from __future__ import annotations

from typing import Any

from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression

from benchmarks.bench.contenders.sklearn_fit import encoder
from benchmarks.bench.inputs import SENSITIVE, Inputs
from benchmarks.bench.task import Call


def fit(inputs: Inputs) -> Call:
    """The encoding and the fit."""
    frame, labels = inputs.plain_table()
    return Call(lambda: fitted(frame, labels), inputs.rows)


def predict(inputs: Inputs) -> Call:
    """The encoding and the decisions of a model that was fitted to a tenth of the rows."""
    frame, labels = inputs.plain_table()
    tenth = len(frame) // 10
    columns, model = fitted(frame[:tenth], labels[:tenth])
    return Call(lambda: model.predict(columns.transform(frame), random_state=0), inputs.rows)


def fitted(frame: Any, labels: Any) -> tuple[Any, Any]:
    """The columns are encoded once, and not at each of the many fits of the inner model."""
    columns = encoder(sparse=False)
    model = ExponentiatedGradient(LogisticRegression(max_iter=1000), DemographicParity())
    model.fit(columns.fit_transform(frame), labels, sensitive_features=frame[SENSITIVE])
    return columns, model
