"""Texts as words of fixed width, from which coins are made."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from dpfair.privacy.siphash import Rows

__all__ = ["text_rows"]


def text_rows(texts: Sequence[str | None]) -> Rows:
    """Two words for every text, a hash of 128 bits: equal for equal texts only."""
    listed = dict.fromkeys(texts)
    # The representation has no unpaired surrogates, and that of None is not that of "None".
    hashes = b"".join([blake2b(repr(t).encode(), digest_size=16).digest() for t in listed])
    rows = np.frombuffer(hashes, dtype="<u8").reshape(-1, 2)
    if len(listed) == len(texts):
        return rows
    places = {text: place for place, text in enumerate(listed)}
    return rows[np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))]
