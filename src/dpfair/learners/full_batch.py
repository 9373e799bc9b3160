"""Gradient sums over all records, wherever they are held: each of them is one sum of integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.learners.descent import Descent, FlatClip, LogisticLoss, Optimizer, descend
from dpfair.learners.design import Design
from dpfair.learners.exact import Grid, logistic_sum
from dpfair.learners.features import design
from dpfair.privacy.ledger import Receipt

__all__ = ["GradientSum", "descend_full_batch"]

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GradientSum:
    """The sum of all clipped gradients of the logistic loss, in steps of a grid."""

    features: str
    schema: Schema
    parameters: Float64
    limit: float
    grid: Grid

    def __call__(self, records: Records) -> tuple[Int64]:
        rows = _kept_design(self.features, self.schema, records)
        assert records.labels is not None
        labels = records.labels
        return (logistic_sum(rows, slice(None), labels, self.parameters, self.limit, self.grid),)


def _kept_design(features: str, schema: Schema, records: Records) -> Design:
    drawer = records.kept.drawer("design", (features, schema))
    if drawer.note is None:
        made = design(features, schema, records, empty=drawer.empty)
        # A copy: a view of no rows would keep mapped files in memory.
        drawer.note = made.take(np.empty(0, dtype=np.int64))
    arrays = drawer.arrays
    form: Design = drawer.note
    return replace(form, dense=arrays["dense"], codes=arrays["codes"], norms=arrays["norms"])


def descend_full_batch(
    plan: Descent,
    features: str,
    schema: Schema,
    records: Any,
    *,
    optimizer: Optimizer,
    receipt: Receipt,
    **how: Any,
) -> Float64:
    """:func:`~dpfair.learners.descent.descend` with the logistic loss.

    Every step is one sum over all records, which need not be in memory.
    """
    assert isinstance(plan.clip, FlatClip)
    nobody = Records.of_arrays(
        np.empty((0, len(schema.numeric))), np.empty((0, len(schema.categorical))), [], []
    )
    grid = Grid.of(plan.clip.norm, plan.noise_multiplier)
    ask = partial(GradientSum, features, schema, limit=plan.clip.limit, grid=grid)

    def total(parameters: Float64) -> Int64:
        whole: Int64 = records.total(ask(parameters=parameters))[0]
        return whole

    assert nobody.labels is not None
    return descend(
        plan,
        design(features, schema, nobody),
        nobody.labels,
        nobody.groups,
        objective=LogisticLoss(),
        optimizer=optimizer,
        receipt=receipt,
        total=total,
        **how,
    )
