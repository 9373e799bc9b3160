"""Columns become two outcomes; records without one are recognised."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from scripts.panel.outcomes import Above, Words, plain_words

FRAME = pd.DataFrame({"word": ["a", "b", "c", None], "number": [1.0, 2.0, 3.0, np.nan]})


def test_words_of_neither_outcome_have_none():
    found = Words("word", ("first", "second"), ("b",), ("a",)).of(FRAME)
    assert found.tolist() == ["first", "second", None, None]


def test_all_other_words_mean_the_first_outcome_but_a_missing_one_does_not():
    found = Words("word", ("first", "second"), ("b",)).of(FRAME)
    assert found.tolist() == ["first", "second", "first", None]


def test_a_number_at_the_cut_is_not_above_it():
    assert Above("number", ("low", "high"), 2).of(FRAME).tolist() == ["low", "low", "high", None]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, np.nan, 3.0], ["1", None, "3"]),
        ([1.5, 2.0], ["1.5", "2.0"]),
        ([True, False], ["True", "False"]),
        (["x", None], ["x", None]),
        ([7, 8], ["7", "8"]),
    ],
)
def test_plain_words(values, words):
    assert plain_words(pd.Series(values)).to_list() == words
