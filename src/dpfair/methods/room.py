"""How much a fit of records in temporary files writes after it was charged.

The bound follows from the schema and the plan alone. By what the files of the records take, values
of records would decide whether a fit is refused.
"""

from __future__ import annotations

import math

import numpy as np

from dpfair.data.buckets import BUCKETS
from dpfair.data.schema import Schema
from dpfair.methods.training import DISCOVER, TRAIN
from dpfair.privacy.plan import EVERYBODY, FitPlan

__all__ = ["bytes_per_record"]

# A number, a word that is not known beforehand, and the group, label, mark and place of a record.
_NUMBER, _WORD, _REST = 8, 4, 2 + 1 + 1 + 4

# The number of the scope of a record.
_SCOPE = 2

# A dense number, and the codes that a column may have in a design: numbers have exact values and a
# second resolution, words have buckets.
_DENSE, _CODES_OF_NUMBER, _CODES_OF_WORD = 4, 3, 2

# The norm of a row, and its log-odds and cell for corrections.
_NORM, _CORRECTED = 4, 8 + 2


def bytes_per_record(schema: Schema, plan: FitPlan) -> int:
    """How many bytes are written for every record on average, at most."""
    stored = _stored(schema)
    total = 0.0 if plan.shares == EVERYBODY else stored + _SCOPE
    if DISCOVER in plan:
        # Divided and chosen once to find facts, and what was found changes codes of all records.
        total += stored * ((plan[DISCOVER].scope != "") + plan.share(DISCOVER)) + stored
    if TRAIN in plan:
        total += plan.share(TRAIN) * (stored + _design(schema) + _CORRECTED)
    return math.ceil(total)


def _stored(schema: Schema) -> int:
    codes = [
        _WORD if c.unbounded else _size(len(c.values) + BUCKETS * c.hashed)
        for c in schema.categorical
    ]
    return _NUMBER * len(schema.numeric) + sum(codes) + _REST


def _design(schema: Schema) -> int:
    numbers, words = len(schema.numeric), len(schema.categorical)
    most = max((len(c.values) for c in schema.categorical), default=0)
    joint = _CODES_OF_NUMBER * numbers + _CODES_OF_WORD * words + 2 + len(schema.crosses)
    dense = _DENSE * (numbers + len(schema.groups))
    return dense + max(_size(most), 2) * joint + _NORM


def _size(most: int) -> int:
    return np.min_scalar_type(most + 1).itemsize
