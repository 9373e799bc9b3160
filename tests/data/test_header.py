"""The first line of a CSV file: the delimiter, the names, and what is wrong with it."""

from pathlib import Path

import pytest

from dpfair.data.header import find_delimiter, read_header
from dpfair.errors import InputError

PATH = Path("table.csv")


@pytest.mark.parametrize(
    ("header", "delimiter", "names"),
    [
        ("age,sex", ",", ["age", "sex"]),
        ("age;sex", ";", ["age", "sex"]),
        ("age\tsex", "\t", ["age", "sex"]),
        ("age|sex", "|", ["age", "sex"]),
        ("income, net;age;sex", ";", ["income, net", "age", "sex"]),
        ('"a;b;c",d', ",", ["a;b;c", "d"]),
        ('"say ""a|b|c""";d', ";", ['say "a|b|c"', "d"]),
        ("a,b;c", ",", ["a", "b;c"]),
        ("age", ",", ["age"]),
        (";a;;b;\r", ";", ["", "a", "_duplicated_0", "b", "_duplicated_1"]),
    ],
)
def test_the_delimiter_is_the_most_frequent_mark_outside_quotes(header, delimiter, names):
    assert find_delimiter(header) == delimiter
    assert read_header(header, delimiter, PATH) == names


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ('age,5" disk', "the quote at character 6 is inside a name"),
        ('age,"sex', "the quote at character 5 is not closed"),
        ('age,"se"x', "the quote at character 8 is closed before the name ends"),
        ('"a""', "the quote at character 1 is not closed"),
        ('"a","b"" ,c', "the quote at character 5 is not closed"),
        ("", "it is empty"),
        ("a\rb", "character 2 is a carriage return"),
        ("a" * 200_000, "too long"),
    ],
)
def test_an_error_says_which_character_is_the_problem(header, problem):
    with pytest.raises(InputError, match="is not the header of a table: ") as caught:
        read_header(header, ",", PATH)
    assert problem in str(caught.value)


def test_a_name_that_is_there_twice_is_refused():
    with pytest.raises(InputError, match="has the name 'a' twice: rename one"):
        read_header("a,b,a", ",", PATH)
