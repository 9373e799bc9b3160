"""Scopes by one coin per person, and at most k records per person."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfair.data.records import Records
from dpfair.errors import InputError
from dpfair.privacy.identities import text_rows
from dpfair.privacy.noise import Noise
from dpfair.privacy.split import (
    KeyedSplit,
    bound_units,
    coin_split,
    keyed_coins,
    uniform_numbers,
)

SHARES = {"train": 0.75, "release": 0.25}
ids = st.one_of(st.none(), st.text(max_size=3))


class FixedKey(Noise):
    """The same key for both of two neighbouring data sets."""

    def take(self, count):
        return b"k" * count


def members(units, scopes):
    return {name: Counter(units[i] for i in rows) for name, rows in scopes.items()}


def permutation_split(n, shares, noise):
    """The split of the reference implementation: a permutation of all rows."""
    order = np.argsort(noise.uniforms(n))
    cut = round(n * shares["train"])
    return {"train": np.sort(order[:cut]), "release": np.sort(order[cut:])}


def test_every_record_is_in_exactly_one_scope():
    scopes = coin_split(1000, {"a": 0.5, "b": 0.3, "c": 0.2}, Noise(1))
    assert list(scopes) == ["a", "b", "c"]
    assert sorted(np.concatenate(list(scopes.values())).tolist()) == list(range(1000))
    assert all((np.diff(rows) > 0).all() for rows in scopes.values())


@pytest.mark.parametrize("n", [0, 1])
def test_few_records(n):
    for units in (None, ["a"] * n):
        assert sum(map(len, coin_split(n, SHARES, Noise(1), units).values())) == n


def scope_sizes(split, rounds=3000, n=40):
    sizes = [len(split(n, SHARES, Noise(seed))["release"]) for seed in range(rounds)]
    return np.array(sizes)


def binomial_p_value(sizes, n, p):
    seen = np.bincount(sizes, minlength=n + 1)
    law = stats.binom.pmf(np.arange(n + 1), n, p) * len(sizes)
    keep = law > 5
    pooled = np.append(seen[keep], seen[~keep].sum()), np.append(law[keep], law[~keep].sum())
    return stats.chisquare(*pooled).pvalue


def by_units(n, shares, noise):
    return coin_split(n, shares, noise, [f"person {i}" for i in range(n)])


@pytest.mark.parametrize("split", [coin_split, by_units, lambda *how: by_places(*how)])
def test_coins_are_independent(split):
    assert binomial_p_value(scope_sizes(split), 40, 0.25) > 1e-6


def test_a_permutation_is_caught():
    assert binomial_p_value(scope_sizes(permutation_split), 40, 0.25) < 1e-6


def test_positions_are_alike_and_uncorrelated():
    rounds, n = 4000, 30
    chosen = np.zeros((rounds, n))
    for seed, row in enumerate(chosen):
        row[coin_split(n, SHARES, Noise(seed))["release"]] = 1
    z = (chosen.sum(axis=0) - rounds * 0.25) / (rounds * 0.25 * 0.75) ** 0.5
    assert np.abs(z).max() < 5
    correlations = np.corrcoef(chosen.T) - np.eye(n)
    assert np.abs(correlations).max() < 5.5 / rounds**0.5


def by_places(n, shares, noise):
    return KeyedSplit(shares, noise.take(32))(held(np.arange(n)))


def held(places, units=None):
    places = np.asarray(places, dtype=np.uint64)
    return SimpleNamespace(places=places, units=units)


def test_the_scope_of_a_record_follows_from_its_place_wherever_it_is_held():
    split = KeyedSplit(SHARES, b"key")
    whole = split.numbers(held(np.arange(1000)))
    for part in (np.arange(200, 300), np.arange(1000)[::-1], [7]):
        assert (split.numbers(held(part)) == whole[part]).all()
    other = KeyedSplit(SHARES, b"other").numbers(held(np.arange(1000)))
    assert (other != whole).any()


def test_the_scopes_of_some_records_are_found_once_for_every_split():
    records = Records.of_arrays(np.zeros((1000, 1)), np.zeros((1000, 0)), np.zeros(1000))
    for key in (b"one", b"two", b"one"):
        split = KeyedSplit(SHARES, key)
        parts = [records.map(split.only(scope)).places for scope in SHARES]
        for i, places in enumerate(parts):
            assert (places == np.flatnonzero(split.numbers(records) == i)).all()
        assert sum(map(len, parts)) == 1000


def test_one_thread_at_a_time_finds_the_scopes():
    """Another one could take half of them for all: a record would be in no scope, or in two."""
    records = Records.of_arrays(np.zeros((10, 1)), np.zeros((10, 0)), np.zeros(10))
    only = KeyedSplit(SHARES, b"key").only("train")
    with ThreadPoolExecutor(1) as other:
        with records.kept.lock:
            found = other.submit(only, records)
            with pytest.raises(TimeoutError):
                found.result(timeout=0.2)
        assert len(found.result(timeout=10)) == len(only(records))


def test_the_key_of_a_split_is_not_shown():
    assert "secret" not in repr(KeyedSplit(SHARES, b"secret"))


@settings(max_examples=60, deadline=None)
@given(st.lists(ids, min_size=1, max_size=30), st.data())
def test_removing_a_person_moves_nobody_else(units, data):
    gone = data.draw(st.sampled_from(units))
    rest = [u for u in units if u != gone]
    before = members(units, coin_split(len(units), SHARES, FixedKey(1), units))
    after = members(rest, coin_split(len(rest), SHARES, FixedKey(1), rest))
    changed = [name for name in SHARES if before[name] != after[name]]
    assert len(changed) == 1
    assert before[changed[0]] - after[changed[0]] == Counter({gone: units.count(gone)})


def test_a_permutation_moves_others():
    """The twin: with fixed randomness, one removal changes who is where on both sides."""
    people = [f"person {i}" for i in range(200)]
    before = members(people, permutation_split(200, SHARES, Noise(1)))
    after = members(people[1:], permutation_split(199, SHARES, Noise(1)))
    assert all(before[name] - Counter(people[:1]) != after[name] for name in SHARES)


@settings(max_examples=60, deadline=None)
@given(st.lists(ids, max_size=40), st.integers(0, 100))
def test_units_stay_together(units, seed):
    scopes = coin_split(len(units), SHARES, Noise(seed), units)
    homes = [{units[i] for i in rows} for rows in scopes.values()]
    assert not homes[0] & homes[1]


def test_order_does_not_matter_with_units():
    units = [f"person {i}" for i in range(100)]
    mixed = units[::-1]
    one = members(units, coin_split(100, SHARES, FixedKey(1), units))
    assert one == members(mixed, coin_split(100, SHARES, FixedKey(1), mixed))


def test_the_key_is_fresh_every_time():
    units = [f"person {i}" for i in range(100)]
    splits = {coin_split(100, SHARES, Noise(), units)["train"].tobytes() for _ in range(4)}
    assert len(splits) == 4
    positions = {coin_split(100, SHARES, Noise())["train"].tobytes() for _ in range(4)}
    assert len(positions) == 4


def test_missing_and_the_word_none_are_two_units():
    coins = keyed_coins(text_rows([None, "None"]), b"key")
    assert coins[0] != coins[1]


@pytest.mark.parametrize(
    "shares",
    [{}, {"a": 1.1}, {"a": 0.5, "b": 0.4}, {"a": 1.0, "b": 0.0}, {"a": 1.5, "b": -0.5},
     {"a": float("nan"), "b": 0.5}, {"a": float("inf")}],
    ids=str,
)  # fmt: skip
def test_bad_shares_are_refused(shares):
    with pytest.raises(InputError, match="shares"):
        coin_split(10, shares, Noise(1))


def test_keyed_coins_are_uniform_and_stable():
    identities = np.arange(50_000, dtype=np.uint64).reshape(-1, 1)
    coins = keyed_coins(identities, b"key")
    assert stats.kstest(coins, "uniform").pvalue > 1e-6
    assert stats.kstest(coins**1.05, "uniform").pvalue < 1e-6
    assert (coins == keyed_coins(identities, b"key")).all()
    assert (coins[::-1] == keyed_coins(identities[::-1], b"key")).all()
    assert (coins != keyed_coins(identities, b"other")).all()
    assert len(keyed_coins(identities[:0], b"key")) == 0


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_coins_never_reach_the_ends(byte):
    [coin] = uniform_numbers(np.frombuffer(byte * 8, dtype=np.uint64))
    assert 0 < coin < 1


def test_bound_units_keeps_the_first_records():
    assert bound_units(["a", "b", "a", "a", "b", "c"], 2).tolist() == [0, 1, 2, 4, 5]
    assert bound_units(["a", "b", "a", "a"], 1).tolist() == [0, 1]
    assert bound_units([], 3).tolist() == []
    assert bound_units([], 3).dtype == np.int64


@settings(max_examples=100, deadline=None)
@given(st.lists(ids, min_size=1, max_size=20), st.integers(1, 3), st.data())
def test_one_record_more_or_less_changes_only_its_person(units, k, data):
    """Removing *any* record must not let a record of somebody else in.

    People without an identifier are not one person: kept as such, p1 leaving would bring p2 in.
    """
    position = data.draw(st.integers(0, len(units) - 1))
    people = [u if u else f"unknown {i}" for i, u in enumerate(units)]
    rest = units[:position] + units[position + 1 :]
    rest_people = people[:position] + people[position + 1 :]
    before = Counter(people[i] for i in bound_units(units, k))
    after = Counter(rest_people[i] for i in bound_units(rest, k))
    gone = people[position]
    before.pop(gone, None)
    after.pop(gone, None)
    assert before == after


@settings(max_examples=100, deadline=None)
@given(st.lists(ids, max_size=30), st.integers(1, 3))
def test_nobody_has_more_than_k_records(units, k):
    kept = Counter(units[i] for i in bound_units(units, k))
    assert all(n == min(k, units.count(u)) for u, n in kept.items())
    assert set(kept) == {u for u in units if u}
