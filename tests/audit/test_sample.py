"""Public tables for audits."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from record_arrays import numbers_in
from sample_tables import LOANS

from dpfair import InputError, Schema
from dpfair.audit.sample import (
    PERSON,
    probe_table,
    sample_records,
    sample_schema,
    table_of,
)
from dpfair.data.columns import Numeric
from dpfair.data.encode import encode, level_codes
from dpfair.datasets import DATASETS


@pytest.fixture(params=["sample", "loans", *DATASETS, "groups by two", "no groups"])
def schema(request):
    if request.param == "sample":
        return sample_schema()
    if request.param == "groups by two":
        return sample_schema().with_sensitive(["job", "home"])
    if request.param == "no groups":
        return dataclasses.replace(sample_schema(), sensitive=None)
    if request.param == "loans":
        return Schema.from_dict(LOANS)
    return DATASETS[request.param].schema


def test_a_sample_fits_its_schema(schema):
    X, y = table_of(schema, sample_records(schema, 300))
    records = encode(X, schema)
    assert not np.isnan(numbers_in(records)).any()
    for column, codes in zip(schema.categorical, records.codes, strict=True):
        assert set(codes) <= set(range(len(column.values)))
    assert set(records.groups) <= set(range(len(schema.groups)))
    assert set(level_codes(y, schema.label)) == {0, 1}
    for column in schema.numeric:
        assert X[column.name].is_between(*column.bounds).all()


def test_a_sample_is_always_the_same_and_longer_ones_begin_alike():
    schema = sample_schema()
    assert sample_records(schema, 20) == sample_records(schema, 30)[:20]
    assert sample_records(schema, 20, seed=1) != sample_records(schema, 20)


def test_all_values_and_both_labels_occur_and_labels_can_be_learned():
    schema = sample_schema()
    X, y = table_of(schema, sample_records(schema, 200))
    for column in schema.categorical:
        assert set(X[column.name]) == set(column.values)
    positive = X["income"].to_numpy()[y == "yes"].mean()
    assert positive > X["income"].to_numpy()[y == "no"].mean() + 5
    assert 0.2 < (X["gain"] == 0).mean() < 0.6


def test_every_record_is_another_persons():
    X, _ = table_of(sample_schema(), sample_records(sample_schema(), 50))
    assert X[PERSON].n_unique() == 50


def test_a_table_can_be_all_text_and_says_the_same():
    schema = sample_schema()
    records = sample_records(schema, 20)
    records[3] |= {"income": None, "gain": float("nan")}
    numbers, texts = table_of(schema, records).X, table_of(schema, records, as_text=True).X
    assert set(texts.dtypes) == {pl.String}
    np.testing.assert_array_equal(
        numbers_in(encode(numbers, schema)), numbers_in(encode(texts, schema))
    )


def test_the_probe_is_not_the_sample():
    schema = sample_schema()
    sample = table_of(schema, sample_records(schema, 12)).X
    assert not probe_table(schema).X.equals(sample)


def test_a_schema_that_takes_the_name_of_the_person_is_refused():
    schema = sample_schema()
    taken = dataclasses.replace(schema, columns=(*schema.columns, Numeric(PERSON, (0, 1))))
    with pytest.raises(InputError, match="needs the name"):
        sample_records(taken, 3)
