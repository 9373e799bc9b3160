"""What the notions compare, against counting by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfair.errors import InputError
from dpfair.fairness.metrics import group_values
from dpfair.fairness.notions import NOTIONS, notion_of


def test_values_are_what_their_names_say():
    rng = np.random.default_rng(0)
    decisions, labels = rng.integers(0, 2, (2, 500))
    groups = rng.integers(0, 3, 500)

    def share(hits, rows):
        return (hits & rows).sum() / rows.sum()

    accepted, positive, right = decisions == 1, labels == 1, decisions == labels
    everybody = np.ones(500, dtype=bool)
    expected = {
        "demographic_parity": [(accepted, everybody)],
        "parity_ratio": [(accepted, everybody)],
        "equal_opportunity": [(accepted, positive)],
        "equalized_odds": [(accepted, positive), (accepted, ~positive)],
        "accuracy_parity": [(right, everybody)],
    }
    assert set(expected) == set(NOTIONS)
    for name, parts in expected.items():
        got = group_values(NOTIONS[name], decisions, groups, labels, 3)
        want = [[share(hits, rows & (groups == a)) for a in range(3)] for hits, rows in parts]
        np.testing.assert_allclose(got, want)


def test_probabilities_count_as_parts_of_decisions():
    values = group_values(NOTIONS["accuracy_parity"], [0.25, 0.5], [0, 1], [0, 1], 2)
    assert values.tolist() == [[0.75, 0.5]]


def test_gaps():
    parity, ratio = NOTIONS["demographic_parity"], NOTIONS["parity_ratio"]
    assert parity.gap([[0.1, 0.4, 0.2]]) == pytest.approx(0.3)
    assert ratio.gap([[0.1, 0.4, 0.2]]) == pytest.approx(0.75)
    assert ratio.gap([[0.0, 0.0]]) == 0
    assert ratio.gap([[0.0, 0.1]]) == 1
    assert NOTIONS["equalized_odds"].gap([[0.5, 0.6], [0.1, 0.5]]) == pytest.approx(0.4)


def test_groups_without_a_value_are_left_out():
    parity = NOTIONS["demographic_parity"]
    assert parity.gap([[0.1, math.nan, 0.2]]) == pytest.approx(0.1)
    assert math.isnan(parity.gap([[0.1, math.nan]]))
    assert NOTIONS["equalized_odds"].gap([[0.1, math.nan], [0.1, 0.3]]) == pytest.approx(0.2)
    values = group_values(NOTIONS["equal_opportunity"], [1, 0], [0, 1], [1, 0], 2)
    assert values[0, 0] == 1
    assert math.isnan(values[0, 1])


def test_kinds_of_notions():
    assert {n for n, v in NOTIONS.items() if not v.needs_labels} == {
        "demographic_parity",
        "parity_ratio",
    }
    assert {n for n, v in NOTIONS.items() if not v.monotone} == {
        "equalized_odds",
        "accuracy_parity",
    }
    assert {n for n, v in NOTIONS.items() if v.ratio} == {"parity_ratio"}


def test_names():
    assert all(notion_of(name) is notion for name, notion in NOTIONS.items())
    with pytest.raises(InputError, match="Expected notion to be one of"):
        notion_of("fairness")
