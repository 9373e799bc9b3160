"""What a table of counts says: its rates, its parts, its grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfair.errors import InputError
from dpfair.fairness.release import HALF, Release, grid_of, score_grid

NAMES = ("f", "m")

TABLE = Release(
    NAMES,
    (0.25, 0.5, 0.75),
    [[[10, 20, 30, 40], [1, 2, 3, 4]], [[4, 3, 2, 1], [40, 30, 20, 10]]],
    (1.0, 1.0),
    None,
    "",
    100,
)


@pytest.mark.parametrize(
    ("threshold", "labels", "correct", "expected"),
    [
        (2, (0, 1), False, (77, 33, 4, 4)),
        (2, (1,), False, (7, 3, 2, 2)),
        (1, (0,), False, (90, 10, 3, 1)),
        (2, (0, 1), True, (37, 73, 4, 4)),
        (3, (0, 1), True, (64, 46, 4, 4)),
        (0, (0, 1), False, (110, 0, 8, 1)),
        (4, (0, 1), True, (100, 10, 4, 4)),
    ],
)
def test_rates_add_up_cells(threshold, labels, correct, expected):
    rate = TABLE.rate(0, threshold, labels, correct=correct)
    got = (rate.accepted, rate.rejected, rate.accepted_cells, rate.rejected_cells)
    assert got == expected


def with_undeclared(group: int, label: int) -> Release:
    kinds = {"group": group, "label": label}
    return Release(NAMES, TABLE.edges, TABLE.counts, TABLE.noise, None, "", 100, kinds)


@pytest.mark.parametrize(
    ("groups", "thresholds", "expected"),
    [
        ((0, 1), (2, 2), (37 + 37, 220 + 7 - 74, 8, 10)),
        ((0, 1), (0, 4), (10 + 10, 220 + 7 - 20, 8, 10)),
        ((0,), (3,), (64, 220 + 7 - 64, 4, 14)),
    ],
)
def test_right_decisions_among_all_records(groups, thresholds, expected):
    """Every cell is once in one of the two counts, those of undeclared records among the wrong."""
    rate = with_undeclared(5, 2).right_rate(groups, thresholds)
    got = (rate.accepted, rate.rejected, rate.accepted_cells, rate.rejected_cells)
    assert got == expected
    assert got[2] + got[3] == TABLE.counts.size + 2
    bare = TABLE.right_rate(groups, thresholds)
    assert bare.rejected + bare.accepted == 220
    assert bare.rejected_cells + bare.accepted_cells == TABLE.counts.size


def test_the_share_of_undeclared_records():
    release = with_undeclared(30, 2)
    rate = release.undeclared_rate("group")
    assert (rate.accepted, rate.rejected) == (30, 222)
    assert (rate.accepted_cells, rate.rejected_cells) == (1, TABLE.counts.size + 1)
    assert rate.estimate == pytest.approx(30 / 252)


def test_a_negative_count_of_undeclared_records_is_zero_in_the_same_total():
    """More noise below zero must not make the limit smaller, nor the records more."""
    zero = with_undeclared(0, 2).undeclared_rate("group")
    for count in (-1, -9, -40):
        rate = with_undeclared(count, 2).undeclared_rate("group")
        assert rate.accepted == 0
        assert rate.accepted + rate.rejected == 222 + count
        assert rate.estimate == 0
        assert rate.interval(0.05)[0] == 0
        assert rate.interval(0.05)[1] >= zero.interval(0.05)[1]


def test_without_labels_there_are_no_rates_by_label():
    bare = Release(("a",), HALF, [[[1, 2]]], (1.0,), None, "")
    assert bare.rate(0, 1).accepted == 2
    for labels, correct in (((1,), False), ((0, 1), True)):
        with pytest.raises(InputError, match="needs a release with labels"):
            bare.rate(0, 1, labels, correct=correct)


def test_what_h_accepts():
    assert [rate.estimate for rate in TABLE.rates] == pytest.approx([77 / 110, 33 / 110])
    with pytest.raises(InputError, match="does not show"):
        _ = Release(("a",), (0.4,), [[[1, 2]]], (1.0,), None, "").rates


@pytest.mark.parametrize(
    "changes",
    [
        {"groups": ("a", "c")},
        {"edges": (0.25,)},
        {"counts": [[[1, 2]], [[3, 5]]]},
        {"noise": (1.0, 2.0)},
        {"sizes": (3, 7)},
        {"dependence": "why"},
        {"grain": 4},
        {"undeclared": {"group": 3}},
    ],
)
def test_releases_are_equal_if_all_their_parts_are(changes):
    parts = {
        "groups": NAMES, "edges": HALF, "counts": [[[1, 2]], [[3, 4]]], "noise": (1.0, 1.0),
        "sizes": None, "dependence": "",
    }  # fmt: skip
    assert Release(**parts) == Release(**parts)
    assert Release(**parts) != Release(**parts | changes)


def test_a_release_is_a_value():
    counts = np.array([[[1, 2]]])
    release = Release(("a",), HALF, counts, (1.0,), None, "")
    counts[0, 0, 0] = 9
    assert release.counts.tolist() == [[[1, 2]]]
    with pytest.raises(ValueError, match="read-only"):
        release.counts[0, 0, 0] = 5


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": [[1, 2]]},
        {"counts": [[[1, 2]]] * 3},
        {"counts": [[[1, 2, 3]]] * 2},
        {"counts": [[[1, 2]] * 3] * 2},
        {"counts": [[[1.5, 2]]] * 2},
        {"counts": [[[True, False]]] * 2},
        {"noise": (1.0,)},
        {"noise": (1.0, 0.0)},
        {"noise": (1.0, -1.0)},
        {"noise": (1.0, math.nan)},
        {"grain": 0},
        {"sizes": (3, -1)},
        {"sizes": (3,)},
        {"sizes": (3, 3), "counts": [[[1, 2]] * 2] * 2},
        {"edges": (0.5, 0.5)},
        {"edges": (math.nan,)},
        {"edges": (math.inf,)},
        {"edges": ()},
        {"edges": [[0.5]] * 3},
        {"undeclared": {"colour": 3}},
        {"undeclared": {"group": 3}, "noise": (1.0, 2.0)},
        {"undeclared": {"group": 3}, "sizes": (3, 3)},
    ],
)
def test_malformed_releases_are_refused(changes):
    good = {
        "groups": NAMES, "edges": HALF, "counts": [[[1, 2]]] * 2, "noise": (1.0, 1.0),
        "sizes": None, "dependence": "",
    }  # fmt: skip
    Release(**good)
    with pytest.raises(InputError, match=r"Expected|Public|Undeclared"):
        Release(**(good | changes))


def test_grids():
    for epsilon in (0.01, 0.1, 0.3, 1.0, 100.0):
        grid = np.array(score_grid(epsilon))
        assert (np.diff(grid) > 0).all()
        assert 0.5 in grid  # what h accepts
        np.testing.assert_allclose(grid + grid[::-1], 1)
    assert len(score_grid(0.01)) < len(score_grid(0.3)) < len(score_grid(3.0))
    assert grid_of((0.1, 0.2), 3).shape == (3, 2)
    with pytest.raises(InputError, match="up to 1000 bins"):
        grid_of(np.arange(1, 1002) / 1002, 1)
