"""Records are recognised however they are divided, and a change of any of them is noticed."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sample_tables import LOANS, make_loans

from dpfair import Schema
from dpfair.data.encode import encode, level_codes
from dpfair.data.fingerprint import fingerprint
from dpfair.data.in_parts import added

KEY = bytes(range(16))
KINDS = {**LOANS, "columns": [{"name": c["name"], "kind": c["kind"]} for c in LOANS["columns"]]}


def loans():
    X, y = make_loans(500)
    jobs = [None if i % 9 == 0 else f"job {i % 37}" for i in range(500)]
    return X.with_columns(job=pl.Series(jobs)), y


def marked(X, y, schema, first=0, key=KEY):
    records = encode(X, schema).with_labels(level_codes(y, schema.label))
    object.__setattr__(records, "first", first)
    return [int(number) for [number] in fingerprint(schema, key, records)]


@pytest.fixture(params=[LOANS, KINDS], ids=["declared", "kinds"])
def schema(request):
    return Schema.from_dict(request.param)


@pytest.mark.parametrize("cuts", [[250], [1, 2, 499], [100, 100, 300]])
def test_it_does_not_depend_on_the_parts(cuts, schema, monkeypatch):
    """Each part has a list of its own words."""
    X, y = loans()
    whole = marked(X, y, schema)
    assert whole[0] == 500
    ends = [0, *cuts, 500]
    found = [
        [np.array([n], np.uint64) for n in marked(X[a:b], y[a:b], schema, a)]
        for a, b in itertools.pairwise(ends)
    ]
    assert [int(number) for [number] in added(found)] == whole
    monkeypatch.setattr("dpfair.data.fingerprint._AT_ONCE", 7)
    assert marked(X, y, schema) == whole


@pytest.mark.parametrize(
    ("column", "value"),
    [("income", 5.5), ("income", None), ("job", "nurse"), ("job", "job 5"), ("job", None)],
)
def test_one_value_changes_it(column, value):
    (X, y), schema = loans(), Schema.from_dict(KINDS)
    values = X[column].to_list()
    assert values[300] not in (value, None)
    values[300] = value
    other = X.with_columns(pl.Series(column, values, strict=False))
    assert marked(other, y, schema) != marked(X, y, schema)


def test_one_group_changes_it(schema):
    X, y = loans()
    sexes = X["sex"].to_list()
    sexes[300] = "m" if sexes[300] == "f" else "f"
    assert marked(X.with_columns(sex=pl.Series(sexes)), y, schema) != marked(X, y, schema)


def test_a_value_out_of_bounds_is_not_the_bound():
    (X, y), schema = make_loans(500), Schema.from_dict(LOANS)
    place = pl.int_range(pl.len()) == 300
    one, two = (
        X.with_columns(income=pl.when(place).then(value).otherwise("income"))
        for value in (100.0, 250.0)
    )
    assert marked(one, y, schema) != marked(two, y, schema)


def test_persons_change_it(schema):
    X, _ = loans()
    records, persons = encode(X, schema), np.arange(500) // 2
    one, two = (
        fingerprint(schema, KEY, replace(records, units=np.array([f"p{i}" for i in units])))
        for units in (persons, np.roll(persons, 1))
    )
    assert one[0] == two[0]
    assert one[1] != two[1]


def test_order_labels_and_the_key_change_it(schema):
    X, y = loans()
    whole = marked(X, y, schema)
    assert marked(X[::-1], y[::-1], schema) != whole
    assert marked(X, np.roll(y, 1), schema) != whole
    assert marked(X, y, schema, first=1) != whole
    assert marked(X, y, schema, key=bytes(16)) != whole
