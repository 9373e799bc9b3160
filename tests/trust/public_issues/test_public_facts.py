"""Bugs that took what must be public from the data."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from record_arrays import numbers_in
from trust.public_issues.asking import EXTREME, SCHEMA, asked, fair, loans, with_rows

from dpfair import PrivacyLeakWarning, Schema
from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.encode import encode
from dpfair.errors import SchemaError
from dpfair.learners.features import design


def test_synthcity_278_bounds_come_from_the_data():
    """Minimum and maximum of the private records became the public range of the model."""
    X, y = loans()
    outlier = EXTREME | {"income": 10.0**9}
    model, other = fair(mode="reuse"), fair(mode="reuse")
    asked(model, X, y)
    asked(other, *with_rows(X, y, [outlier]))
    assert model.schema_.declared() == other.schema_.declared() == SCHEMA
    before = design("standardised", SCHEMA, encode(X, SCHEMA)).matrix()
    records = encode(with_rows(X, y, [outlier])[0], SCHEMA)
    assert numbers_in(records)[-1].tolist() == [90, 100]  # the declared bounds
    after = design("standardised", SCHEMA, records).matrix()
    np.testing.assert_array_equal(after[:-1], before)


def test_diffprivlib_106_the_label_set_is_inferred():
    """Classes were np.unique(y): without the last record of a class there was another model."""
    X, _ = loans()
    rare = np.array(["no"] * 59 + ["yes"])
    found = []
    for labels in (rare, rare == "no", rare == "yes", np.zeros(60), np.array(["maybe"] * 60)):
        model = fair(mode="reuse")
        shapes = [h.question.value.shape for h in asked(model, X, labels)]
        found.append((model.classes_.tolist(), shapes, model.scorer_.weights.shape))
    assert all(one == found[0] for one in found)
    assert found[0][0] == ["no", "yes"]


def test_borealis_12_the_data_is_scaled_by_itself():
    """Records were scaled by their own minimum and maximum before a private model saw them."""
    schema = Schema((Numeric("x", (0, 10)), Categorical("k", ("a", "b"))), Levels("y", ("0", "1")))
    one = encode(pl.DataFrame({"x": [5.0], "k": ["a"]}), schema)
    among = encode(pl.DataFrame({"x": [5.0, 1e300, -1e300, 2], "k": ["a", "c", None, "b"]}), schema)
    for features in ("binned", "standardised"):
        alone, first = (design(features, schema, r).matrix()[0] for r in (one, among))
        np.testing.assert_array_equal(alone, first)


def test_diffprivlib_90_bounds_are_read_off_the_data_with_a_warning():
    """Missing bounds were taken from the data, and only a warning told that it is not private."""
    X, y = loans()
    with pytest.warns(PrivacyLeakWarning):
        model = fair(schema=None, sensitive="sex").fit(X, y)
    assert not model.certificate_.privacy.private
    assert any("read off" in leak for leak in model.certificate_.privacy.leaks)
    with pytest.raises(SchemaError, match="not private"):
        fair(schema=None, sensitive="sex", strict=True).fit(X, y)
