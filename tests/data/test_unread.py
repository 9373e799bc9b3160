"""Columns that say little: marks of missing values are missing, and other words cannot be read."""

from __future__ import annotations

import polars as pl
import pytest
from sample_tables import LOANS

from dpfair import Schema
from dpfair.data import unread
from dpfair.data.encode import encode
from dpfair.data.unread import Unread

SCHEMA = Schema.from_dict(
    {
        "label": {"name": "y", "values": ["0", "1"]},
        "columns": [
            {"name": "age", "kind": "numeric", "bounds": [0, 99], "missing": [-999]},
            {"name": "job", "kind": "categorical", "values": ["a", "b"], "missing": ["none"]},
        ],
    }
)


def found(*tables, quoting=False):
    """The sentences about tables that follow each other."""
    counts = Unread(SCHEMA)
    for rows in tables:
        table = pl.DataFrame(rows, schema={"age": pl.String, "job": pl.String}, orient="row")
        counts.add(table, encode(table, SCHEMA))
    return counts.sentences(quoting=quoting)


SOUND, MARKED, BLANK, ODD = ("5", "a"), ("-999.0", "none"), (None, ""), ("five", "c")


def test_nothing_is_said_about_sound_columns():
    assert found() == []
    assert found([SOUND] * 20) == []
    assert found([SOUND] * 11 + [ODD] * 9) == []
    assert found([BLANK] * 9) == []  # too few to be strange


@pytest.mark.parametrize("rows", [MARKED, BLANK])
def test_marks_and_blanks_are_missing(rows):
    assert found([rows] * 10 + [SOUND] * 10) == [
        "50% of the values of 'age' are missing.",
        "50% of the values of 'job' are missing.",
    ]


def test_values_of_another_unit_are_outside_of_the_bounds():
    months, bounds = ("400", "a"), [("0", "a"), ("99", "a")]
    said = "50% of the values of 'age' are outside of the bounds 0 to 99: is the unit right?"
    assert found([months] * 10 + bounds * 5) == [said]
    assert found([months] * 10, bounds * 5) == [said]
    assert found([months] * 10 + bounds * 5 + [SOUND]) == []
    assert found([months] * 9) == []  # too few to be strange
    assert found(bounds * 20) == []
    for sorted_rows in (bounds * 1500 + [months] * 3000, [months] * 3000 + bounds * 1500):
        assert found(sorted_rows) == [said]
    assert found(bounds * 3000, [months] * 10) == []


def test_dates_outside_of_their_bounds_have_no_unit():
    column = {"name": "day", "kind": "numeric", "date": "%Y-%m-%d"}
    column |= {"bounds": ["2020-01-01", "2021-01-01"]}
    schema = Schema.from_dict(LOANS | {"columns": [column]})
    table = pl.DataFrame({"day": ["2023-05-05"] * 10, "sex": "f"})
    unread = Unread(schema)
    unread.add(table, encode(table, schema))
    said = "100% of the values of 'day' are outside of the bounds 2020-01-01 to 2021-01-01."
    assert unread.sentences() == [said]


def test_other_words_are_quoted_if_they_may_be():
    age, job = found([ODD] * 2 + [MARKED], quoting=True)
    assert age.startswith("67% of the values of 'age' are no number, such as 'five': the schema")
    assert job == (
        "67% of the values of 'job' are no category of the model, such as 'c': it has 'a', 'b'."
    )
    assert "five" not in "".join(found([ODD]))


def test_tables_that_follow_each_other_are_one_table(monkeypatch):
    rows = [SOUND, ODD, MARKED, ("six", "d"), ODD, BLANK, ("six", "d"), ("six", "e"), ODD]
    whole = found(rows, quoting=True)
    assert "'five', 'six'" in whole[0]
    for cut in range(len(rows) + 1):
        assert found(rows[:cut], rows[cut:], quoting=True) == whole
    monkeypatch.setattr(unread, "_MOST_WORDS", 1)  # others are counted, but not named
    assert (
        "67% of the values of 'age' are no number, such as 'five': the"
        in found(rows[:2], rows[2:], quoting=True)[0]
    )
