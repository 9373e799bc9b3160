"""Arrays without column names: the columns are those of the schema, by position."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sample_tables import LOANS, make_loans

from dpfair import PrivateFairClassifier, PrivateLogisticRegression, Schema, load_model, save_model
from dpfair.errors import SchemaError

SCHEMA = Schema.from_dict(LOANS)


def fair(**how):
    return PrivateFairClassifier(2, schema=SCHEMA, random_state=1, **how)


@pytest.fixture(scope="module")
def table():
    X, y = make_loans(400)
    return X, X.to_numpy(), y


def test_an_array_is_fitted_and_decided_as_the_frame(table, tmp_path):
    frame, array, y = table
    first, second = fair().fit(frame, y), fair().fit(array, y)
    assert first.release_ == second.release_
    expected = first.predict(frame)
    np.testing.assert_array_equal(second.predict(array), expected)
    np.testing.assert_array_equal(second.predict(array.tolist()), expected)
    np.testing.assert_array_equal(second.predict(frame), expected)
    again = load_model(save_model(second, tmp_path / "m.dpfair"))
    np.testing.assert_array_equal(again.predict(array), expected)


def test_groups_given_apart_leave_the_features_alone(table):
    frame, array, y = table
    apart = {"sensitive_features": frame["sex"]}
    model = fair().fit(array[:, :3], y, **apart)
    assert model.release_ == fair().fit(frame, y).release_
    np.testing.assert_array_equal(
        model.predict(array[:, :3], **apart), fair().fit(frame, y).predict(frame)
    )


def test_an_intersection_is_formed_by_features(table):
    frame, array, y = table
    several = {"schema": SCHEMA.with_sensitive(["job", "sex"]), "random_state": 1}
    ordered = frame.select("age", "income", "job", "sex")
    first = PrivateFairClassifier(2, **several).fit(ordered, y)
    second = PrivateFairClassifier(2, **several).fit(array, y)
    assert first.release_ == second.release_


@pytest.mark.parametrize("width", [1, 3, 5])
def test_another_number_of_columns_is_refused_with_the_expected_ones(width, table):
    _, array, y = table
    wide = np.hstack([array, array])[:, :width]
    with pytest.raises(SchemaError, match=r"the 4 columns .*age, income, job, sex.* got ") as e:
        fair().fit(wide, y)
    assert f"got {width} columns" in str(e.value)
    with pytest.raises(SchemaError, match="given apart"):
        fair().fit(array, y, sensitive_features=table[0]["sex"])


def test_names_of_an_array_are_still_names(table):
    _, array, y = table
    named = LOANS | {"sensitive": {"name": "x3", "values": ["f", "m"]}, "columns": [
        {"name": "x1", "kind": "numeric", "bounds": [0, 100]}]}  # fmt: skip
    model = PrivateLogisticRegression(2, schema=Schema.from_dict(named)).fit(array, y)
    assert len(model.predict(array)) == 400


@pytest.mark.parametrize("unit", [0, -5, "x0"])
def test_the_unit_is_at_its_own_position(unit, table):
    frame, array, y = table
    person = np.arange(400) // 2
    first = fair(unit="person").fit(frame.with_columns(person=pl.Series(person)), y)
    model = fair(unit=unit).fit(np.column_stack([person, array]), y)
    assert model.release_ == first.release_
    with pytest.raises(SchemaError, match="give unit by its position"):
        first.predict(np.column_stack([person, array]))


def test_the_sensitive_column_is_named_or_the_last_one(table):
    frame, array, y = table
    expected = fair().fit(frame, y).release_
    for sensitive in ("sex", 3, -1):
        assert fair(sensitive=sensitive).fit(array, y).release_ == expected
    by_job = fair(sensitive="job").fit(frame, y)
    reordered = frame.select("age", "income", "sex", "job").to_numpy()
    assert fair(sensitive="job").fit(reordered, y).release_ == by_job.release_
    with pytest.raises(SchemaError, match="give sensitive by its name"):
        fair(sensitive=2).fit(array, y)
