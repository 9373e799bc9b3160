"""A table compared with its schema: exact numbers, for internal use."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dpfair.data.check import check_table
from dpfair.data.schema import Schema

N = 3000
SCHEMA = Schema.from_dict(
    {
        "label": {"name": "repaid", "values": ["no", "yes"]},
        "sensitive": {"name": "sex", "values": ["f", "m"]},
        "columns": [
            {"name": "age", "kind": "numeric", "bounds": [18, 90], "missing": [-1]},
            {"name": "income", "kind": "numeric", "bounds": [0, 100]},
            {"name": "job", "kind": "categorical", "values": ["clerk", "?"], "missing": ["none"]},
        ],
    }
)


def table(**changed):
    rng = np.random.default_rng(3)
    columns = {
        "age": rng.integers(18, 90, N),
        "income": rng.uniform(0, 100, N),
        "job": rng.choice(["clerk", "?"], N),
        "sex": rng.choice(["f", "m"], N),
        "repaid": rng.choice(["no", "yes"], N),
    }
    return pl.DataFrame(columns | changed)


def first(share, value, others):
    """A column whose first records have this value."""
    return [value if i < share * N else other for i, other in enumerate(others)]


def texts(found):
    return " ".join(problem.text for problem in found.problems)


def test_a_table_that_fits():
    found = check_table(table(), SCHEMA)
    assert not found.problems
    assert not found.spoilt
    assert sum(found.label.declared.values()) == N
    assert found.duplicates == 0
    assert [(c.missing, c.outside, c.unknown) for c in found.columns] == [(0, 0, 0)] * 3


def test_undeclared_labels_and_groups_are_counted():
    labels = first(0.1, "maybe", table()["repaid"])
    groups = first(0.6, "x", table()["sex"])
    found = check_table(table(repaid=labels, sex=groups), SCHEMA)
    assert found.label.undeclared == {"maybe": N // 10}
    assert found.label.undeclared_share == 0.1
    assert found.groups.undeclared == {"x": 6 * N // 10}
    assert "10.0% of the records have an undeclared label" in texts(found)
    assert [p.serious for p in found.problems] == [False, True]


@pytest.mark.parametrize("column", ["repaid", "sex"])
def test_no_declared_value_at_all_spoils_a_fit(column):
    found = check_table(table(**{column: ["J", "N"] * (N // 2)}), SCHEMA)
    assert found.spoilt
    assert "No record has a declared" in texts(found)


def test_undeclared_words_are_shown_as_they_are_written():
    """Also those that often stand for a missing value; another spelling is named."""
    labels = ["n/a", None, " "] + ["YES "] * 5 + table()["repaid"].to_list()[8:]
    found = check_table(table(repaid=labels), SCHEMA)
    assert found.label.undeclared == {"YES ": 5, "(missing)": 2, "n/a": 1}
    said = "'YES ' of 5 records is another spelling of the label 'yes'."
    assert [problem.text for problem in found.problems] == [said]


def test_text_in_another_encoding_is_noticed():
    found = check_table(table(job=["s\ufffdlf"] * N), SCHEMA)
    assert "Characters of job are not in the encoding utf-8: state that" in texts(found)


def test_missing_columns_spoil_a_fit():
    found = check_table(table().drop("age", "sex"), SCHEMA)
    assert found.spoilt
    assert "no column 'age'" in texts(found)
    assert "'sex'" in texts(found)
    assert found.groups is None


def test_shares_of_every_column():
    ages = first(0.1, "-1", first(0.3, "200", first(0.6, "old", ["30"] * N)))
    jobs = first(0.1, "none", first(0.3, "Clerk ", ["clerk"] * N))
    found = check_table(table(age=ages, job=jobs), SCHEMA)
    age, _, job = found.columns
    assert (age.missing, age.outside, age.unknown) == (0.1, 0.2, 0.3)
    assert (job.missing, job.outside, job.unknown) == (0.1, 0, 0.2)
    assert "are no numbers, such as 'old' (900)" in texts(found)
    assert "differ from categories by spaces or capitals only" in texts(found)
    assert found.spoilt  # more than half of the ages say nothing
    jobs = first(0.3, "Clerk ", ["clerk"] * N)
    assert not check_table(table(job=jobs), SCHEMA).spoilt


def test_unit_errors():
    incomes = table()["income"] * 1000
    found = check_table(table(income=incomes), SCHEMA)
    assert "values divided by 1000 would fit" in texts(found)
    assert found.spoilt
    found = check_table(table(income=table()["income"] / 1000), SCHEMA)
    assert "fills less than a hundredth of its bounds" in texts(found)
    assert not found.spoilt


def test_a_reversed_label_is_noticed():
    schema = Schema.from_dict(
        SCHEMA.to_dict() | {"label": {"name": "repaid", "values": ["yes", "no"]}}
    )
    assert "reads like the bad outcome" in texts(check_table(table(), schema))


def test_small_and_empty_groups():
    found = check_table(table(sex=first(0.99, "f", ["m"] * N)), SCHEMA)
    assert "Small groups" in texts(found)
    assert "m (30)" in texts(found)
    assert "Groups without records: m." in texts(check_table(table(sex=["f"] * N), SCHEMA))


def test_duplicates_identifiers_and_giveaways():
    twice = pl.concat([table(), table()])
    assert check_table(twice, SCHEMA).duplicates == N
    assert "equal an earlier one" in texts(check_table(twice, SCHEMA))
    numbers = check_table(table(age=range(N)), SCHEMA)
    assert "'age' looks like an identifier" in texts(numbers)
    jobs = table()["repaid"].replace({"yes": "clerk", "no": "?"})
    assert "'job' gives the label away" in texts(check_table(table(job=jobs), SCHEMA))


def test_ragged_lines_are_counted():
    found = check_table(table(), SCHEMA, (5, [5] * 2900 + [4] * 70 + [6] * 30))
    assert found.lines == (70, 30)
    assert "70 lines have fewer cells than the header and 30 have more" in texts(found)
    assert not found.spoilt
    assert check_table(table(), SCHEMA, (5, [5] * 2400 + [4] * 600)).spoilt


@pytest.mark.parametrize(("share", "spoilt"), [(0.1, False), (0.2, True)])
def test_a_fifth_of_undeclared_records_spoils_a_fit(share, spoilt):
    for name in ("repaid", "sex"):
        found = check_table(table(**{name: first(share, "x", table()[name])}), SCHEMA)
        assert found.spoilt is spoilt


def test_few_records_need_a_large_epsilon():
    some = check_table(table()[:1000], SCHEMA)
    assert "1,000 records are few: as a rule of thumb, a fit needs epsilon 3 or more" in texts(some)
    assert not some.spoilt
    assert check_table(table()[:300], SCHEMA).spoilt
    assert not check_table(table()[:300], SCHEMA, training=False).problems


def test_a_schema_that_nobody_reviewed_is_told():
    draft = replace(SCHEMA, reviewed=False)
    assert "then write reviewed = true" in texts(check_table(table(), draft))


def test_new_records_need_no_label():
    assert not check_table(table().drop("repaid"), SCHEMA, training=False).problems
    assert check_table(table().drop("repaid"), SCHEMA).spoilt


def test_another_unit_is_far_from_the_center_that_was_found():
    income = {"name": "income", "kind": "numeric", "center": 50, "scale": 30, "edges": [30, 70]}
    found = income | {"found": ["center", "scale", "edges"]}
    schema = Schema.from_dict(SCHEMA.to_dict() | {"columns": [found]})
    assert not check_table(table(), schema).problems
    pennies = table(income=table()["income"] * 100)
    assert "far from the center 50" in texts(check_table(pennies, schema))


def test_groups_of_several_columns():
    schema = Schema.from_dict(
        SCHEMA.to_dict()
        | {
            "sensitive": {"columns": ["sex", "job"]},
            "columns": [
                {"name": "sex", "kind": "categorical", "values": ["f", "m"]},
                {"name": "job", "kind": "categorical", "values": ["clerk", "?"]},
            ],
        }
    )
    found = check_table(table(job=first(0.2, "x", table()["job"])), schema)
    assert sum(found.groups.declared.values()) == 8 * N // 10
    assert found.groups.undeclared == {"(other combinations)": N // 5}
