"""The DP-SGD run that all contenders make steps of, and ours.

Adult with the paper's features, a random half of its rows as in the paper, Poisson batches of 1024
expected rows, logistic loss, clipping at 1.5. Compact rows are eight numbers and the codes of the
one-hot columns, as the library holds these features; dense rows are the same written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks.bench.inputs import SEED, Inputs
from benchmarks.bench.task import Call, repeated
from dpfair import Noise, load_adult
from dpfair.data.encode import encode, level_codes
from dpfair.jit import can_compile
from dpfair.learners.compiled import ClippedSums
from dpfair.learners.descent import Descent, FlatClip, GradientDescent, LogisticLoss, descend
from dpfair.learners.design import Design
from dpfair.learners.features import design
from dpfair.privacy.ledger import Receipt

BATCH, CLIP, MULTIPLIER, RATE = 1024, 1.5, 2.09, 0.01
STEPS = 1150


def compiled(inputs: Inputs) -> Call:
    """Ours, with numba."""
    return ours(adult_half(), compiled=True)


def plain(inputs: Inputs) -> Call:
    """Ours, without numba."""
    return ours(adult_half(), compiled=False)


def loop(inputs: Inputs) -> Call:
    """Our loop over the rows of the batches, without sampling and noise."""
    return loop_alone(adult_half())


def dense_compiled(inputs: Inputs) -> Call:
    """Ours on dense rows, with numba."""
    return ours(dense_half(), compiled=True)


def dense_plain(inputs: Inputs) -> Call:
    """Ours on dense rows, without numba."""
    return ours(dense_half(), compiled=False)


def dense_loop(inputs: Inputs) -> Call:
    """The loop over dense rows."""
    return loop_alone(dense_half())


def dense_batches_and_loop(inputs: Inputs) -> Call:
    """The same with batches that are sampled for every step."""
    return loop_alone(dense_half(), sampled=True)


def ours(half: tuple[Design, Any, Any], *, compiled: bool) -> Call:
    """The real path: a paid receipt for every step, batches and noise from the secure source."""
    if compiled:
        check_numba()
    rows, labels, groups = half

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


def loop_alone(half: tuple[Design, Any, Any], *, sampled: bool = False) -> Call:
    """The clipped sums of batches that were sampled beforehand, or of ones that are sampled now."""
    check_numba()
    rows, labels, _ = half
    sums = ClippedSums(rows, labels.astype(np.int8), FlatClip(CLIP).limit)
    theta = 0.1 * np.random.default_rng(SEED).normal(size=rows.width)  # scores as in a descent
    chosen = batches(len(rows))

    def run(batches: Iterable[Any]) -> None:
        for batch in batches:
            sums(batch, theta)

    run(chosen[:1])
    return repeated(lambda: run(fresh_batches(len(rows)) if sampled else chosen), STEPS)


def check_numba() -> None:
    """An error that says what is missing, if numba is."""
    if not can_compile():
        raise ImportError("No module named 'numba'")


def batches(rows: int) -> list[Any]:
    """The positions of Poisson batches."""
    rng = np.random.default_rng(SEED)
    masks = (rng.random(rows, dtype=np.float32) < BATCH / rows for _ in range(STEPS))
    return list(map(np.flatnonzero, masks))


def fresh_batches(rows: int) -> Iterator[Any]:
    """The same, sampled as our steps do."""
    noise = Noise()
    return (noise.poisson_batch(rows, BATCH / rows) for _ in range(STEPS))


def dense_half() -> tuple[Design, Any, Any]:
    """The same rows as vectors of numbers, as a schema of numeric columns alone makes them."""
    rows, labels, groups = adult_half()
    none = np.empty((len(rows), 0), dtype=np.int64)
    return Design.build(rows.matrix(), none, cells=0), labels, groups


def adult_half() -> tuple[Design, Any, Any]:
    """A random half of Adult in the paper's features, its labels and groups."""
    data = load_adult()
    assert data.schema.label is not None
    records = encode(data.X, data.schema)
    labels = np.maximum(level_codes(data.y, data.schema.label), 0)
    half = np.flatnonzero(np.random.default_rng(SEED).random(len(records)) < 0.5)
    records = records.take(half)
    return design("standardised", data.schema, records, at_once=BATCH), labels[half], records.groups
