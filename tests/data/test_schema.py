"""What a schema says about its groups and crosses; a wrong one is refused."""

import pytest
from sample_tables import LOANS, PEOPLE

from dpfair.data.columns import Levels, Numeric
from dpfair.data.schema import Schema
from dpfair.errors import SchemaError


@pytest.mark.parametrize(
    "build",
    [
        lambda: Schema((), Levels("y", ("0", "1"))),
        lambda: Schema((Numeric("y", (0, 1)),), Levels("y", ("0", "1"))),
    ],
)
def test_objects_are_checked_like_files(build):
    with pytest.raises(SchemaError):
        build()


def test_with_sensitive():
    schema = Schema.from_dict(PEOPLE)
    assert schema.with_sensitive("sex") is schema
    by_job = schema.with_sensitive("job")
    assert by_job.groups == ("a", "b")
    assert [c.name for c in by_job.columns] == ["age", "sex"]
    with pytest.raises(SchemaError, match="age"):
        schema.with_sensitive("age")


def test_a_cross_may_use_the_group():
    schema = Schema.from_dict(PEOPLE | {"crosses": [["sex", "job"]]})
    assert schema.with_sensitive("job").crosses == (("sex", "job"),)


def test_with_several_sensitive_columns():
    schema = Schema.from_dict(PEOPLE)
    both = schema.with_sensitive(["sex", "job"])
    assert both.groups == ("f, a", "f, b", "m, a", "m, b", "x, a", "x, b")
    assert [c.name for c in both.columns] == ["age", "job", "sex"]  # they stay features
    assert both.with_sensitive(("sex", "job")) is both
    back = both.with_sensitive("sex")
    assert back.groups == schema.groups
    assert [c.name for c in back.columns] == ["age", "job"]
    for names in (["sex", "sex"], ["sex", "age"], ["sex", "color"]):
        with pytest.raises(SchemaError):
            schema.with_sensitive(names)


def test_groups_formed_by_the_label_are_refused_as_that():
    same = LOANS | {"sensitive": {"name": "repaid", "values": ["no", "yes"]}}
    with pytest.raises(SchemaError, match="The label and the sensitive column are the same"):
        Schema.from_dict(same)
    with pytest.raises(SchemaError, match="'repaid': the groups need a column of their own"):
        Schema.from_dict(LOANS).with_sensitive("repaid")


def test_an_error_shows_a_schema_in_a_few_words(loan_schema):
    shown = repr(loan_schema)
    assert shown == f"Schema({len(loan_schema.columns)} columns, label='repaid', sensitive='sex')"
