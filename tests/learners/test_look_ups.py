"""Joined columns: fewer look-ups, the very same sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpfair.errors import InputError
from dpfair.jit import can_compile
from dpfair.learners.compiled import loop
from dpfair.learners.design import Design
from dpfair.learners.exact import Grid, logistic_sum
from dpfair.learners.look_ups import Column, LookUps, on_grid

SIZES = [12, 4, 17, 300, 2, 1, 9, 70]
LACKING = [False, True, False, True, False, False, True, True]
VALUES = [0.3, 0.3, 0.3, 2.4, 0.3, 0.3, 0.3, 0.3]


def columns() -> list[Column]:
    starts = np.cumsum([0, *SIZES])
    described = zip(starts, SIZES, VALUES, LACKING, strict=False)
    return [Column(int(start), *rest) for start, *rest in described]


def random_codes(rows: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, column.codes, rows) for column in columns()]


def joined(rows: int, at_once: int, dense: int = 0) -> Design:
    codes, numbers = random_codes(rows), np.random.default_rng(1).normal(size=(rows, dense))
    return Design.of_parts(
        rows,
        columns(),
        lambda part: (numbers[part], [code[part] for code in codes]),
        dense=dense,
        at_once=at_once,
    )


def by_position(rows: int, dense: int = 0) -> Design:
    """The same rows, by the positions of their cells."""
    cells, numbers = sum(SIZES), np.random.default_rng(1).normal(size=(rows, dense))
    positions = [
        np.where(code == column.size, cells, column.start + code)
        for column, code in zip(columns(), random_codes(rows), strict=True)
    ]
    return Design.build(numbers, np.stack(positions, axis=1), cells, np.repeat(VALUES, SIZES))


@pytest.mark.parametrize("dense", [0, 3])
@pytest.mark.parametrize("at_once", [0, 3000, 10**4, 10**7])
def test_rows_are_the_same_however_their_columns_are_joined(at_once, dense):
    rows, expected = joined(9000, at_once, dense), by_position(9000, dense)
    theta = np.random.default_rng(2).normal(size=rows.width)
    assert rows.cell_values.tolist() == expected.cell_values.tolist()
    assert (rows.matrix() == expected.matrix()).all()
    assert (rows.norms == expected.norms).all()
    assert (rows.wide_scores(theta) == expected.wide_scores(theta)).all()
    whole = np.random.default_rng(3).integers(-(2**30), 2**30, 9000).astype(float)
    assert (rows.cell_sums(whole) == expected.cell_sums(whole)).all()


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.skipif(
    not can_compile(), reason="needs the extra 'fast'"))])  # fmt: skip
@pytest.mark.parametrize("at_once", [0, 3000, 10**7])
def test_gradient_sums_are_the_same_integers(at_once, compiled):
    rows, expected = joined(9000, at_once, 2), by_position(9000, 2)
    theta = np.random.default_rng(2).normal(size=rows.width)
    targets = np.random.default_rng(4).integers(0, 2, 9000).astype(np.int8)
    chosen = np.flatnonzero(np.random.default_rng(5).random(9000) < 0.3)
    for part in (slice(None), chosen):
        sums = [
            logistic_sum(design, part, targets, theta, 0.5, Grid.of(0.5, 2.0), compiled=flag)
            for design, flag in [(rows, compiled), (expected, False)]
        ]
        assert (sums[0] == sums[1]).all()


@pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")
@pytest.mark.parametrize("at_once", [0, 3000, 10**7])
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e15, 0.0])
def test_the_compiled_table_is_the_same_to_the_last_bit(at_once, scale):
    rows = joined(10, at_once)
    theta = scale * np.random.default_rng(6).normal(size=rows.width)
    table = np.empty(len(rows.look_ups.members))
    given = (rows.look_ups.members, theta, rows.cell_values, len(SIZES))
    loop("fill_table")(*given, table)
    assert table.tolist() == rows.cell_table(theta).tolist()


@pytest.mark.skipif(not can_compile(), reason="needs the extra 'fast'")
@pytest.mark.parametrize("dense", [0, 3])
def test_a_compiled_contribution_is_the_same_to_the_last_bit(dense):
    """On a grid so fine that nothing is rounded away."""
    rows, finest = joined(500, 10**7, dense), Grid(2.0**-52, 2.0**-52)
    theta = np.random.default_rng(7).normal(size=rows.width)
    targets = np.random.default_rng(8).integers(0, 2, 500).astype(np.int8)
    for i in range(500):
        fast, plain = (
            logistic_sum(rows, np.array([i]), targets, theta, 0.5, finest, compiled=flag)
            for flag in (True, False)
        )
        assert (fast == plain).all()


def test_columns_are_joined_as_far_as_the_tables_stay_small():
    apart, some, most = (LookUps.joined(columns(), sum(SIZES), rows) for rows in (0, 1500, 10**9))
    assert sorted(apart.joints) == [(i,) for i in range(len(SIZES))]
    assert len(apart.joints) > len(some.joints) > len(most.joints) == 3
    assert max(some.sizes) == 301  # a column that is larger than the limit stays alone
    assert 301 < max(most.sizes) <= 4096
    for look_ups in (apart, some, most):
        assert sorted(i for joint in look_ups.joints for i in joint) == [*range(len(SIZES))]


def test_codes_take_the_fewest_bytes():
    assert joined(10, 0).codes.dtype == np.uint16  # 301 codes
    small = Design.of_parts(5, [Column(0, 256)], lambda part: (np.empty((5, 0)), [np.arange(5)]))
    assert small.codes.dtype == np.uint8
    wide = Design.of_parts(
        5, [Column(0, 70_000)], lambda part: (np.empty((5, 0)), [np.full(5, 69_999)])
    )
    assert wide.codes.tolist() == [[69_999]] * 5


@pytest.mark.parametrize("code", [-1, 12, 300])
def test_a_code_that_its_column_does_not_have_is_refused(code):
    """Compiled loops would read foreign memory; joined, 12 would be a code of the next column."""
    with pytest.raises(InputError, match="Expected codes from 0 to 11"):
        Design.of_parts(
            1, [Column(0, 12), Column(12, 4)],
            lambda part: (np.empty((1, 0)), [np.array([code]), np.array([0])]),
        )  # fmt: skip


weights = arrays(np.float64, st.integers(1, 12), elements=st.floats(-1e300, 1e300))


@given(weights, st.integers(0, 2**32))
@example(np.array([5e-324, 1e-310]), 0)
@example(np.array([1.0, 2.0**-52, -1.0]), 0)
@settings(max_examples=300, deadline=None)
def test_sums_on_the_grid_are_exact_in_any_order(values, seed):
    placed = on_grid(values, len(values))
    order = np.random.default_rng(seed).permutation(len(values))
    forward = backward = 0.0
    for a, b in zip(placed, placed[order], strict=True):
        forward, backward = forward + a, backward + b
    assert forward == backward == placed.sum()
    largest = np.abs(values).max()
    assert np.abs(placed - values).max() <= max(len(values) * largest * 2.0**-52, 1e-270)


def test_without_the_grid_the_order_would_matter():
    values = np.random.default_rng(0).normal(size=(1000, 9))
    assert (values.sum(axis=1) != values[:, ::-1].cumsum(axis=1)[:, -1]).any()


def test_weights_that_are_not_finite_spoil_no_other():
    placed = on_grid(np.array([np.inf, 0.1, np.nan, -0.3]), 4)
    assert placed[1:4:2].tolist() == on_grid(np.array([0.1, -0.3]), 4).tolist()
    assert placed[0] == np.inf
    assert np.isnan(placed[2])


@pytest.mark.parametrize("codes", [254, 255, 256, 257])
def test_columns_of_one_code_are_joined_with_any_column(codes):
    """The number of codes of a column may need a larger type than any of its codes."""
    columns = [Column(0, codes), Column(codes, 1), Column(codes + 1, 1)]
    look_ups = LookUps.joined(columns, codes + 2, rows=10**6)
    found = [np.arange(codes), np.zeros(codes, np.uint8), np.zeros(codes, np.uint8)]
    joint = look_ups.join(found, codes)
    places = look_ups.starts[:-1] + joint
    assert len({tuple(row) for row in look_ups.members[places[:, 0]].tolist()}) == codes
