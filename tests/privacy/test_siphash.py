"""SipHash-2-4 of many rows: its published values, and an independent form of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.privacy import siphash as module
from dpfair.privacy.siphash import siphash

MASK = 2**64 - 1
words = st.integers(0, MASK)


@pytest.mark.parametrize(
    ("length", "value"),
    [(0, 0x726FDB47DD0E0E31), (8, 0x93F5F5799A932462), (16, 0x3F2ACC7F57C29BDB)],
)
def test_the_values_of_its_authors(length, value):
    row = np.frombuffer(bytes(range(length)), dtype="<u8").reshape(1, -1)
    assert siphash(row, bytes(range(16))).tolist() == [value]


@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(0, 40), st.binary(min_size=16, max_size=16))
def test_rows_are_hashed_one_by_one(data, width, key):
    rows = data.draw(st.lists(st.lists(words, min_size=width, max_size=width), max_size=4))
    array = np.array(rows, dtype=np.uint64).reshape(len(rows), width)
    assert siphash(array, key).tolist() == [plain_siphash(row, key) for row in rows]


def test_the_hash_of_a_row_does_not_depend_on_its_chunk(monkeypatch):
    rows = np.arange(60, dtype=np.uint64).reshape(20, 3)
    whole = siphash(rows, b"k" * 16)
    assert len(set(whole.tolist())) == 20
    monkeypatch.setattr(module, "_CHUNK", 7)
    assert (siphash(rows, b"k" * 16) == whole).all()
    assert (siphash(np.asfortranarray(rows)[::-1], b"k" * 16) == whole[::-1]).all()


def plain_siphash(row, key):
    """The algorithm as its paper states it."""
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]

    def rotated(x, b):
        return (x << b | x >> (64 - b)) & MASK

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK
            v[1] = rotated(v[1], 13) ^ v[0]
            v[0] = rotated(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK
            v[3] = rotated(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK
            v[3] = rotated(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK
            v[1] = rotated(v[1], 17) ^ v[2]
            v[2] = rotated(v[2], 32)

    for word in [*row, (8 * len(row) % 256) << 56]:
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
