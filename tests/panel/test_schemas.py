"""What the schemas of the panel state, and what they do not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfair.data.columns import Categorical, Numeric
from dpfair.datasets import DATASETS
from scripts.panel.prepare import GROUP
from scripts.panel.schemas import bounds_schema, outward, stated

numbers = st.integers(-(10**9), 10**9)


@pytest.mark.parametrize(
    ("found", "bounds"),
    [
        ((18, 68), (10, 70)),
        ((0, 1), (0, 1)),
        ((0.02, 1.95), (0, 2)),
        ((44.8905, 45.0512), (44.8, 45.1)),
        ((-502.3, 1536.8), (-1000, 2000)),
        ((0.0012, 0.0048), (0.001, 0.005)),
    ],
)
def test_bounds_are_rounded_outwards(found, bounds):
    low, high = outward(*found)
    assert (low, high) == bounds


@given(numbers, numbers, st.sampled_from([1, 100, 10**6]))
def test_bounds_contain_the_values_and_are_not_much_wider(one, other, divisor):
    low, high = sorted((one / divisor, other / divisor))
    if low == high:
        return
    bounds = outward(low, high)
    assert bounds[0] <= low < high <= bounds[1]
    assert bounds[1] - bounds[0] <= 3 * (high - low) * (1 + 1e-9)
    assert all(math.isfinite(bound) for bound in bounds)


def test_a_schema_has_bounds_categories_label_and_groups_only(data):
    schema = bounds_schema(data)
    assert schema.columns == (
        Numeric("age", (10, 70)),
        Numeric("income", schema.numeric[1].bounds),
        Categorical("job", ("a", "b", "c")),
    )
    assert schema.label.values == ("no", "yes")
    assert schema.sensitive is not None
    assert (schema.sensitive.name, schema.groups) == (GROUP, ("young", "old"))
    assert schema.rows is None
    assert schema.reviewed


def test_bounds_of_a_shipped_schema_lose_every_other_fact():
    shipped = DATASETS["adult"].schema
    schema = stated(shipped, "bounds")
    assert (schema.rows, schema.crosses) == (None, ())
    for column, before in zip(schema.columns, shipped.columns, strict=True):
        if isinstance(column, Numeric):
            assert column == Numeric(before.name, before.bounds)
        else:
            assert column == Categorical(before.name, before.values)
    assert stated(shipped, "all") is shipped


def test_kinds_have_neither_bounds_nor_categories():
    shipped = DATASETS["adult"].schema
    schema = stated(shipped, "kinds")
    assert schema.columns == tuple(type(column)(column.name) for column in shipped.columns)
    assert (schema.rows, schema.crosses) == (None, ())
    assert (schema.label, schema.sensitive) == (shipped.label, shipped.sensitive)
