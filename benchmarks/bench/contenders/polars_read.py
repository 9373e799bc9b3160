"""What a command cannot do without: polars reading the same file, and the steps of training."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from benchmarks.bench.inputs import DELTA, EPSILON, Inputs
from benchmarks.bench.task import Call
from dpfair import Noise, PrivateFairClassifier
from dpfair.data.encode import encode, level_codes
from dpfair.privacy.ledger import Receipt
from dpfair.privacy.split import coin_split

WARM_ROWS = 2_000


def read_csv(inputs: Inputs) -> Call:
    """The CSV file, with types that polars finds."""
    path = inputs.csv
    return Call(lambda: pl.read_csv(path), inputs.rows)


def read_parquet(inputs: Inputs) -> Call:
    """The Parquet file."""
    path = inputs.parquet
    return Call(lambda: pl.read_parquet(path), inputs.rows)


def read_csv_and_train(inputs: Inputs) -> Call:
    """The CSV file, then the default learner on records that were encoded beforehand."""
    path, schema = inputs.csv, inputs.schema
    frame, labels = inputs.table()
    assert schema.label is not None
    records = encode(frame, schema).with_labels(level_codes(labels, schema.label))
    plan = PrivateFairClassifier(EPSILON, DELTA, schema=schema).plan()
    learner, step = PrivateFairClassifier.default_learner(), plan["train"]
    part = records.take(coin_split(len(records), plan.shares, Noise(0))[step.scope])

    def train(chosen: Any) -> None:
        learner.train(step.how, chosen, schema, Receipt(step.event, Noise()))

    def run() -> None:
        pl.read_csv(path)
        train(part)

    train(part.take(np.arange(min(WARM_ROWS, len(part)))))
    return Call(run, inputs.rows)
