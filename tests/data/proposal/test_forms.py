"""The form of numbers and dates is found by trying all usual ones."""

import datetime as dt

import pytest

from dpfair.data.proposal.forms import DATE_FORMATS, find_date_format, find_number_form


@pytest.mark.parametrize(
    ("columns", "form"),
    [
        ([["1.5", "2"]], (".", "")),
        ([["1,5", "2"]], (",", "")),
        ([["1,234", "56,789"]], (".", ",")),
        ([["$1,234.50", "$7"], ["0.5", "2"]], (".", ",")),
        ([["1.234,50 €", "7"], ["0,5", "2"]], (",", ".")),
        ([["1 234,5", "7"]], (",", " ")),
        ([["1'234.5", "7"]], (".", "'")),
        ([["a", "b"], []], (".", "")),
        ([["12.05.2020", "13.06.2021"]], (".", "")),
    ],
)
def test_number_forms(columns, form):
    assert find_number_form(columns) == form


@pytest.mark.parametrize("form", DATE_FORMATS)
def test_every_format_finds_its_dates(form):
    dates = [dt.datetime(2001 + i % 20, 1 + i % 12, 13 + i % 15, 14, i) for i in range(50)]
    found = find_date_format("x", [date.strftime(form) for date in dates])
    assert form in found
    assert found[0]


def test_a_second_format_that_fits_is_named():
    assert find_date_format("x", ["01/02/2020", "03/04/2020"]) == ("%d/%m/%Y", "%m/%d/%Y")
    assert find_date_format("x", ["01/02/2020", "03/14/2020"]) == ("%m/%d/%Y", "")


def test_numbers_are_no_dates_unless_the_name_says_so():
    texts = ["20200131", "20210228"]
    assert find_date_format("amount", texts) == ("", "")
    assert find_date_format("birth_date", texts) == ("%Y%m%d", "")
    assert find_date_format("x", ["a", "b"]) == ("", "")
    assert find_date_format("x", []) == ("", "")
