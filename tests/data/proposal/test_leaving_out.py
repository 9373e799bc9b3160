"""Columns that should not be features."""

import numpy as np
import polars as pl
import pytest

from dpfair.data.proposal.leaving_out import (
    FREE_TEXT,
    IDENTIFIER,
    decides_label,
    gives_label_away,
    why_identifier,
)
from dpfair.data.proposal.values import Values

N = 400
LABELS = np.arange(N) % 4 // 3  # a quarter is accepted


@pytest.mark.parametrize(
    ("name", "column", "reason"),
    [
        ("x", range(1, N + 1), IDENTIFIER),
        ("loan_id", [7 * i % 1009 for i in range(N)], IDENTIFIER),
        ("loanID", [7 * i % 1009 for i in range(N)], IDENTIFIER),
        ("code", [f"x{i}" for i in range(N)], IDENTIFIER),
        ("comment", [f"said that it was {i}" for i in range(N)], FREE_TEXT),
        ("amount", [7 * i % 1009 for i in range(N)], ""),
        ("paid", [i + 0.5 for i in range(N)], ""),
        ("job", ["a", "b"] * (N // 2), ""),
        ("id", ["1", "2"], ""),
    ],
)
def test_identifiers(name, column, reason):
    assert why_identifier(Values(name, pl.Series(list(column)))) == reason


def test_a_column_that_is_the_label_in_disguise_is_found():
    noisy = LABELS.copy()
    noisy[:4] = 1 - noisy[:4]
    worse = LABELS.copy()
    worse[:80] = 1 - worse[:80]
    number = np.where(LABELS, 100.0, 0.0) + np.arange(N) % 50
    absent = [None if label else "x" for label in LABELS]
    fee = [float(i) if label else None for i, label in enumerate(LABELS)]
    holes = [None if i % 5 == 0 else float(x) for i, x in enumerate(number)]
    for column, expected in (
        (holes, False),  # a fifth of the records says nothing
        (LABELS, True),
        (1 - LABELS, True),
        (noisy, True),
        (np.where(LABELS, "paid", "late"), True),
        (number, True),
        (-number, True),
        (absent, True),
        (fee, True),
        (worse, False),
        (np.arange(N) % 7, False),
        ([str(i) for i in range(N)], False),  # every value once says nothing
    ):
        values = Values("c", pl.Series(list(column)))
        assert bool(gives_label_away(values, LABELS)) is expected
    assert not gives_label_away(Values("c", pl.Series(LABELS)), np.zeros(N, dtype=np.int64))
    half = np.where(np.arange(N) < N // 2, LABELS, -1)  # records without a label do not count
    mixed = np.where(np.arange(N) < N // 2, LABELS, 1 - LABELS)
    assert gives_label_away(Values("c", pl.Series(mixed)), half)


def test_a_value_that_decides_the_label_is_found():
    """Nobody without the label has the value, although the label does not follow from the rest."""
    joined = np.where((LABELS == 1) & (np.arange(N) % 3 == 0), "yes", "no")
    assert decides_label(Values("c", pl.Series(joined)), LABELS) == "yes"
    few = np.where((LABELS == 1) & (np.cumsum(LABELS) <= 15), "yes", "no")
    assert decides_label(Values("c", pl.Series(few)), LABELS) == ""
    assert decides_label(Values("c", pl.Series(np.arange(N) % 7)), LABELS) == ""


def test_a_value_of_few_records_is_no_leak():
    """Chance does not explain twenty records out of two thousand; but nobody profits from them."""
    labels = np.arange(2000) % 2
    rows = np.flatnonzero(labels == 1)
    for count, expected in ((25, ""), (60, "yes")):
        words = np.full(2000, "no", dtype=object)
        words[rows[:count]] = "yes"
        assert decides_label(Values("c", pl.Series(words)), labels) == expected
