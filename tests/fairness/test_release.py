"""The one table: what it counts, what it costs, what it refuses."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dpfair.errors import BudgetError, InputError
from dpfair.fairness.release import (
    HALF,
    UNDECLARED,
    Release,
    grid_of,
    release_accepted,
    release_exact,
    release_table,
    score_grid,
    table_events,
)
from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise

NAMES = ("f", "m")


def open_ledger(epsilon=1000.0, relation="add_remove") -> Ledger:
    return Ledger(epsilon, 1e-5, relation=relation, noise=Noise(0))


def counted(scores, groups, labels=None, edges=HALF, epsilon=900, **options) -> Release:
    """With an enormous epsilon the noise vanishes."""
    return release_table(
        np.array(scores, dtype=float),
        np.array(groups),
        NAMES,
        labels=None if labels is None else np.array(labels),
        edges=edges,
        epsilon=epsilon,
        ledger=open_ledger(),
        scope="a",
        dependence="",
        **options,
    )


def test_every_record_is_in_one_cell():
    release = counted([0.1, 0.5, 0.7, 0.2], [0, 0, 1, 1], [1, 0, 1, 0], edges=(0.2, 0.5))
    expected = np.zeros((2, 2, 3), dtype=int)
    expected[0, 1, 0] = expected[0, 0, 2] = expected[1, 1, 2] = expected[1, 0, 1] = 1
    assert release.counts.tolist() == expected.tolist()  # an edge belongs to the bin above
    assert release.labelled
    assert not counted([0.1], [0]).labelled


def test_groups_may_have_edges_of_their_own():
    release = counted([0.3, 0.3], [0, 1], edges=[[0.2, 0.5], [0.4, 0.5]])
    assert release.counts[:, 0].tolist() == [[0, 1, 0], [1, 0, 0]]


def test_undeclared_records_have_cells_of_their_own():
    """A record without a declared group is counted there, whatever its label."""
    release = counted([0.1, 0.9, 0.9, 0.9, 0.2], [0, -1, 1, -1, 1], [1, 0, -1, -1, 0])
    assert release.undeclared == {"group": 2, "label": 1}
    assert release.counts.tolist() == [[[0, 0], [1, 0]], [[1, 0], [0, 0]]]
    assert release.total == 5
    unlabelled = counted([0.1, 0.9], [0, -1])
    assert unlabelled.undeclared == {"group": 1}
    apart = counted([0.1, 0.9], [0, 1], [1, -1], by_label=False)
    assert apart.undeclared == {"group": 0, "label": 1}
    assert apart.counts.shape == (2, 1, 2)


def test_one_undeclared_record_moves_one_cell_by_one():
    groups, labels = np.array([0, -1, 1]), np.array([0, 1, -1])
    whole = counted([0.1, 0.6, 0.9], groups, labels)
    for i in range(3):
        kept = np.arange(3) != i
        fewer = counted(np.array([0.1, 0.6, 0.9])[kept], groups[kept], labels[kept])
        moved = np.abs(whole.counts - fewer.counts).sum()
        moved += sum(abs(whole.undeclared[kind] - fewer.undeclared[kind]) for kind in UNDECLARED)
        assert moved == 1


def test_undeclared_cells_are_noisy():
    shares = []
    for seed in range(200):
        ledger = Ledger(1.0, 1e-5, noise=Noise(seed))
        shares.append(
            release_table(
                np.zeros(3), np.array([-1, 0, 1]), NAMES, labels=np.array([0, -1, 1]),
                epsilon=1, ledger=ledger, scope="a", dependence="",
            ).undeclared.values()
        )  # fmt: skip
    drawn = np.array([[*row] for row in shares])
    variance = 2 * math.exp(-1) / math.expm1(-1) ** 2
    assert drawn.var(axis=0) == pytest.approx([variance] * 2, rel=0.5)
    assert drawn.mean(axis=0) == pytest.approx([1, 1], abs=0.5)


def test_extreme_scores_have_a_place():
    release = counted([-5, 1.5, math.inf, -math.inf], [0, 0, 1, 1])
    assert release.counts[:, 0].tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(("relation", "share"), [("add_remove", 1), ("replace_one", 2)])
def test_the_noise_is_the_paid_one(relation, share):
    ledger = open_ledger(1.0, relation)
    release = release_table(
        np.zeros(50_000),
        np.zeros(50_000, dtype=int),
        ("all",),
        edges=np.arange(1, 999) / 999,
        epsilon=Fraction(1, 2),
        ledger=ledger,
        scope="a",
        dependence="",
    )
    assert release.noise == (pytest.approx(0.5 / share),)
    t = 0.5 / share
    variance = 2 * math.exp(-t) / math.expm1(-t) ** 2
    assert release.counts[0, 0, 1:].var() == pytest.approx(variance, rel=0.25)
    [entry] = ledger.entries
    assert pure_epsilon(entry.event) == Fraction(1, 2)
    assert ledger.spent == pytest.approx(0.5)


def test_nothing_is_counted_that_is_not_paid():
    ledger = open_ledger(1.0)
    with pytest.raises(BudgetError):
        release_table(
            np.zeros(2), np.zeros(2, dtype=int), NAMES, epsilon=2, ledger=ledger, scope="a",
            dependence="",
        )  # fmt: skip
    assert ledger.entries == ()


def test_one_record_moves_one_cell_by_one():
    scores, groups, labels = np.array([0.1, 0.6, 0.9]), np.array([0, 1, 1]), np.array([0, 1, 0])
    whole = counted(scores, groups, labels, edges=score_grid(3.0)).counts
    for i in range(3):
        kept = np.arange(3) != i
        fewer = counted(scores[kept], groups[kept], labels[kept], edges=score_grid(3.0)).counts
        assert np.abs(whole - fewer).sum() == 1


def test_public_sizes_cost_a_count_per_group():
    assert len(table_events(0.1, 5, "add_remove", public_sizes=True)) == 5
    assert len(table_events(0.1, 5, "replace_one", public_sizes=False)) == 1
    ledger = open_ledger(10.0)
    release = release_accepted(
        np.array([0.9, 0.1, 0.8]), np.array([0, 0, 1]), NAMES, epsilon=5, ledger=ledger, scope="a",
        dependence="",
    )  # fmt: skip
    assert release.sizes == (2, 1)
    assert release.counts.sum(axis=(1, 2)).tolist() == [2, 1]
    assert len(ledger.entries) == 2
    assert [rate.size for rate in release.rates] == [2, 1]


def test_exact_counts():
    release = release_exact(np.array([0.9, 0.1, 0.8]), np.array([0, 0, 1]), NAMES, dependence="no")
    assert release.counts.tolist() == [[[1, 1]], [[0, 1]]]
    assert release.noise == (math.inf, math.inf)
    with pytest.raises(InputError, match="no records"):
        release_exact(np.array([0.9]), np.array([0]), NAMES, dependence="")


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


def test_a_release_survives_a_file():
    exact = Release(("a",), HALF, [[[1, 2]]], (math.inf,), (3,), "why")
    for release in (TABLE, exact, with_undeclared(-3, 7)):
        again = Release.from_json(json.loads(json.dumps(release.to_json(), allow_nan=False)))
        assert again == release
        assert again.noise == release.noise
        assert again.sizes == release.sizes
        assert again.grain == release.grain
        assert again.undeclared == release.undeclared
    assert exact != TABLE


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


def test_undeclared_counts_in_files_are_whole_numbers():
    data = with_undeclared(3, 4).to_json()
    for wrong in (3.5, True, None, "3"):
        with pytest.raises(InputError, match="whole counts"):
            Release.from_json(data | {"undeclared": {"group": wrong}})


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
