"""Scores and sums of compact rows, against the matrix written out."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.errors import InputError
from dpfair.learners.design import Design


def values_of(cells: int) -> np.ndarray:
    """A value of its own for every cell."""
    return 0.37 + 0.01 * np.arange(cells)


def random_design(rows: int, dense: int, columns: int, cells: int, seed: int = 0) -> Design:
    """Any codes, including ``cells``: no cell."""
    rng = np.random.default_rng(seed)
    block = max(1, cells // max(1, columns))
    codes = rng.integers(0, block, (rows, columns)) + block * np.arange(columns)
    codes = np.where(rng.random((rows, columns)) < 0.2, cells, codes)
    return Design.build(rng.normal(size=(rows, dense)) * 3, codes, cells, values_of(cells))


SHAPES = [(50, 4, 3, 12), (50, 0, 3, 12), (50, 4, 0, 0), (1, 1, 1, 1), (0, 2, 2, 6)]
BIG_SHAPES = [(9000, 4, 3, 300), (9000, 0, 5, 40), (9000, 3, 0, 0)]


@pytest.mark.parametrize("shape", SHAPES + BIG_SHAPES)
def test_scores_equal_the_written_out_product(shape):
    rows = random_design(*shape)
    theta = np.random.default_rng(1).normal(size=rows.width).astype(np.float32)
    expected = rows.matrix().astype(np.float64) @ theta
    assert rows.scores(theta).dtype == np.float32
    np.testing.assert_allclose(rows.scores(theta), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(9000, 19, 17, 300), (9000, 0, 17, 300), (9000, 8, 0, 0)])
def test_a_row_has_the_same_score_whichever_rows_are_beside_it(shape):
    """To the last bit: else removing a record could move the others to another bin of a count."""
    rows = random_design(*shape)
    theta = np.random.default_rng(1).normal(size=rows.width)
    scores = rows.wide_scores(theta)
    short = theta.astype(np.float32)
    wide = rows.wide_scores(short.astype(np.float64))
    assert (rows.scores(short) == wide.astype(np.float32)).all()
    for first, size in [(0, 1), (1, 2), (3, 31), (0, 4096), (1, 4096), (2, 4097), (7, 8000)]:
        part = np.arange(first, first + size)
        assert (rows.take(part).wide_scores(theta) == scores[part]).all()
        built = Design.build(rows.dense[part], rows.codes[part], rows.cells, rows.cell_values)
        assert (built.norms == rows.norms[part]).all()
    order = np.random.default_rng(2).permutation(9000)
    assert (rows.take(order).wide_scores(theta) == scores[order]).all()


@pytest.mark.parametrize("shape", SHAPES + BIG_SHAPES)
def test_weighted_sum_equals_the_written_out_product(shape):
    rows = random_design(*shape)
    weights = np.random.default_rng(1).normal(size=len(rows)).astype(np.float32)
    exact = weights.astype(np.float64) @ rows.matrix().astype(np.float64)
    # cell values are applied in float64, the matrix holds them in float32
    np.testing.assert_allclose(rows.weighted_sum(weights), exact, rtol=2e-7, atol=1e-6)


def test_sums_are_not_rounded_to_float32():
    """One record among many large ones still counts: sensitivity must survive the arithmetic."""
    dense = np.ones((20_000, 1))
    weights = np.full(20_000, 2.0**12, dtype=np.float32)
    weights[-1] = 2.0**-10
    expected = 19_999 * 2.0**12 + 2.0**-10
    many = Design.build(dense, np.empty((20_000, 0)), 0)
    assert many.weighted_sum(weights).tolist() == [expected]
    few, some = many.take(slice(-4000, None)), weights[-4000:]
    assert few.weighted_sum(some).tolist() == [3999 * 2.0**12 + 2.0**-10]


@pytest.mark.parametrize("rows_at_once", [7, 700, 4096, 5000])
def test_chunks_and_look_ups_agree(rows_at_once):
    """A large table is multiplied in chunks, a small one by look-ups."""
    rows = random_design(20_000, 3, 4, 60)
    theta = np.random.default_rng(1).normal(size=rows.width).astype(np.float32)
    weights = theta[:1].repeat(len(rows))
    pieces = [slice(i, i + rows_at_once) for i in range(0, len(rows), rows_at_once)]
    scores = [rows.take(piece).scores(theta) for piece in pieces]
    assert (rows.scores(theta) == np.concatenate(scores)).all()
    total = sum(rows.take(piece).weighted_sum(weights[piece]) for piece in pieces)
    np.testing.assert_allclose(rows.weighted_sum(weights), total, rtol=1e-12)


def test_no_large_array_is_made():
    """A full-batch step of a large table works in pieces: no [rows, columns] temporary."""
    rows = random_design(200_000, 1, 10, 100)
    theta = np.ones(rows.width, dtype=np.float32)
    weights = np.ones(len(rows), dtype=np.float32)
    rows.scores(theta)
    tracemalloc.start()
    rows.weighted_sum(rows.scores(theta) * weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000 * 10 * 4  # less than the codes alone as 32-bit numbers


@pytest.mark.parametrize("shape", SHAPES + BIG_SHAPES)
def test_norms_are_never_below_the_true_ones(shape):
    rows = random_design(*shape)
    active = rows.matrix()[:, rows.dense.shape[1] :] != 0
    onehot = active @ values_of(rows.cells) ** 2
    true = np.sqrt(np.square(rows.dense, dtype=np.float64).sum(axis=1) + onehot)
    assert (rows.norms >= true).all()
    assert (rows.norms <= true * (1 + 1e-6) + 1e-30).all()


def test_norms_of_equal_rows_are_rounded_up():
    """1/sqrt(3) is not a float32: rounding to nearest would be too small for some values."""
    values = np.random.default_rng(0).random((20_000, 1))
    rows = Design.build(values, np.empty((20_000, 0)), 0)
    assert (np.float64(rows.norms) > np.abs(np.float64(rows.dense[:, 0]))).all()


@given(st.lists(st.floats(width=64), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_any_number_gives_a_finite_row(values):
    rows = Design.build(np.array([values]), np.empty((1, 0)), 0)
    assert np.isfinite(rows.dense).all()
    assert np.isfinite(rows.norms).all()
    assert rows.norms[0] >= np.linalg.norm(rows.dense[0].astype(np.float64))


def test_no_cell_adds_nothing():
    rows = Design.build(np.empty((2, 0)), np.array([[3, 3], [0, 3]]), 3)
    assert rows.scores(np.array([5, 7, 11], dtype=np.float32)).tolist() == [0, 5]
    assert rows.weighted_sum(np.array([2, 3], dtype=np.float32)).tolist() == [3, 0, 0]
    assert rows.norms[0] < 1e-40
    assert rows.norms[1] == np.nextafter(np.float32(1), np.float32(2))
    assert rows.matrix().tolist() == [[0, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize("cells", [200, 255, 256, 70_000])
def test_codes_are_stored_in_few_bytes_and_survive(cells):
    codes = np.array([[0, cells - 1], [cells, 1]])
    rows = Design.build(np.empty((2, 0)), codes, cells)
    assert rows.codes.tolist() == codes.tolist()
    assert rows.codes.itemsize == (1 if cells < 256 else 2 if cells < 65536 else 4)


@pytest.mark.parametrize("code", [-1, 4, 259])
def test_a_code_beyond_the_cells_is_refused(code):
    """Stored in one byte, 259 would be 3; a sparse product would read foreign memory."""
    with pytest.raises(InputError, match="Expected codes from 0 to 3"):
        Design.build(np.empty((2, 0)), np.array([[0, 1], [code, 1]]), 3)


@pytest.mark.parametrize("rows", [slice(3, 9), np.array([5, 1, 1, 40])])
def test_take_gives_the_chosen_rows(rows):
    whole = random_design(50, 2, 3, 12)
    part = whole.take(rows)
    assert len(part) == len(whole.norms[rows])
    np.testing.assert_array_equal(part.matrix(), whole.matrix()[rows])
    np.testing.assert_array_equal(part.norms, whole.norms[rows])
    theta = np.arange(whole.width, dtype=np.float32)
    np.testing.assert_allclose(part.scores(theta), whole.scores(theta)[rows], rtol=1e-6)


def test_one_value_is_the_value_of_every_cell():
    codes = np.array([[0, 1], [2, 3]])
    one = Design.build(np.empty((2, 0)), codes, 3, 0.5)
    assert one.matrix().tolist() == [[0.5, 0.5, 0], [0, 0, 0.5]]
    assert one.cell_values.tolist() == [0.5] * 3


def test_a_cell_counts_with_its_own_value():
    rows = Design.build(np.empty((2, 0)), np.array([[0, 2], [1, 3]]), 3, [3.0, 1.0, 4.0])
    assert rows.norms == pytest.approx([5, 1], rel=1e-6)
    assert rows.scores(np.array([1, 10, 100], dtype=np.float32)).tolist() == [403, 10]
    assert rows.weighted_sum(np.array([1, 2], dtype=np.float32)).tolist() == [3, 2, 4]


def test_values_must_fit_the_cells():
    with pytest.raises(ValueError, match="broadcast"):
        Design.build(np.empty((1, 0)), np.array([[0]]), 3, [1.0, 2.0])


def test_more_rows_than_sums_can_hold_are_refused():
    with pytest.raises(InputError, match="Expected at most 4294967296 rows"):
        Design.of_parts(2**32 + 1, [], lambda rows: (np.empty((0, 0)), []))
