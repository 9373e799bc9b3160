"""Public feature maps: from encoded records to a design matrix, by the schema alone.

Nothing here is learned from records. Both maps end with the group and a constant; a model that
must not see the group is given a schema without a sensitive column.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.learners.design import Design
from dpfair.schema import Schema
from dpfair.table import Records

__all__ = ["FEATURES", "design", "feature_names"]

FEATURES = ("binned", "standardised")


def design(features: str, schema: Schema, records: Records) -> Design:
    """The design matrix of the records.

    ``"binned"``
        One cell per public bin or category, with cells for *missing* and *other*. Every row has
        the same number of active cells, scaled so that its norm is exactly 1: the clipping norm
        then means the same on any table.
    ``"standardised"``
        The paper's encoding: numbers as ``(x - center) / scale`` and a one-hot cell per
        category, with *other* and *missing* at zero.
    """
    validate.one_of(FEATURES, features=features)
    return _binned(schema, records) if features == "binned" else _standardised(schema, records)


def feature_names(features: str, schema: Schema) -> list[str]:
    """A readable name for every parameter, in order."""
    validate.one_of(FEATURES, features=features)
    groups = [f"group={g}" for g in schema.groups]
    if features == "standardised":
        dense = [*(c.name for c in schema.numeric), *groups[1:], "constant"]
        return dense + [f"{c.name}={v}" for c in schema.categorical for v in c.values]
    names: list[str] = []
    for number in schema.numeric:
        cuts = [-math.inf, *number.cuts, math.inf]
        names += [f"{number.name} in [{a:g}, {b:g})" for a, b in pairwise(cuts)]
        names.append(f"{number.name} missing")
    for column in schema.categorical:
        names += [f"{column.name}={v}" for v in column.values] + [f"{column.name} other"]
    return names + groups + ["constant"]


def _binned(schema: Schema, records: Records) -> Design:
    blocks: list[NDArray[np.int64]] = []
    sizes: list[int] = []
    for values, number in zip(records.numeric.T, schema.numeric, strict=True):
        bins = np.searchsorted(np.array(number.cuts), values, side="right")
        blocks.append(np.where(np.isnan(values), len(number.cuts) + 1, bins))
        sizes.append(len(number.cuts) + 2)
    for codes, column in zip(records.codes.T, schema.categorical, strict=True):
        blocks.append(codes.astype(np.int64))
        sizes.append(len(column.values) + 1)
    constant = np.zeros(len(records), dtype=np.int64)
    blocks += [records.groups if schema.sensitive else constant, constant]
    sizes += [len(schema.groups), 1]
    starts = np.cumsum([0, *sizes])
    return Design.build(
        dense=np.empty((len(records), 0)),
        codes=np.stack(blocks, axis=1) + starts[:-1],
        cells=int(starts[-1]),
        cell_value=1 / math.sqrt(len(blocks)),
    )


def _standardised(schema: Schema, records: Records) -> Design:
    standards = np.array([c.standard for c in schema.numeric]).reshape(-1, 2)
    numbers = np.nan_to_num((records.numeric - standards[:, 0]) / standards[:, 1], nan=0.0)
    others = np.arange(1, len(schema.groups))
    groups = records.groups[:, None] == others
    dense = np.hstack([numbers, groups, np.ones((len(records), 1))])
    sizes = np.array([len(c.values) for c in schema.categorical], dtype=np.int64)
    starts = np.cumsum([0, *sizes])
    total = int(starts[-1])
    codes = np.where(records.codes < sizes, records.codes + starts[:-1], total)
    return Design.build(dense=dense, codes=codes, cells=total)
