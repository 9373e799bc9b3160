r"""SipHash-2-4 of many rows at once: a keyed pseudo-random function of fixed-width rows.

A row is :math:`w` words of 64 bits. With a secret key of 128 bits, the values of distinct rows of
one width cannot be told from independent uniform numbers of 64 bits (Aumasson and Bernstein 2012).
The value of a row depends on that row and on the key alone, to the last bit: all operations are on
integers, row by row.

>>> key = bytes(range(16))
>>> row = np.frombuffer(bytes(range(8)), dtype="<u8").reshape(1, 1)
>>> f"{siphash(row, key)[0]:x}"  # from the tests of its authors
'93f5f5799a932462'
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "siphash"]

Rows = NDArray[np.uint64]
"""One row of words for every record."""

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_CHUNK = 8192  # rows whose state stays in the cache


def siphash(rows: Rows, key: bytes) -> NDArray[np.uint64]:
    """A number of 64 bits for every row, under a key of 16 bytes."""
    halves = np.frombuffer(key, dtype="<u8")
    values = np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[start : start + _CHUNK]
        values[start : start + _CHUNK] = _Lanes(halves, len(chunk)).absorb(chunk)
    return values


class _Lanes:
    """The state of SipHash, side by side for some rows."""

    def __init__(self, key: NDArray[np.uint64], rows: int) -> None:
        first = np.array(_START, dtype=np.uint64) ^ np.tile(key, 2)
        self._state = first.repeat(rows).reshape(4, rows)
        self._room = np.empty(rows, dtype=np.uint64)

    def absorb(self, rows: Rows) -> NDArray[np.uint64]:
        """The hash of the rows."""
        words = np.ascontiguousarray(rows.T)
        for word in words:
            self._word(word)
        self._word(np.uint64(8 * len(words) % 256 << 56))
        self._state[2] ^= np.uint64(0xFF)
        self._rounds(4)
        value: NDArray[np.uint64] = np.bitwise_xor.reduce(self._state)
        return value

    def _word(self, word: NDArray[np.uint64] | np.uint64) -> None:
        self._state[3] ^= word
        self._rounds(2)
        self._state[0] ^= word

    def _rounds(self, count: int) -> None:
        a, b, c, d = self._state
        for _ in range(count):
            self._mix(a, b, 13)
            self._turn(a, 32)
            self._mix(c, d, 16)
            self._mix(a, d, 21)
            self._mix(c, b, 17)
            self._turn(c, 32)

    def _mix(self, one: NDArray[np.uint64], two: NDArray[np.uint64], bits: int) -> None:
        one += two
        self._turn(two, bits)
        two ^= one

    def _turn(self, words: NDArray[np.uint64], bits: int) -> None:
        np.right_shift(words, np.uint64(64 - bits), out=self._room)
        words <<= np.uint64(bits)
        words |= self._room
