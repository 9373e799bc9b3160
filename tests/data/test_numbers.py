"""Every cell has the number that it would have alone, in every container."""

import numpy as np
import polars as pl
import pytest
from data import reference_encoding
from data.any_columns import object_columns, typed_columns
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.data.dates import days
from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.numbers import numbers

FORMS = [USUAL_FILE, FileForm(decimal=","), FileForm(thousands=",")]


@settings(max_examples=500, deadline=None)
@given(object_columns | typed_columns(), st.sampled_from(FORMS))
def test_numbers_are_those_of_the_cells_one_by_one(column, file):
    expected = reference_encoding.numbers(column, file) + 0.0
    assert canonical(numbers(column, file)).tobytes() == canonical(expected).tobytes()


@settings(max_examples=200, deadline=None)
@given(object_columns | typed_columns(), st.sampled_from(["%Y-%m-%d", "%Y"]))
def test_days_are_those_of_the_cells_one_by_one(column, form):
    expected = reference_encoding.days(column, form)
    assert np.array_equal(days(column, form), expected, equal_nan=True)


@settings(max_examples=200, deadline=None)
@given(object_columns | typed_columns())
def test_a_number_does_not_depend_on_the_cells_beside_it(column):
    if isinstance(column, list):
        return
    together = numbers(column)
    alone = [numbers(column[i : i + 1]) for i in range(len(together))]
    assert together.tobytes() == np.concatenate(alone).tobytes()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(allow_nan=False), min_size=1), st.sampled_from("reg"))
def test_text_of_any_length_is_read_to_the_last_bit(values, form):
    """Polars must not read a number as its neighbour."""
    texts = [repr(v) if form == "r" else f"{v:.25{form}}" for v in values]
    assert numbers(pl.Series(texts)).tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("text", ["9007199254740993", "2.4703282292062328e-324", "1e23", "8.5e-5"])
def test_halfway_cases(text):
    assert numbers(pl.Series([text]))[0] == float(text)


@pytest.mark.parametrize("file", FORMS, ids=str)
@pytest.mark.parametrize("text", ["0e99999", "0" * 401, "1e400", "nan", "1,5", "1,500", "1.5"])
def test_text_is_read_in_the_form_of_the_file(text, file):
    """Also where the form admits less than Python does."""
    expected = [reference_encoding.number(text, file)]
    assert np.array_equal(numbers(pl.Series([text]), file), expected, equal_nan=True)


def canonical(values):
    return np.where(np.isnan(values), np.nan, values)
