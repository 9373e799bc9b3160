"""The DP-SGD run that all contenders make steps of, and ours.

Adult with the paper's features, a random half of its rows as in the paper, Poisson batches of 1024
expected rows, logistic loss, clipping at 1.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench.inputs import SEED, Inputs
from benchmarks.bench.task import Call, repeated
from dpfair import Noise, load_adult
from dpfair.data.encode import encode, level_codes
from dpfair.learners.compiled import available
from dpfair.learners.descent import Descent, FlatClip, GradientDescent, LogisticLoss, descend
from dpfair.learners.design import Design
from dpfair.learners.features import design
from dpfair.privacy.ledger import Receipt

BATCH, CLIP, MULTIPLIER, RATE = 1024, 1.5, 2.09, 0.01
STEPS = 1150


def compiled(inputs: Inputs) -> Call:
    """Ours, with numba."""
    if not available():
        raise ImportError("No module named 'numba'")
    return ours(compiled=True)


def plain(inputs: Inputs) -> Call:
    """Ours, without numba."""
    return ours(compiled=False)


def ours(*, compiled: bool) -> Call:
    """The real path: a paid receipt for every step, batches and noise from the secure source."""
    rows, labels, groups = adult_half()

    def run(steps: int) -> None:
        plan = Descent(steps, BATCH / len(rows), MULTIPLIER, FlatClip(CLIP), divisor=BATCH)
        descend(
            plan,
            rows,
            labels,
            groups,
            objective=LogisticLoss(),
            optimizer=GradientDescent(RATE),
            receipt=Receipt(plan.event, Noise()),
            compiled=compiled,
        )

    run(2)  # loads or compiles the loops
    return repeated(lambda: run(STEPS), STEPS, 10)


def adult_half() -> tuple[Design, Any, Any]:
    """A random half of Adult in the paper's features, its labels and groups."""
    data = load_adult()
    assert data.schema.label is not None
    records = encode(data.X, data.schema)
    labels = np.maximum(level_codes(data.y, data.schema.label), 0)
    half = np.flatnonzero(np.random.default_rng(SEED).random(len(records)) < 0.5)
    records = records.take(half)
    return design("standardised", data.schema, records, at_once=BATCH), labels[half], records.groups
