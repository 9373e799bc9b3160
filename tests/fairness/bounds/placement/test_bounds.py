"""The bound of a placement: its pairs and intervals, and the levels that it rests on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fairness.bounds.placement.worlds import PARITY, implied, table
from trust.levels import asked

from dpfair.errors import InputError
from dpfair.fairness.bounds.placement import (
    placed_bound,
    placed_rates,
    placement_bound,
    placement_levels,
)
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import Release


def test_groups_without_records_may_have_any_rate():
    empty = table([[[0, 0, 0, 0]] * 2, [[100, 100, 100, 100]] * 2])
    for targets in ([0.2, 0.2], [0.9, 0.1], [0.1, 0.9]):
        bound = placement_bound(empty, PARITY, targets, 0.95)
        assert bound.intervals[0][0] == (0, 1)
        # Its rate may be anything, and the gap is that to the other group's.
        assert max(targets[1], 1 - targets[1]) < bound.bound <= implied(bound)
    assert (
        placement_bound(table([[[0, 1, 2, 3]]] * 2, noise=0.01), PARITY, [0.5] * 2, 0.95).bound == 1
    )


def test_every_pair_and_interval():
    release = table([[[700, 300, 100, 100]] * 2, [[70, 30, 10, 10]] * 2, [[5, 5, 1, 1]] * 2])
    targets = [0.2, 0.2, 0.3]
    bound = placement_bound(release, PARITY, targets, 0.95)
    assert set(bound.pairs) == {(0, 1), (0, 2), (1, 2)}
    assert bound.bound == max(bound.pairs.values())
    assert bound.pairs[(0, 1)] < bound.pairs[(0, 2)]
    widths = [high - low for low, high in bound.intervals[0]]
    assert widths == sorted(widths)
    for (low, high), target in zip(bound.intervals[0], targets, strict=True):
        assert low <= target <= high
    surer = placement_bound(release, PARITY, targets, 0.999)
    assert surer.bound > bound.bound
    ratio = placement_bound(release, NOTIONS["parity_ratio"], targets, 0.95)
    (low, _), (_, high) = ratio.intervals[0][1], ratio.intervals[0][0]
    assert ratio.pairs[(0, 1)] >= 1 - low / high


def test_a_rate_lies_between_zero_and_one():
    """Where nobody or everybody is to be accepted, there is nothing to fall short of."""
    release = table([[[700, 300, 100, 100]] * 2] * 2, noise=3.0)
    none = placement_bound(release, PARITY, [0.0, 0.0], 0.95)
    assert none.bound < 0.2
    everybody = placement_bound(release, PARITY, [1.0, 1.0], 0.95)
    assert [high for _, high in everybody.intervals[0]] == [1, 1]


def test_a_single_group_has_no_gap():
    assert placement_bound(table([[[70, 30, 10, 10]] * 2]), PARITY, [0.2], 0.95).pairs == {}


def test_confidence_beyond_the_arithmetic_says_nothing():
    release = table([[[700, 300, 100, 100]] * 2] * 2, noise=1.0)
    assert placement_bound(release, PARITY, [0.2, 0.2], 1 - 2e-8).bound == 1


def test_what_cannot_be_placed():
    release = table([[[5, 5, 5, 5]] * 2] * 2)
    with pytest.raises(InputError, match="one target per group"):
        placement_bound(release, PARITY, [0.2], 0.95)
    with pytest.raises(InputError, match="single rate"):
        placement_bound(release, NOTIONS["equalized_odds"], [0.2, 0.2], 0.95)
    public = Release(("a", "b"), (0.5,), [[[5, 5]]] * 2, (1.0, 1.0), (10, 10), "")
    with pytest.raises(InputError, match="all cells noisy"):
        placement_bound(public, PARITY, [0.2, 0.2], 0.95)
    plain = Release(("a", "b"), (0.5,), [[[5, 5]]] * 2, (1.0, 1.0), None, "")
    with pytest.raises(InputError, match="dithered scores"):
        placement_bound(plain, PARITY, [0.2, 0.2], 0.95)


def test_the_cell_is_added_to_a_sum_that_does_not_depend_on_it():
    """Its limit depends on the release: it must not decide at which level the rest is read."""
    release = table([[[700, 300, 100, 100]] * 2, [[70, 30, 10, 10]] * 2], noise=2.0)
    for targets in ([0.2, 0.2], [0.05, 0.02]):
        bounds, placed = [], placed_rates(release, PARITY, targets, 0.95)
        for cell in (0.0, 0.004, 0.01):
            bound = placed_bound([replace(rate, cell=cell) for rate in placed], PARITY, 0.95)
            bounds.append(bound.bound - cell)
            assert bound.bound <= implied(bound) + 1e-12
        assert bounds == pytest.approx([bounds[0]] * 3)


def test_no_gap_exceeds_the_top_of_a_rate():
    """However heavy the cell of the other group is; the top is paid for apart."""
    release = table([[[700, 300, 100, 100]] * 2, [[70, 30, 10, 10]] * 2])
    placed = placed_rates(release, PARITY, [0.2, 0.2], 0.95)
    with asked() as found:
        bound = placed_bound([replace(rate, cell=1.0) for rate in placed], PARITY, 0.95)
    levels = placement_levels(0.05, 2)
    assert sorted(set(found.quantiles)) == pytest.approx([levels.top, levels.rate])
    assert bound.bound == max(high for _, high in bound.intervals[0])
    assert 0.2 < bound.bound < 0.45


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_the_levels_add_up(k):
    levels = placement_levels(0.05, k)
    alone = k * (levels.size + levels.cell)
    pairs = max(k * (k - 1), 1) * levels.pair
    assert alone + k * levels.top + pairs == pytest.approx(0.05)
    assert alone + 2 * k * levels.rate <= 0.05  # the intervals, a statement of their own
    assert 2 * levels.rate == pytest.approx(levels.pair)
    assert min(levels.size, levels.cell, levels.top, levels.rate) > 0


def test_what_a_bound_rests_on_is_read_at_its_level():
    """The cell's limit is for all cells at once, so each has a part of the level."""
    release = table([[[70, 30, 10, 10]] * 2] * 2, noise=1.0)
    with asked() as found:
        placement_bound(release, PARITY, [0.2, 0.2], 0.95)
    levels = placement_levels(0.05, 2)
    assert found.levels("upper") == pytest.approx([levels.cell / 4] * 2)  # cells of many grains
    assert found.levels("sizes") == pytest.approx([levels.size] * 2)
    assert found.sums == pytest.approx([levels.pair])
