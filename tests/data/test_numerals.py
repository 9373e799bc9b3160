"""Numbers as text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfair.data.numerals import numeral


@pytest.mark.parametrize(
    ("text", "decimal", "thousands", "number"),
    [
        ("1234.5", ".", "", 1234.5),
        ("$1,234.50", ".", ",", 1234.5),
        ("- $ 1,234", ".", ",", -1234),
        ("$-5", ".", "", -5),
        ("12,34,567", ".", ",", 1234567),
        ("1.234.567,89 €", ",", ".", 1234567.89),
        ("1 234,5", ",", " ", 1234.5),
        ("1\u202f234,5", ",", " ", 1234.5),
        ("1'234.5", ".", "'", 1234.5),
        ("0,5", ",", "", 0.5),
        (",5", ",", "", 0.5),
        ("12,5 %", ",", "", 12.5),
        ("1,5e3", ",", "", 1500),
        ("17", ",", ".", 17),
        ("1e400", ".", "", math.inf),
    ],
)
def test_numbers_as_files_write_them(text, decimal, thousands, number):
    assert numeral(text, decimal, thousands) == number


@pytest.mark.parametrize(
    ("text", "decimal", "thousands"),
    [
        ("0.5", ",", ""),
        ("1,5", ".", ","),
        ("1,23,4", ".", ","),
        ("1.5", ",", "."),
        ("1,234", ".", ""),
        ("12.05.2020", ",", "."),
        ("--5", ".", ""),
        ("-$-5", ".", ""),
        ("$", ".", ""),
        ("", ",", ""),
        ("five", ",", ""),
        ("١", ",", ""),
        ("1" + "0" * 500, ",", ""),
    ],
)
def test_what_is_no_number_is_missing(text, decimal, thousands):
    assert math.isnan(numeral(text, decimal, thousands))


@given(st.text(), st.sampled_from([(".", ""), (",", "."), (".", ","), (",", " ")]))
def test_no_text_is_an_error(text, form):
    assert isinstance(numeral(text, *form), float)
