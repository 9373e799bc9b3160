"""The division of the records into scopes, by one coin per person.

A random permutation of n rows would break parallel composition: removing one record would move
others to another scope. Here the scope of a record depends on its own coin alone, so that adding or
removing a record changes one scope by one record and leaves the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import InputError
from dpfair.privacy.floating import uniform_numbers
from dpfair.privacy.identities import text_rows
from dpfair.privacy.noise import Noise
from dpfair.privacy.siphash import Rows, siphash

__all__ = [
    "KeyedSplit",
    "bound_units",
    "coin_split",
    "keyed_coins",
    "numbers_of_scopes",
    "place_coins",
    "scopes_of",
    "unit_coins",
]

Scopes = NDArray[np.unsignedinteger[Any]]


def coin_split(
    n: int,
    shares: Mapping[str, float],
    noise: Noise,
    units: Sequence[str | None] | None = None,
) -> dict[str, NDArray[np.int64]]:
    """Assign every record to one of the named scopes, with the given probabilities.

    With ``units``, all records of a unit share one coin: a hash of the unit under a key that is
    drawn here and discarded. A fit uses :class:`KeyedSplit`.

    Examples
    --------
    >>> parts = coin_split(1000, {"train": 0.75, "release": 0.25}, Noise(seed=1))
    >>> sum(len(rows) for rows in parts.values())
    1000
    """
    coins = noise.uniforms(n) if units is None else unit_coins(units, noise.take(32))
    return scopes_of(coins, shares)


def unit_coins(units: Sequence[str | None], key: bytes) -> NDArray[np.float64]:
    """A uniform number per record, which all records of a unit share."""
    return keyed_coins(text_rows(units), key)


def keyed_coins(identities: Rows, key: bytes) -> NDArray[np.float64]:
    """A uniform number in (0, 1) per identity: the same for the same identity and key.

    Identities are rows of one width. Without the key, the coins of distinct ones cannot be told
    from independent ones.
    """
    return uniform_numbers(siphash(identities, blake2b(key, digest_size=16).digest()))


def place_coins(places: NDArray[np.uint64], key: bytes) -> NDArray[np.float64]:
    """A uniform number per record, by its place in the table: the same wherever it is held.

    Under a fresh secret key these are independent coins, one per record, like those of a generator
    that is asked once for every record in turn.
    """
    return keyed_coins(places[:, None], key)


@dataclass(frozen=True)
class KeyedSplit:
    """Which scope a record belongs to: by the coin of its person, or else of its place.

    The key is secret and used for one fit. (If it were known, a person who is replaced by another
    could change scope, and disjoint scopes would no longer compose in parallel under replace-one.)
    """

    shares: Mapping[str, float]
    key: bytes = field(repr=False)

    def __call__(self, records: Any) -> dict[str, NDArray[np.int64]]:
        """The positions of the records of every scope."""
        return scopes_of(self.coins(records), self.shares)

    def numbers(self, records: Any) -> Scopes:
        """The number of the scope of every record."""
        return numbers_of_scopes(self.coins(records), self.shares)

    def coins(self, records: Any) -> NDArray[np.float64]:
        """A uniform number per record."""
        if records.units is None:
            return place_coins(records.places, self.key)
        return unit_coins(records.units.tolist(), self.key)

    def only(self, scope: str) -> Callable[[Any], Any]:
        """A function that takes the records of one scope."""
        return partial(_records_of, self, list(self.shares).index(scope))


def _records_of(split: KeyedSplit, scope: int, records: Any) -> Any:
    with records.kept.lock:  # a task of a cluster may run twice at once
        kept = records.kept.drawer("scopes", split)
        if kept.note is None:  # all scopes have the same coins
            found = split.numbers(records)
            kept.empty("scopes", found.shape, found.dtype)[:] = found
            kept.note = True
        chosen = np.flatnonzero(kept.arrays["scopes"] == scope)
    return records.take(chosen)


def scopes_of(
    coins: NDArray[np.float64], shares: Mapping[str, float]
) -> dict[str, NDArray[np.int64]]:
    """The positions of the records of every scope, by one coin per record."""
    scopes = numbers_of_scopes(coins, shares)
    return {name: np.flatnonzero(scopes == i) for i, name in enumerate(shares)}


def numbers_of_scopes(coins: NDArray[np.float64], shares: Mapping[str, float]) -> Scopes:
    """The number of the scope of every record, by its coin."""
    weights = np.array(list(shares.values()), dtype=np.float64)
    if not (np.all(weights > 0) and abs(weights.sum() - 1) < 1e-9):
        raise InputError(f"Expected positive shares that add up to 1, got {dict(shares)}.")
    scopes = np.searchsorted(np.cumsum(weights)[:-1], coins, side="right")
    return scopes.astype(np.min_scalar_type(len(shares)), copy=False)


def bound_units(units: Sequence[str | None], rows_per_unit: int) -> NDArray[np.int64]:
    """The positions of the first ``rows_per_unit`` records of every unit.

    Which records of a person are kept depends on that person's records alone. Records without an
    identifier are left out: as records of one person, removing one would let another one in.

    Examples
    --------
    >>> bound_units(["a", "b", "a", "a"], 2).tolist()
    [0, 1, 2]
    """
    seen: dict[str | None, int] = {}
    kept = []
    for position, unit in enumerate(units):
        if not unit:
            continue
        seen[unit] = seen.get(unit, 0) + 1
        if seen[unit] <= rows_per_unit:
            kept.append(position)
    return np.array(kept, dtype=np.int64)
