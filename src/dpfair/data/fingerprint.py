"""A secret number by which the records of an interrupted fit are recognised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.records import Records, number_words
from dpfair.data.schema import Schema
from dpfair.privacy.identities import text_rows
from dpfair.privacy.siphash import Rows, siphash

__all__ = ["fingerprint"]

# Records whose values are written out together.
_AT_ONCE = 1 << 14


def fingerprint(schema: Schema, key: bytes, records: Records) -> list[NDArray[Any]]:
    """How many records there are, and a sum that changes with any of them or its place.

    Every record adds a pseudo-random number of 64 bits, under a key of 16 bytes. So the sum is the
    same however the records are divided.
    """
    words = {
        i: _of_words(records.words[column.name])
        for i, column in enumerate(schema.categorical)
        if column.name in records.words
    }
    total = np.zeros(1, np.uint64)
    for start in range(0, len(records), _AT_ONCE):
        some = records.take(slice(start, start + _AT_ONCE))
        columns = [some.places, some.groups.astype(np.uint64), *map(number_words, some.numeric)]
        for marks in (some.labels, some.irregular):
            if marks is not None:
                columns.append(marks.astype(np.uint64))
        rows = [np.column_stack(columns)]
        if some.units is not None:
            rows.append(text_rows(some.units.tolist()))
        for i, codes in enumerate(some.codes):
            known = words.get(i)
            found = codes[:, None] if known is None else known[np.minimum(codes, len(known) - 1)]
            rows.append(found)
        total += siphash(np.hstack(rows, dtype=np.uint64), key).sum(dtype=np.uint64)
    return [np.array([len(records)]), total]


def _of_words(words: Sequence[str]) -> Rows:
    """Two words of 64 bits for every code: a part of the records has a list of its own."""
    return np.concatenate([text_rows(words), np.zeros((1, 2), np.uint64)])  # zeros for no word
