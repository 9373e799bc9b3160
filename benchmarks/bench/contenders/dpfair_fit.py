"""Our fits of a data frame, with its labels as words."""

from __future__ import annotations

from typing import Any

from benchmarks.bench.inputs import DELTA, EPSILON, Inputs
from benchmarks.bench.task import Call
from dpfair import PrivateFairClassifier, PrivateLogisticRegression, TableFiles

WARM_ROWS = 2_000
MEMORY = 1 << 27


def fair(inputs: Inputs) -> Call:
    """The default classifier: trained, made fair and certified."""
    return prepared(PrivateFairClassifier, inputs)


def logistic(inputs: Inputs) -> Call:
    """Private logistic regression alone."""
    return prepared(PrivateLogisticRegression, inputs)


def files(inputs: Inputs) -> Call:
    """The default classifier from Parquet files, some rows at a time."""
    path, small = inputs.parquet, inputs.with_rows(WARM_ROWS).parquet
    schema = inputs.schema
    PrivateFairClassifier(EPSILON / 2, DELTA, schema=schema).fit(
        TableFiles((small,), memory=MEMORY)
    )
    model = PrivateFairClassifier(EPSILON, DELTA, schema=schema)
    return Call(lambda: model.fit(TableFiles.named(path, memory=MEMORY)), inputs.rows)


def prepared(kind: Any, inputs: Inputs) -> Call:
    """A fit, after a small one with another budget has imported and loaded what it needs."""
    frame, labels = inputs.table()
    kind(EPSILON / 2, DELTA, schema=inputs.schema).fit(frame[:WARM_ROWS], labels[:WARM_ROWS])
    model = kind(EPSILON, DELTA, schema=inputs.schema)
    return Call(lambda: model.fit(frame, labels), inputs.rows)
