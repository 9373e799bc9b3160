"""One step of full-batch descent in exact arithmetic, over Adult-like rows with binned features."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench.inputs import SEED, Inputs
from benchmarks.bench.task import Call, repeated
from dpfair.data.encode import encode, level_codes
from dpfair.jit import can_compile
from dpfair.learners.design import Design
from dpfair.learners.exact import Grid, logistic_sum
from dpfair.learners.features import design

CLIP, NOISE = 0.4, 10.0


def compiled(inputs: Inputs) -> Call:
    """The sum of a step, with numba."""
    if not can_compile():
        raise ImportError("No module named 'numba'")
    return step(inputs, compiled=True)


def plain(inputs: Inputs) -> Call:
    """The same integers without numba."""
    return step(inputs, compiled=False)


def step(inputs: Inputs, *, compiled: bool) -> Call:
    """Look up weights and the logistic function, clip, round and add."""
    rows, labels, theta = binned_rows(inputs)
    grid = Grid.of(CLIP, NOISE)

    def run(part: Any = slice(None)) -> Any:
        return logistic_sum(rows, part, labels, theta, CLIP, grid, compiled=compiled)

    run(slice(0, 10))
    return repeated(run, inputs.rows, 5)


def binned_rows(inputs: Inputs) -> tuple[Design, Any, Any]:
    """The rows, their labels, and random parameters."""
    frame, labels = inputs.table()
    schema = inputs.schema
    assert schema.label is not None
    rows = design("binned", schema, encode(frame, schema))
    theta = 0.5 * np.random.default_rng(SEED).normal(size=rows.width)
    return rows, level_codes(labels, schema.label).astype(np.int8), theta
