"""Public feature maps: from encoded records to a design matrix, by the schema alone.

Nothing here is learned from records. Both maps end with the group and a constant; a model that
must not see the group is given a schema without a sensitive column.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.data.buckets import BUCKETS, bucket
from dpfair.data.columns import Numeric
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.learners.binning import bins
from dpfair.learners.design import Design
from dpfair.learners.look_ups import Column

__all__ = [
    "FEATURES",
    "coarse_codes",
    "coarse_column",
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

Codes = NDArray[np.integer[Any]]


def design(features: str, schema: Schema, records: Records, **how: Any) -> Design:
    """The design matrix of the records; ``at_once`` and ``empty`` as in :meth:`Design.of_parts`.

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
    if features == "binned":
        columns, numbers, part = _columns(schema), 0, partial(_binned, schema)
    else:
        columns, part = _categories(schema), partial(_standardised, schema)
        numbers = len(schema.numeric) + len(schema.groups)
    return Design.of_parts(
        len(records),
        columns,
        lambda rows: part(records.take(rows)),
        dense=numbers,
        **how,
    )


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


def _columns(schema: Schema) -> list[Column]:
    """The blocks as columns of a design; what is not always there may lack."""
    blocks = _blocks(schema)
    norm = math.sqrt(sum(block.scale**2 for block in blocks if block.always))
    starts = accumulate((block.size for block in blocks), initial=0)
    return [
        Column(start, block.size, block.scale / norm, may_lack=not block.always)
        for start, block in zip(starts, blocks, strict=False)
    ]


def _binned(schema: Schema, records: Records) -> tuple[NDArray[np.float64], list[Codes]]:
    """No dense numbers, and the code of every block."""
    columns, sizes, rows = coarse_codes(schema, records), coarse_sizes(schema), len(records)
    numbers = list(zip(schema.numeric, records.numeric, strict=True))
    codes: list[Codes] = []
    for number, values in numbers:
        codes.append(values.map(partial(_cells, number, number.cuts)))
    for column in schema.categorical:
        code = columns[column.name]
        if column.usual is not None:
            usual = column.values.index(column.usual)
            code = np.where(code == usual, code.dtype.type(sizes[column.name]), code)
        codes.append(code)
    constant = np.zeros(rows, dtype=np.uint8)
    codes += [records.groups if schema.sensitive else constant, constant]
    for number, values in numbers:
        if number.spiky:
            codes.append(values.map(partial(_exact_cells, number)))
    for number, values in numbers:
        if cuts := coarser_cuts(number):
            codes.append(values.map(partial(_cells, number, cuts)))
    for column, places in zip(schema.categorical, records.codes, strict=True):
        if column.hashed:
            unlisted = places.astype(np.int32) - (len(column.values) + 1)
            codes.append(np.where(unlisted < 0, BUCKETS, unlisted).astype(np.uint16))
    for cross in schema.crosses:
        shape = [sizes[name] for name in cross]
        combined = np.ravel_multi_index([columns[name] for name in cross], shape)
        codes.append(combined if math.prod(shape) <= BUCKETS else bucket(combined))
    return np.empty((rows, 0)), codes


def _cells(number: Numeric, cuts: Sequence[float], values: NDArray[np.float64]) -> Codes:
    """The bin of every number; the usual value has none, which one more code says."""
    code = bins(values, cuts)
    if number.usual is None:
        return code
    return np.where(values == number.usual, code.dtype.type(len(cuts) + 2), code)


def _exact_cells(number: Numeric, values: NDArray[np.float64]) -> Codes:
    """The bucket of every number but the usual value."""
    code = bucket(values)
    return (
        code if number.usual is None else np.where(values == number.usual, np.uint16(BUCKETS), code)
    )


def coarse_codes(schema: Schema, records: Records) -> dict[str, Codes]:
    """Bin or category of every column, the group included; one byte each if that is enough."""
    codes = {}
    for place, (name, size) in enumerate(coarse_sizes(schema).items()):
        found, meaning = coarse_column(schema, records, place)
        codes[name] = meaning.astype(np.min_scalar_type(size)).take(found)
    return codes


def coarse_column(
    schema: Schema, records: Records, place: int
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
    """A code of every record, and the bin or category that each code means, of one column.

    ``place`` is that of the column in :func:`coarse_sizes`.
    """
    numeric, categorical = schema.numeric, schema.categorical
    if place < len(numeric):
        column, cuts = records.numeric[place], numeric[place].cuts
        if column.codes is None:
            return bins(column.values, cuts), np.arange(len(cuts) + 2)
        return column.codes, bins(column.values, cuts)
    place -= len(numeric)
    if place < len(categorical):
        known = len(categorical[place].values)
        hashed = BUCKETS if categorical[place].hashed else 0
        return records.codes[place], np.minimum(np.arange(known + 1 + hashed), known)
    return records.groups, np.arange(len(schema.groups))


def coarser_cuts(number: Numeric) -> tuple[float, ...]:
    """The cuts of the second resolution of a column whose bins were found; often none.

    Declared bins are used as they are.
    """
    many = "edges" in number.found and len(number.cuts) > _MANY_CUTS
    return number.cuts[_COARSER // 2 :: _COARSER] if many else ()


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


def _categories(schema: Schema) -> list[Column]:
    starts = accumulate((len(c.values) for c in schema.categorical), initial=0)
    return [
        Column(start, len(column.values), may_lack=True)
        for start, column in zip(starts, schema.categorical, strict=False)
    ]


def _standardised(schema: Schema, records: Records) -> tuple[NDArray[np.float64], list[Codes]]:
    """Numbers, group and constant, and the category of every column."""
    numbers = np.empty((len(records), len(schema.numeric)))
    for i, (number, values) in enumerate(zip(schema.numeric, records.numeric, strict=True)):
        center, scale = number.standard
        numbers[:, i] = np.nan_to_num((values.floats - center) / scale, nan=0.0)
    others = np.arange(1, len(schema.groups))
    groups = records.groups[:, None] == others
    sizes = [len(column.values) for column in schema.categorical]
    codes = [np.minimum(c, k) for c, k in zip(records.codes, sizes, strict=True)]
    return np.hstack([numbers, groups, np.ones((len(records), 1))]), codes
