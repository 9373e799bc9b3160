"""A column as a person looks at it."""

import polars as pl

from dpfair.data.file_form import FileForm
from dpfair.data.proposal.values import Values, sorted_values


def test_words_for_missing_values_are_missing_unless_they_are_declared():
    column = pl.Series(["a", "NA", None, "?", "a"])
    assert Values("c", column).texts == ["a", None, None, None, "a"]
    assert Values("c", column, kept=frozenset(["?"])).counts == {"a": 2, "?": 1}
    assert Values("c", column).present == 2


def test_numbers_are_read_in_the_form_of_the_file():
    values = Values("c", pl.Series(["0,5", "1,5", "NA"]), FileForm(decimal=","))
    assert values.finite.tolist() == [0.5, 1.5]
    assert values.are_numbers
    assert not values.whole
    assert not Values("c", pl.Series(["0,5", "1,5"])).are_numbers


def test_numbers_that_no_bound_can_have_do_not_count():
    assert Values("c", pl.Series([1.0, 1e308, float("inf"), None])).finite.tolist() == [1.0]


def test_numbers_are_sorted_by_value():
    assert sorted_values(["10", "b", "9", "a"]) == ("9", "10", "a", "b")
