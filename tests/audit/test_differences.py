"""Where two objects differ."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
import pytest

from dpfair.audit.differences import PerRecord, differences
from dpfair.privacy.events import gaussian_steps
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise


@dataclass
class Thing:
    value: object
    _hidden: object = None


class Slotted:
    __slots__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside


class OneSlot:
    __slots__ = "inside"

    def __init__(self, inside):
        self.inside = inside


class HiddenSlot:
    __slots__ = ("__inside",)

    def __init__(self, inside):
        self.__inside = inside


def subclass(kind, *content, extra):
    """A container or a number with an attribute of its own."""
    item = type("Sub", (kind,), {"__module__": "tests"})
    made = KINDS.setdefault(kind, item)(*content)
    made.extra = extra
    return made


KINDS: dict[type, type] = {}


def found(first, second, **how):
    return list(differences(first, second, "it", **how))


def closure(value):
    return lambda: value


def default(value):
    def rule(score, threshold=value):
        return score > threshold

    return rule


def keyword_default(value):
    def rule(score, *, threshold=value):
        return score > threshold

    return rule


def with_attribute(value):
    def rule(score):
        return score

    rule.threshold = value
    return rule


def compiled(value):
    made = {}
    exec(f"def rule(score): return score > {value}", made)
    return made["rule"]


@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        (1, 2, "it"),
        (1, 1.0, "it"),
        (1.0, np.nextafter(1.0, 2), "it"),
        ("a", "b", "it"),
        (None, 0, "it"),
        ([1, 2], [1, 3], "it[1]"),
        ([1, 2], [1], "it[1]"),
        ((1,), [1], "it"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "it.a.b"),
        ({"a": 1}, {}, "it.a"),
        ({1, 2}, {1, 3}, "it"),
        (np.array([1.0, 2]), np.array([1.0, 2.5]), "it"),
        (np.array([1.0]), np.array([1]), "it"),
        (np.zeros(1), np.zeros(1, dtype=np.int64), "it"),
        (np.array([[1.0]]), np.array([1.0]), "it"),
        (np.float64(1), np.float64(2), "it"),
        (np.array(["a", None], object), np.array(["a", "b"], object), "it"),
        (Thing(1), Thing(2), "it.value"),
        (Thing(1, _hidden=3), Thing(1, _hidden=4), "it._hidden"),
        (Thing(Thing(np.array([1]))), Thing(Thing(np.array([2]))), "it.value.value"),
        (Slotted(1), Slotted(2), "it.inside"),
        (Fraction(1, 3), Fraction(1, 4), "it._denominator"),
        (closure(1), closure(2), "it.closure[0]"),
        (default(1), default(2), "it.defaults[0]"),
        (keyword_default(1), keyword_default(2), "it.kwdefaults.threshold"),
        (with_attribute(1), with_attribute(2), "it.__dict__.threshold"),
        (compiled(1), compiled(2), "it.code"),
        (OneSlot(1), OneSlot(2), "it.inside"),
        (HiddenSlot(1), HiddenSlot(2), "it._HiddenSlot__inside"),
        (subclass(dict, extra=1), subclass(dict, extra=2), "it.__dict__.extra"),
        (subclass(list, [3], extra=1), subclass(list, [3], extra=2), "it.__dict__.extra"),
        (subclass(list, [3], extra=1), subclass(list, [4], extra=1), "it[0]"),
        (subclass(set, [3], extra=1), subclass(set, [4], extra=1), "it"),
        (subclass(set, [3], extra=1), subclass(set, [3], extra=2), "it.extra"),
        (subclass(float, 3, extra=1), subclass(float, 3, extra=2), "it.extra"),
        (subclass(float, 3, extra=1), subclass(float, 4, extra=1), "it"),
        (deque([1, 2]), deque([1, 3]), "it[1]"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "it (the order of its parts)"),
        ({1: "a"}, {1: "b"}, "it[1]"),
        ({1: "a", "1": "b"}, {1: "b", "1": "b"}, "it[1]"),
        (gaussian_steps(1.0, 1.0, 2), gaussian_steps(1.0, 1.0, 3), "it.count"),
    ],
)
def test_every_difference_is_found_where_it_is(first, second, where):
    assert found(first, second) == [where]
    assert found(first, first) == []


def test_a_table_that_a_model_keeps_is_found():
    assert found(Thing(pl.DataFrame({"a": [1]})), Thing(pl.DataFrame({"a": [2]})))


def test_not_a_number_is_equal_to_itself():
    assert found(float("nan"), float("nan")) == []
    assert found(np.array([np.nan]), np.array([np.nan])) == []


def test_an_added_attribute_is_a_difference():
    first, second = Thing(1), Thing(1)
    second.more = 5
    assert found(first, second) == ["it.more"]
    assert found(second, first) == ["it.more"]


def test_objects_without_attributes_are_alike_unless_c_code_may_keep_something():
    class Empty:
        pass

    assert found(Empty(), Empty()) == []
    assert found(partial(int, "1"), partial(int, "2")) == ["it"]
    assert found(object(), object()) == ["it"]


def test_noise_and_locks_are_left_out_and_ledgers_are_not():
    assert found(Thing(Noise(1)), Thing(Noise(2))) == []
    assert found(Thing(threading.Lock()), Thing(threading.Lock())) == []
    first, second = Ledger(1, 1e-5, noise=Noise(1)), Ledger(1, 1e-5, noise=Noise(2))
    assert found(first, second) == []
    second.charge(gaussian_steps(9.0, 1.0, 1), scope="", purpose="sum")
    assert found(first, second)


def test_no_part_hides_behind_another_that_is_gone():
    """What a function holds is listed for the comparison alone, and may lie where another lay."""
    first = [closure(i) for i in range(50)]
    for different in (1, 25, 49):
        second = [closure(-1 if i == different else i) for i in range(50)]
        assert found(first, second) == [f"it[{different}].closure[0]"]


def test_a_circle_has_an_end():
    first, second = Thing(1), Thing(1)
    first._hidden, second._hidden = first, second
    assert found(first, second) == []


def test_what_goes_to_the_owner_of_a_record_is_compared_for_shared_records():
    first, second = PerRecord(np.array([1, 0, 1])), PerRecord(np.array([1, 0]))
    assert found(first, second, shared=2) == []
    assert found(first, PerRecord(np.array([1, 1])), shared=2) == ["it"]
