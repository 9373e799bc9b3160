"""Fixed hashes of numbers and words to a few cells, for values that nobody listed."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BUCKETS", "bucket", "word_bucket"]

BUCKETS = 1024
"""Exact values, unlisted words and large crosses have this many cells, all of which get noise."""


def bucket(values: NDArray[Any]) -> NDArray[np.uint16]:
    """A fixed hash of numbers (of their bits; all kinds of zero and of NaN are one) to a bucket."""
    numbers = np.where(np.isnan(values), np.nan, values + 0.0).astype("<f8")
    bits = numbers.view(np.uint64)
    # The finaliser of splitmix64.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return ((bits ^ (bits >> np.uint64(31))) % np.uint64(BUCKETS)).astype(np.uint16)


def word_bucket(word: str) -> int:
    """A fixed hash of a word to a bucket.

    >>> word_bucket("teacher"), word_bucket("nurse")
    (905, 1010)
    """
    # A lone surrogate has no UTF-8 form, and must not raise an error.
    digest = blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % BUCKETS
