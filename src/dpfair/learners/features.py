"""Public feature maps: from encoded records to a design matrix, by the schema alone.

Nothing here is learned from records. Both maps end with the group and a constant; a model that
must not see the group is given a schema without a sensitive column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.data.buckets import BUCKETS, bucket
from dpfair.data.columns import Numeric
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.learners.design import Design

__all__ = [
    "FEATURES",
    "coarse_codes",
    "coarse_sizes",
    "coarse_weights",
    "coarser_cuts",
    "design",
    "feature_count",
    "feature_decay",
    "feature_names",
]

FEATURES = ("binned", "standardised")

SPARSE_SCALE, DENSE_SCALE = 8.0, 4.0
"""The value of an exact-value cell relative to the others: a larger one learns faster. Without a
usual value every record has such a cell, and a larger one would drown the others."""

HASHED_DECAY = 0.01

# Found bins have a second resolution, of every fourth of their cuts, if there are more than eight.
_MANY_CUTS, _COARSER = 8, 4

Ints = NDArray[np.int64]


def design(features: str, schema: Schema, records: Records) -> Design:
    """The design matrix of the records.

    ``"binned"``
        One cell per public bin or category, with cells for *missing* and *other*, in several
        resolutions: exact values of spiky columns, unlisted words of hashed ones, joined bins of
        a column whose bins were found, and declared crosses have cells of their own. A column's
        usual value has none. Cells are scaled so that a record of usual values has norm 1: the
        clipping norm then means the same on any table.
    ``"standardised"``
        The paper's encoding: numbers as ``(x - center) / scale`` and a one-hot cell per
        category, with *other* and *missing* at zero.
    """
    validate.one_of(FEATURES, features=features)
    return _binned(schema, records) if features == "binned" else _standardised(schema, records)


def feature_names(features: str, schema: Schema) -> list[str]:
    """A readable name for every parameter, in order."""
    validate.one_of(FEATURES, features=features)
    if features == "standardised":
        groups = [f"group={g}" for g in schema.groups[1:]]
        dense = [*(c.name for c in schema.numeric), *groups, "constant"]
        return dense + [f"{c.name}={v}" for c in schema.categorical for v in c.values]
    return [name for block in _blocks(schema) for name in block.names()]


def feature_count(features: str, schema: Schema) -> int:
    """The number of parameters; no name is spelled out, for a hostile schema has too many."""
    validate.one_of(FEATURES, features=features)
    if features == "standardised":
        categories = sum(len(column.values) for column in schema.categorical)
        return len(schema.numeric) + len(schema.groups) + categories
    return sum(block.size for block in _blocks(schema))


def feature_decay(features: str, schema: Schema) -> NDArray[np.float64]:
    """By what part each parameter shrinks in a step of training.

    Few records have a given exact value or unlisted word: without decay the noise on its cell would
    add up, and a value never seen in training would get a random weight.
    """
    validate.one_of(FEATURES, features=features)
    if features == "standardised":
        return np.zeros(feature_count(features, schema))
    blocks = _blocks(schema)
    return np.repeat(
        [HASHED_DECAY if block.decays else 0.0 for block in blocks],
        [block.size for block in blocks],
    )


@dataclass(frozen=True)
class _Block:
    """Cells of which a record has at most one."""

    size: int
    names: Callable[[], list[str]]
    scale: float = 1.0
    always: bool = True  # also for a record of usual values
    decays: bool = False


def _blocks(schema: Schema) -> list[_Block]:
    sizes, groups = coarse_sizes(schema), schema.groups
    blocks = [
        _Block(sizes[c.name], partial(_bin_names, c.name, c.cuts), always=c.usual is None)
        for c in schema.numeric
    ]
    for column in schema.categorical:
        names = partial(_value_names, column.name, column.values, f"{column.name} other")
        blocks.append(_Block(sizes[column.name], names, always=column.usual is None))
    blocks.append(_Block(len(groups), partial(_value_names, "group", groups)))
    blocks.append(_Block(1, partial(list, ["constant"])))
    for number in schema.numeric:
        if number.spiky:
            dense = number.usual is None
            names = partial(_cell_names, f"{number.name} exactly, bucket", BUCKETS)
            scale = DENSE_SCALE if dense else SPARSE_SCALE
            blocks.append(_Block(BUCKETS, names, scale, always=dense, decays=True))
    for number in schema.numeric:
        if cuts := coarser_cuts(number):
            names = partial(_bin_names, f"{number.name}, joined,", cuts)
            blocks.append(_Block(len(cuts) + 2, names, always=number.usual is None))
    for column in schema.categorical:
        if column.hashed:
            names = partial(_cell_names, f"{column.name} not listed, bucket", BUCKETS)
            blocks.append(_Block(BUCKETS, names, always=False, decays=True))
    for cross in schema.crosses:
        size = min(math.prod(sizes[name] for name in cross), BUCKETS)
        blocks.append(_Block(size, partial(_cell_names, f"{' x '.join(cross)}, cell", size)))
    return blocks


def _binned(schema: Schema, records: Records) -> Design:
    blocks, columns = _blocks(schema), coarse_codes(schema, records)
    cells, absent = [], []
    for number, values in zip(schema.numeric, records.numeric.T, strict=True):
        cells.append(columns[number.name])
        absent.append(values == number.usual if number.usual is not None else None)
    for column in schema.categorical:
        cells.append(columns[column.name])
        usual = None if column.usual is None else column.values.index(column.usual)
        absent.append(None if usual is None else columns[column.name] == usual)
    constant = np.zeros(len(records), dtype=np.int64)
    cells += [records.groups if schema.sensitive else constant, constant]
    absent += [None, None]
    for number, values in zip(schema.numeric, records.numeric.T, strict=True):
        if number.spiky:
            cells.append(bucket(values))
            absent.append(values == number.usual if number.usual is not None else None)
    for number, values in zip(schema.numeric, records.numeric.T, strict=True):
        if cuts := coarser_cuts(number):
            cells.append(_bins(values, cuts))
            absent.append(values == number.usual if number.usual is not None else None)
    for column, places in zip(schema.categorical, records.codes.T, strict=True):
        if column.hashed:
            unlisted = places.astype(np.int64) - len(column.values) - 1
            cells.append(unlisted)
            absent.append(unlisted < 0)
    for cross in schema.crosses:
        sizes = [coarse_sizes(schema)[name] for name in cross]
        code = np.ravel_multi_index([columns[name] for name in cross], sizes).astype(np.int64)
        cells.append(code if math.prod(sizes) <= BUCKETS else bucket(code))
        absent.append(None)
    starts = np.cumsum([0, *(block.size for block in blocks)])
    total = int(starts[-1])
    codes = np.empty((len(records), len(blocks)), dtype=np.min_scalar_type(total))
    for i, (code, missing) in enumerate(zip(cells, absent, strict=True)):
        codes[:, i] = code + starts[i]
        if missing is not None:
            codes[missing, i] = total
    norm = math.sqrt(sum(block.scale**2 for block in blocks if block.always))
    scales = [block.scale / norm for block in blocks]
    return Design.build(
        dense=np.empty((len(records), 0)),
        codes=codes,
        cells=total,
        cell_values=np.repeat(scales, [block.size for block in blocks]),
    )


def coarse_codes(schema: Schema, records: Records) -> dict[str, Ints]:
    """Bin or category of every column, the group included."""
    codes: dict[str, Ints] = {}
    for values, number in zip(records.numeric.T, schema.numeric, strict=True):
        codes[number.name] = _bins(values, number.cuts)
    for places, column in zip(records.codes.T, schema.categorical, strict=True):
        codes[column.name] = np.minimum(places, len(column.values)).astype(np.int64)
    if schema.sensitive:
        codes[schema.sensitive.name] = records.groups
    return codes


def coarser_cuts(number: Numeric) -> tuple[float, ...]:
    """The cuts of the second resolution of a column whose bins were found; often none.

    Declared bins are used as they are.
    """
    many = "edges" in number.found and len(number.cuts) > _MANY_CUTS
    return number.cuts[_COARSER // 2 :: _COARSER] if many else ()


def _bins(values: NDArray[np.float64], cuts: Sequence[float]) -> Ints:
    """The bin of every number, and one more for missing ones."""
    bins = np.searchsorted(np.array(cuts), values, side="right")
    return np.where(np.isnan(values), len(cuts) + 1, bins)


def coarse_sizes(schema: Schema) -> dict[str, int]:
    """How many bins or categories every column has, in the order of the codes."""
    sizes = {c.name: len(c.cuts) + 2 for c in schema.numeric}
    sizes |= {c.name: len(c.values) + 1 for c in schema.categorical}
    if schema.sensitive:
        sizes[schema.sensitive.name] = len(schema.groups)
    return sizes


def coarse_weights(schema: Schema, weights: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The weights of the bins or categories of every column, of a model with binned features."""
    ends = np.cumsum([*coarse_sizes(schema).values()])
    return np.split(weights[: ends[-1]], ends[:-1])


def _bin_names(name: str, cuts: Sequence[float]) -> list[str]:
    names = [f"{name} in [{a:g}, {b:g})" for a, b in pairwise([-math.inf, *cuts, math.inf])]
    return [*names, f"{name} missing"]


def _value_names(name: str, values: Sequence[str], *more: str) -> list[str]:
    return [*(f"{name}={value}" for value in values), *more]


def _cell_names(name: str, size: int) -> list[str]:
    return [f"{name} {i}" for i in range(size)]


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
