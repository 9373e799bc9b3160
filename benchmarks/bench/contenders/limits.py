"""What the machine can do: read memory, look up numbers at random places, make random bytes."""

from __future__ import annotations

import ssl

import numpy as np

from benchmarks.bench.inputs import SEED, Inputs
from benchmarks.bench.task import Call, repeated

GB = 1e9
NUMBERS = 5 * 10**7
LOOK_UPS = 2 * 10**7
TABLE = 4096  # the weights of a joint table, which stay in a fast cache
RANDOM_BYTES = 10**9


def memory(inputs: Inputs) -> Call:
    """The sum of a large array, in GB."""
    array = np.ones(NUMBERS)
    return repeated(array.sum, array.nbytes / GB)


def cached_look_ups(inputs: Inputs) -> Call:
    """Sums of numbers at random places of a small table, as in a gradient step."""
    return look_ups(TABLE)


def far_look_ups(inputs: Inputs) -> Call:
    """The same in a table that is larger than any cache."""
    return look_ups(NUMBERS)


def look_ups(size: int) -> Call:
    """So many look-ups, in billions."""
    from numba import njit

    @njit(fastmath=True)
    def total(table: np.ndarray, places: np.ndarray) -> float:
        found = 0.0
        for place in places:
            found += table[place]
        return found

    table = np.ones(size)
    places = np.random.default_rng(SEED).integers(0, size, LOOK_UPS, dtype=np.uint32)
    total(table, places[:10])
    return repeated(lambda: total(table, places), LOOK_UPS / 1e9)


def random_bytes(inputs: Inputs) -> Call:
    """OpenSSL's generator, in pieces of 64 kB as the library draws them, in GB."""
    piece = 1 << 16

    def run() -> None:
        for _ in range(RANDOM_BYTES // piece):
            ssl.RAND_bytes(piece)

    return Call(run, RANDOM_BYTES / GB)
