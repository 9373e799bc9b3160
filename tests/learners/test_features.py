"""Feature maps: the paper's encoding, and bins in which usual records have norm one."""

from __future__ import annotations

import math
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dpfair import Noise
from dpfair.data.buckets import BUCKETS, bucket, word_bucket
from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.encode import encode
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.jit import can_compile
from dpfair.learners.compiled import ClippedSums
from dpfair.learners.descent import (
    Adam,
    Batch,
    Descent,
    FlatClip,
    LogisticLoss,
    clipped_sum,
    descend,
)
from dpfair.learners.features import (
    DENSE_SCALE,
    FEATURES,
    SPARSE_SCALE,
    coarser_cuts,
    design,
    feature_decay,
    feature_names,
)
from dpfair.privacy.ledger import Receipt


@pytest.mark.parametrize(("name", "width"), [("adult", 102), ("credit", 85)])
def test_the_papers_encoding_has_102_and_85_features(name, width, request):
    data = request.getfixturevalue(name)
    names = feature_names("standardised", data.schema)
    assert len([n for n in names if n != "constant" and not n.startswith("group=")]) == width
    matrix = design("standardised", data.schema, encode(data.X[:50], data.schema)).matrix()
    assert matrix.shape == (50, width + 2)


@pytest.mark.parametrize("features", FEATURES)
def test_every_parameter_has_a_name(features, loans, loan_schema):
    rows = design(features, loan_schema, encode(loans[0], loan_schema))
    names = feature_names(features, loan_schema)
    assert rows.width == len(names) == len(set(names))


def test_standardised_rows_are_what_their_names_say(loans, loan_schema):
    X, _ = loans
    matrix = design("standardised", loan_schema, encode(X, loan_schema)).matrix()
    columns = dict(zip(feature_names("standardised", loan_schema), matrix.T, strict=True))
    np.testing.assert_allclose(columns["income"], (X["income"].to_numpy() - 50) / 25, atol=1e-6)
    np.testing.assert_array_equal(columns["group=m"], X["sex"].to_numpy() == "m")
    np.testing.assert_array_equal(columns["job=nurse"], X["job"].to_numpy() == "nurse")
    np.testing.assert_array_equal(columns["constant"], 1)


def test_binned_rows_have_norm_one_whatever_they_say(loans, loan_schema):
    X, _ = loans
    odd = X[:4].with_columns(
        age=pl.Series([math.nan, -1e9, 1e9, 30.0]), job=pl.Series(["?", None, "nurse", "clerk"])
    )
    matrix = design("binned", loan_schema, encode(odd, loan_schema)).matrix()
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-6)
    names = feature_names("binned", loan_schema)
    assert matrix[0, names.index("age missing")] > 0
    assert matrix[0, names.index("job other")] > 0
    assert matrix[1, names.index("job other")] > 0


def test_an_edge_belongs_to_the_bin_above(loan_schema):
    column = replace(loan_schema.numeric[0], edges=(30.0, 60.0))
    schema = replace(loan_schema, columns=(column,))
    table = pl.DataFrame({"age": [29.99, 30.0, 59.0, 60.0], "sex": ["f"] * 4})
    matrix = design("binned", schema, encode(table, schema)).matrix()
    assert matrix[:, :3].argmax(axis=1).tolist() == [0, 1, 1, 2]


def table_schema(columns, crosses=(), sensitive=("f", "m")) -> Schema:
    groups = Levels("sex", sensitive) if sensitive else None
    return Schema(tuple(columns), Levels("y", ("0", "1")), groups, crosses=crosses)


GAIN = Numeric("gain", (0, 100), edges=(10.0, 50.0), usual=0.0, spiky=True)
AGE = Numeric("age", (18, 90), edges=(30.0, 60.0))
LAND = Categorical("land", ("here", "there", "far"), usual="here")


def table(**columns):
    rows = len(next(iter(columns.values())))
    usual = {"gain": [0.0] * rows, "age": [40.0] * rows, "land": ["here"] * rows}
    return pl.DataFrame({**usual, "sex": ["f"] * rows, **columns})


def active(schema, frame) -> list[dict[str, float]]:
    """What each record has, by name."""
    names = feature_names("binned", schema)
    matrix = design("binned", schema, encode(frame, schema)).matrix()
    assert matrix.shape[1] == len(names) == len(set(names))
    return [{names[i]: float(row[i]) for i in np.flatnonzero(row)} for row in matrix]


def test_usual_values_have_no_cell_and_norm_one():
    schema = table_schema([GAIN, AGE, LAND])
    usual, other = active(schema, table(gain=[0.0, 70.0], land=["here", "far"]))
    assert set(usual) == {"age in [30, 60)", "group=f", "constant"}
    assert math.sqrt(sum(v**2 for v in usual.values())) == pytest.approx(1, abs=1e-6)
    assert {n for n in other if "bucket" not in n} == {
        "gain in [50, inf)", "age in [30, 60)", "land=far", "group=f", "constant",
    }  # fmt: skip
    unit = usual["constant"]
    [exact] = [v for n, v in other.items() if "bucket" in n]
    assert exact == pytest.approx(SPARSE_SCALE * unit)
    assert other["land=far"] == pytest.approx(unit)


@pytest.mark.parametrize("gain", [math.nan, -0.0, 5.0, 1e9])
def test_only_the_usual_value_itself_is_left_out(gain):
    [cells] = active(table_schema([GAIN, AGE, LAND]), table(gain=[gain]))
    assert any(n.startswith("gain") for n in cells) == (gain != 0)


def test_a_missing_word_is_not_the_usual_one():
    schema = table_schema([GAIN, AGE, LAND])
    missing, unknown = active(schema, table(land=[None, "moon"]))
    assert "land other" in missing
    assert "land other" in unknown


def test_a_spiky_column_without_a_usual_value_counts_in_the_norm():
    schema = table_schema([replace(GAIN, usual=None), AGE])
    [cells] = active(schema, table(gain=[3.5]))
    assert math.sqrt(sum(v**2 for v in cells.values())) == pytest.approx(1, abs=1e-6)
    [exact] = [v for n, v in cells.items() if "bucket" in n]
    assert exact == pytest.approx(DENSE_SCALE * cells["constant"])


def test_buckets_are_fixed_for_ever():
    """A saved model means the same cells tomorrow and on any machine."""
    numbers = np.array([0.0, -0.0, 1.0, 7298.0, 15024.0, 99999.0, np.nan, 0.1, -1.5])
    assert bucket(numbers).tolist() == [0, 0, 550, 986, 945, 608, 923, 327, 651]
    assert bucket(np.array([0, 1, 5000, 10**15])).tolist() == [0, 550, 617, 669]
    odd = np.frombuffer(np.array([0xFFF8000000000001], dtype=np.uint64).tobytes())  # another NaN
    assert bucket(odd).tolist() == [923]


def test_buckets_are_evenly_used():
    counts = np.bincount(bucket(np.arange(102_400) / 4), minlength=BUCKETS)
    assert counts.shape == (BUCKETS,)
    assert counts.min() > 50
    assert counts.max() < 160


def test_buckets_of_words_are_fixed_for_ever():
    words = ["teacher", "nurse", "", "žena", "\ud800"]
    assert [word_bucket(w) for w in words] == [905, 1010, 692, 352, 360]


def test_unlisted_words_of_a_hashed_column_have_cells():
    schema = table_schema([Categorical("land", ("here", "there"), hashed=True, missing=("?",))])
    rows = active(schema, table(land=["here", "far", "away", "far", None, "?"]))
    cells = [[n for n in row if n.startswith("land not listed")] for row in rows]
    assert cells[0] == cells[4] == cells[5] == []
    assert cells[1] == cells[3] == [f"land not listed, bucket {word_bucket('far')}"]
    assert cells[2] == [f"land not listed, bucket {word_bucket('away')}"]
    assert all(("land other" in row) == (i > 0) for i, row in enumerate(rows))
    decay = dict(zip(feature_names("binned", schema), feature_decay("binned", schema), strict=True))
    assert decay["land not listed, bucket 0"] > 0 == decay["land=here"]


def test_found_bins_have_a_second_resolution_and_declared_ones_do_not():
    edges = tuple(range(1, 12))
    declared = Numeric("age", (0, 100), edges=edges)
    found = replace(declared, found=("edges",))
    assert coarser_cuts(declared) == ()
    assert coarser_cuts(found) == (3, 7, 11)
    assert coarser_cuts(replace(found, edges=edges[:8])) == ()
    schema = table_schema([found])
    [cells] = active(schema, table(age=[5.0]))
    assert {"age in [5, 6)", "age, joined, in [3, 7)"} <= set(cells)
    assert math.sqrt(sum(v**2 for v in cells.values())) == pytest.approx(1, abs=1e-6)


def test_a_small_cross_has_a_cell_for_every_combination():
    schema = table_schema([AGE, LAND], crosses=(("age", "land"), ("land", "sex")))
    ages, lands = [20.0, 40.0, 70.0, math.nan], ["here", "there", "far", None]
    pairs = [(a, b) for a in ages for b in lands]
    frame = table(age=[a for a, _ in pairs], land=[b for _, b in pairs])
    cells = [[n for n in row if " x " in n] for row in active(schema, frame)]
    assert len({row[0] for row in cells}) == 16
    assert all(n.startswith("age x land") for n, _ in cells)
    assert len({row[1] for row in cells}) == 4
    names = feature_names("binned", schema)
    assert sum("age x land" in n for n in names) == 16
    assert sum("land x sex" in n for n in names) == 8
    [other] = active(schema, table(sex=["m"]))
    assert next(n for n in other if "land x sex" in n) not in {row[1] for row in cells}


def test_a_large_cross_is_hashed():
    wide = [Numeric(n, (0, 100), edges=tuple(range(1, 100))) for n in ("a", "b")]
    schema = table_schema(wide, crosses=(("a", "b"),))
    assert len(feature_names("binned", schema)) == 2 * 101 + 2 + 1 + BUCKETS
    frame = pl.DataFrame({"a": [3.0, 3.0, 4.0], "b": [5.0, 5.0, 5.0], "sex": ["f"] * 3})
    cells = [[n for n in row if " x " in n] for row in active(schema, frame)]
    assert cells[0] == cells[1] != cells[2]
    assert cells[0] == [f"a x b, cell {bucket(np.array([3 * 101 + 5]))[0]}"]


def test_a_huge_cross_is_no_error():
    """Four columns of 10,000 words each: more combinations than a float counts."""
    words = tuple(str(i) for i in range(9999))
    schema = table_schema([Categorical(n, words) for n in "abcd"], crosses=(("a", "b", "c", "d"),))
    frame = pl.DataFrame({n: ["17", "9998"] for n in "abcd"} | {"sex": ["f", "m"]})
    assert len(active(schema, frame)) == 2


def test_everything_at_once_and_without_a_group():
    columns = [GAIN, replace(GAIN, name="loss", usual=None), AGE, LAND]
    schema = table_schema(columns, crosses=(("age", "land"),), sensitive=None)
    frame = table(gain=[1.0, 0.0]).with_columns(loss=pl.Series([2.0, 3.0]))
    first, second = active(schema, frame)
    assert first["group=everybody"] == second["group=everybody"]
    norms = [math.sqrt(sum(v**2 for v in row.values())) for row in (first, second)]
    assert norms[0] > 1
    assert norms[1] == pytest.approx(1, abs=1e-6)


@pytest.fixture(scope="module")
def uneven():
    """Rows whose norms differ widely."""
    schema = table_schema([GAIN, AGE, LAND], crosses=(("age", "land"),))
    rng = np.random.default_rng(0)
    frame = table(
        gain=np.where(rng.random(400) < 0.5, 0, rng.integers(0, 100, 400)).astype(float),
        age=rng.integers(18, 90, 400).astype(float),
        land=rng.choice(["here", "far", "moon"], 400),
    )
    rows = design("binned", schema, encode(frame, schema))
    assert rows.norms.max() > 3 * rows.norms.min()
    return rows


@pytest.mark.parametrize("clip", [0.1, 0.7, 2.0])
def test_no_record_contributes_more_than_the_clip(uneven, clip):
    """Records of norm up to eight are scaled down by their own norm, in both loops."""
    theta = 3 * np.random.default_rng(1).normal(size=uneven.width)
    targets = np.zeros(len(uneven), dtype=np.float32)
    norms = []
    for i in range(len(uneven)):
        row = uneven.take(np.array([i]))
        batch = Batch(row.scores(theta.astype(np.float32)), targets[:1], np.zeros(1, np.int64))
        gradients = LogisticLoss().gradients(batch, np.empty(0), ())
        total, sensitivity = clipped_sum(FlatClip(clip), row, batch, (), *gradients)
        assert sensitivity == clip
        norms.append(np.linalg.norm(total))
        if can_compile():
            fast = ClippedSums(uneven, targets, FlatClip(clip).limit)(np.array([i]), theta)
            assert np.linalg.norm(fast) <= clip
            np.testing.assert_allclose(fast, total, atol=1e-5)
    assert max(norms) <= clip
    assert max(norms) > 0.999 * clip or clip == 2.0


def test_a_million_records_are_cheap():
    n = 1_000_000
    schema = table_schema([GAIN, AGE, LAND], crosses=(("age", "land"),))
    rng = np.random.default_rng(0)
    records = Records.of_arrays(
        numeric=np.stack([rng.integers(0, 100, n) * 1.0, rng.integers(18, 90, n) * 1.0], axis=1),
        codes=rng.integers(0, 4, (n, 1)).astype(np.int32),
        groups=rng.integers(0, 2, n),
    )
    start = time.process_time()
    rows = design("binned", schema, records)
    assert time.process_time() - start < 10
    assert rows.codes.nbytes + rows.norms.nbytes <= n * (2 * 7 + 4)


@pytest.mark.parametrize("compiled", [False, True])
def test_training_on_adult_takes_at_most_24_bytes_a_row(adult, compiled):
    """The design, the targets and all arrays of a step, beyond the records themselves."""
    half = encode(adult.X[:20_000], adult.schema)
    records = half.take(np.tile(np.arange(20_000), 10))
    rows, labels = 200_000, np.arange(200_000) % 2
    plan = Descent(2, 1.0, 5.0, FlatClip(0.4), divisor=1.0, arithmetic="exact")

    def train(records, labels):
        descend(
            plan,
            design("binned", adult.schema, records),
            labels,
            records.groups,
            objective=LogisticLoss(),
            optimizer=Adam(0.2),
            receipt=Receipt(plan.event, Noise(0)),
            compiled=compiled,
        )

    train(half, labels[:20_000])  # compiles, and fills what is kept for ever
    tracemalloc.start()
    train(records, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    fixed = 3_000_000  # tables, and a chunk of rows
    assert peak < 24 * rows + fixed
