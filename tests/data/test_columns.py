"""The kinds of columns: derived constants, checks, and tables of facts."""

import math
from dataclasses import fields

import pytest

from dpfair.data.columns import COLUMN_KINDS, Categorical, Levels, Numeric
from dpfair.data.schema import Schema
from dpfair.errors import SchemaError
from dpfair.learners.features import FEATURES


def test_defaults_of_a_numeric_column():
    column = Numeric("a", (0, 100))
    assert column.standard == (50, 50)
    assert column.cuts == tuple(range(10, 100, 10))
    declared = Numeric("a", (0, 100), center=1, scale=2, edges=(3,))
    assert declared.standard == (1, 2)
    assert declared.cuts == (3,)


@pytest.mark.parametrize("bounds", [(1e306, 8e306), (-8e306, 8e306), (-5e-324, 5e-324)])
def test_derived_constants_are_finite(bounds):
    """An infinite center would make infinite features, and those NaN gradients."""
    column = Numeric("a", bounds)
    assert all(map(math.isfinite, [*column.standard, *column.cuts]))


@pytest.mark.parametrize(
    "build",
    [
        lambda: Numeric("a", ("x", "y")),
        lambda: Numeric("a", (1,)),
        lambda: Numeric("a", (0, 1), scale=0),
        lambda: Categorical("a", (1, 2)),
        lambda: Levels("a", ("x",)),
    ],
)
def test_objects_are_checked_like_files(build):
    with pytest.raises(SchemaError):
        build()


@pytest.mark.parametrize("kind", [*COLUMN_KINDS, Schema], ids=lambda kind: kind.__name__)
def test_every_attribute_is_a_fact(kind):
    names = [fact.name for fact in kind.facts]
    assert len(set(names)) == len(names)
    assert set(names) == {field.name for field in fields(kind)} - {"name", "columns"}
    for fact in kind.facts:
        assert set(fact.used_by) <= {*FEATURES, "trees"}


@pytest.mark.parametrize("fact", ["found", "date", "missing", "other"])
def test_only_facts_that_a_fit_can_find_are_listed_as_found(fact):
    assert Numeric("age", found=("edges",)).found == ("edges",)
    with pytest.raises(SchemaError, match="no such facts"):
        Numeric("age", found=(fact,))
