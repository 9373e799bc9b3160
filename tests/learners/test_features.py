"""Feature maps: the paper's encoding, and bins whose rows all have norm one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dpfair.learners.features import FEATURES, design, feature_names
from dpfair.table import encode


@pytest.mark.parametrize(("name", "width"), [("adult", 102), ("credit", 85)])
def test_the_papers_encoding_has_102_and_85_features(name, width, request):
    data = request.getfixturevalue(name)
    names = feature_names("standardised", data.schema)
    assert len([n for n in names if n != "constant" and not n.startswith("group=")]) == width
    matrix = design("standardised", data.schema, encode(data.X[:50], data.schema)).matrix()
    assert matrix.shape == (50, width + 2)


@pytest.mark.parametrize("features", FEATURES)
def test_every_parameter_has_a_name(features, loans, loan_schema):
    rows = design(features, loan_schema, encode(loans[0], loan_schema))
    names = feature_names(features, loan_schema)
    assert rows.width == len(names) == len(set(names))


def test_standardised_rows_are_what_their_names_say(loans, loan_schema):
    X, _ = loans
    matrix = design("standardised", loan_schema, encode(X, loan_schema)).matrix()
    columns = dict(zip(feature_names("standardised", loan_schema), matrix.T, strict=True))
    np.testing.assert_allclose(columns["income"], (X["income"].to_numpy() - 50) / 25, atol=1e-6)
    np.testing.assert_array_equal(columns["group=m"], X["sex"].to_numpy() == "m")
    np.testing.assert_array_equal(columns["job=nurse"], X["job"].to_numpy() == "nurse")
    np.testing.assert_array_equal(columns["constant"], 1)


def test_binned_rows_have_norm_one_whatever_they_say(loans, loan_schema):
    X, _ = loans
    odd = X[:4].with_columns(
        age=pl.Series([math.nan, -1e9, 1e9, 30.0]), job=pl.Series(["?", None, "nurse", "clerk"])
    )
    matrix = design("binned", loan_schema, encode(odd, loan_schema)).matrix()
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)
    names = feature_names("binned", loan_schema)
    assert matrix[0, names.index("age missing")] > 0
    assert matrix[0, names.index("job other")] > 0
    assert matrix[1, names.index("job other")] > 0


def test_an_edge_belongs_to_the_bin_above(loan_schema):
    column = replace(loan_schema.numeric[0], edges=(30.0, 60.0))
    schema = replace(loan_schema, columns=(column,))
    table = pl.DataFrame({"age": [29.99, 30.0, 59.0, 60.0], "sex": ["f"] * 4})
    matrix = design("binned", schema, encode(table, schema)).matrix()
    assert matrix[:, :3].argmax(axis=1).tolist() == [0, 1, 1, 2]
