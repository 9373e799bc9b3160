"""Encoded records as arrays [record, column], to compare them and to compute with them."""

from __future__ import annotations

import numpy as np

__all__ = ["codes_in", "numbers_in"]


def numbers_in(records):
    """The numbers of all columns."""
    columns = [column.floats for column in records.numeric]
    return np.stack(columns, axis=1) if columns else np.empty((len(records), 0))


def codes_in(records):
    """The codes of all columns."""
    columns = [column.astype(np.int64) for column in records.codes]
    return np.stack(columns, axis=1) if columns else np.empty((len(records), 0), dtype=np.int64)
