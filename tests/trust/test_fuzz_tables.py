"""Any table: only dpfair's own errors, no value shown, nothing charged for a refusal."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sample_tables import LOANS, make_loans
from trust import fuzz_tables
from trust.fuzz_tables import (
    DEFECTS,
    ESTIMATORS,
    SECRET_NUMBER,
    SECRET_WORD,
    Case,
    Stubborn,
    cases,
    decent,
    examine,
    watch,
)

from dpfair import (
    FairPostProcessor,
    InputError,
    PrivacyLeakWarning,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    Schema,
)
from dpfair.data.schema import Categorical, Levels, Numeric
from dpfair.data.table import as_texts, encode, numbers, plain_array, read_table, sound_table
from dpfair.errors import SchemaError
from dpfair.privacy.ledger_file.file import LedgerFile

SCHEMA = Schema.from_dict(LOANS)
GENERATED = settings(
    max_examples=220,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@GENERATED
@given(cases())
def test_any_table(case):
    examine(case)


@pytest.mark.slow
def test_ten_thousand_tables():
    found = fuzz_tables.fuzz(10_000, 1)
    assert found["fitted"] > 5000
    assert found["refused"] > 1000


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_any_table_as_a_file(kind):
    @settings(GENERATED, max_examples=10)
    @given(cases(declared=True, sound=True))
    def run(case):
        fuzz_tables.examine_cli(case, kind)

    run()


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_is_refused_or_harmless(defect):
    @settings(GENERATED, max_examples=4)
    @given(cases(declared=True, sound=True))
    def run(case):
        case.defect = defect
        examine(case)

    run()


# The harness sees what it looks for


def small_case(estimator="logistic", **more) -> Case:
    columns = {
        "age": ("numbers", [1.0, 2.0, float(SECRET_NUMBER), math.nan]),
        "job": ("words", ["a", "b", SECRET_WORD, None]),
        "sex": ("words", ["f", "m", SECRET_WORD, None]),
    }
    schema = Schema(
        (Numeric("age", (0, 10)), Categorical("job", ("a", "b"))),
        Levels("y", ("0", "1")),
        Levels("sex", ("f", "m", "1")),
        rows=20,
    )
    later = {name: (kind, values[:3]) for name, (kind, values) in columns.items()}
    return Case(columns, "polars", estimator, [0, 1, 1, 0], schema, later=later, **more)


def test_a_sound_case_passes():
    assert examine(small_case()) == "fitted"


def broken_encoder(*_):
    raise InputError("This value cannot be encoded.")


BROKEN = {
    "a value is refused": ("dpfair.data.tabular.encode", broken_encoder),
    "a value is shown": (
        "dpfair.data.tabular.known_groups",
        lambda *_: (_ for _ in ()).throw(InputError(f"unknown group {SECRET_WORD}")),
    ),
    "a foreign error": (
        "dpfair.data.tabular.known_groups",
        lambda *_: (_ for _ in ()).throw(ValueError("unknown group")),
    ),
    "a foreign warning": (
        "dpfair.data.tabular.known_groups",
        lambda *_: warnings.warn("something", RuntimeWarning, stacklevel=1),
    ),
    "a schema of the data": (
        "dpfair.data.tabular._class_values",
        lambda label, labels: np.array(["no", "yes"]),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_is_noticed(name, monkeypatch):
    monkeypatch.setattr(*BROKEN[name])
    with pytest.raises(AssertionError):
        examine(small_case())


def test_a_charge_before_the_check_is_noticed(monkeypatch):
    from dpfair.privacy.events import noisy_table
    from dpfair.privacy.ledger import Ledger

    whole = PrivateLogisticRegression.fit

    def charges_first(self, X, y, sensitive_features=None):
        Ledger(1, 1e-5).charge(noisy_table(1, "add_remove"), scope="", purpose="p")
        return whole(self, X, y, sensitive_features)

    monkeypatch.setattr(PrivateLogisticRegression, "fit", charges_first)
    with pytest.raises(AssertionError, match="has charged"):
        examine(small_case(defect="labels too short"))


@pytest.mark.parametrize("estimator", ["logistic", "boosting", "reuse", "flips", "search"])
def test_a_refused_fit_leaves_the_ledger_file_alone(estimator, tmp_path):
    path = tmp_path / "data.ledger"
    ledger = LedgerFile.create(path, 1000, 1e-2)
    for defect in ["", *DEFECTS]:
        case, before = small_case(estimator, defect=defect), len(ledger.entries)
        table = fuzz_tables.CONTAINERS["polars"](case.columns)
        table, y, groups = fuzz_tables.defective(case, table)
        model = ESTIMATORS[estimator](case).set_params(ledger=path)
        _, seen = watch(lambda: model.fit(table, y, sensitive_features=groups))  # noqa: B023
        decent(seen)
        assert len(ledger.entries) == before + (seen.error is None)
    assert len(ledger.entries) >= 1


# What was found, one by one


def fit(X, y, **settings):
    model = PrivateLogisticRegression(1, steps=2, **{"schema": SCHEMA} | settings)
    return watch(lambda: model.fit(X, y))[1], model


ODD_TABLES = {
    "list": [SECRET_NUMBER] * 3,
    "vector": np.full(3, SECRET_NUMBER),
    "scalar": np.array(SECRET_NUMBER),
    "cube": np.full((3, 2, 2), SECRET_NUMBER),
    "complex": np.full((3, 2), SECRET_NUMBER + 1j),
    "dictionary": {"age": [SECRET_NUMBER] * 3},
    "word": SECRET_WORD,
    "generator": (SECRET_NUMBER for _ in range(3)),
    "ragged": [[SECRET_NUMBER], [1, 2], [3]],
    "series": pd.Series([SECRET_NUMBER] * 3),
    "nothing": None,
}


@pytest.mark.parametrize("name", ODD_TABLES)
def test_what_is_no_table_is_refused_without_being_shown(name):
    """scikit-learn's own messages print the array."""
    seen, _ = fit(ODD_TABLES[name], [0, 1, 1])
    assert isinstance(seen.error, InputError)
    decent(seen)


def test_a_lazy_frame_is_refused_without_being_looked_at():
    seen, _ = fit(make_loans(3)[0].lazy(), ["no", "yes", "no"])
    assert isinstance(seen.error, InputError)
    assert seen.warned == []


def test_a_sparse_matrix_is_refused():
    from scipy.sparse import csr_array

    seen, _ = fit(csr_array(np.eye(3)), [0, 1, 1])
    assert isinstance(seen.error, InputError)
    assert "sparse" in str(seen.error).lower()


@pytest.mark.parametrize("columns", [["age", "age"], [0, "0"], [0, "age"]])
def test_names_that_do_not_tell_columns_apart_are_refused(columns):
    table = pd.DataFrame([[1, 2]] * 4, columns=columns)
    for model in (
        PrivateLogisticRegression(steps=2),
        FairPostProcessor(lambda t: np.ones(4), 1, sensitive="age", groups=["1", "2"]),
    ):
        _, seen = watch(lambda model=model: model.fit(table, [0, 1, 0, 1]))
        assert isinstance(seen.error, InputError)
        decent(seen)


def test_a_name_is_the_name_of_one_column():
    arrow = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["age", "age"])
    for table in (arrow, pd.DataFrame([[1, 2]], columns=[7, "7"])):
        with pytest.raises(SchemaError, match="same name"):
            sound_table(table)


@pytest.mark.parametrize("changed", [{"drop": 1}, {"more": 1}])
def test_another_number_of_columns_is_dpfairs_error(changed):
    X = np.arange(20.0).reshape(5, 4)
    model = PrivateLogisticRegression(1, steps=2)
    with pytest.warns(PrivacyLeakWarning):
        model.fit(np.tile(X, (4, 1)) + np.arange(20)[:, None], [0, 1] * 10)
    other = X[:, :3] if "drop" in changed else np.hstack([X, X])
    with pytest.raises(InputError, match="features"):
        model.predict(other)


@pytest.mark.parametrize(
    "odd",
    [
        [1, 2],
        (1, 2, 3),
        {"a": 1},
        b"\xff\xfe",
        np.array([1, 2]),
        np.array([7.5]),
        Stubborn(),
        10**400,
    ],
    ids=repr,
)
def test_an_odd_item_of_a_list_is_a_value_like_any_other(odd):
    """NumPy makes no array of items of several shapes, and text of bytes and numbers."""
    X, y = make_loans(6)
    rows = [list(row) for row in X.iter_rows()]
    rows[2][1], labels = odd, [*y[:5], odd]
    schema = Schema(
        (Numeric("x1", (0, 100)), Categorical("x2", ("clerk",))),
        SCHEMA.label,
        Levels("x3", ("f", "m")),
    )
    seen, model = fit(rows, labels, schema=schema)
    assert seen.error is None
    decent(seen)
    assert model.classes_.tolist() == ["no", "yes"]
    assert as_texts(["f", odd, 1.0])[::2] == ["f", "1"]
    assert len(numbers([1.0, odd])) == 2


@pytest.mark.parametrize("width", [1, 2])
def test_labels_that_are_lists_of_one_length_are_values_like_any_other(width):
    X, _ = make_loans(6)
    labels = pl.Series("y", [[0] * width] * 6, dtype=pl.Array(pl.Int64, width))
    seen, model = fit(X, labels, schema=SCHEMA)
    assert seen.error is None
    assert model.classes_.tolist() == ["no", "yes"]


def test_items_of_a_list_keep_their_types():
    assert plain_array([1, 2.5]).dtype == np.float64
    assert plain_array([1, "a"]).tolist() == [1, "a"]
    assert as_texts([b"a", "b"]) == as_texts(np.array([b"a", "b"], dtype=object))
    assert as_texts((True, "x")) == ["true", "x"]


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (("0", "1"), [0, 1]),
        (("-1", "1"), [-1, 1]),
        (("²", "1"), ["²", "1"]),
        (("--1", "1"), ["--1", "1"]),
        (("1", "01"), ["1", "01"]),
        (("9" * 30, "1"), ["9" * 30, "1"]),
        (("١", "٢"), ["١", "٢"]),
    ],
)
def test_labels_that_look_like_numbers(values, classes):
    X, _ = make_loans(4)
    schema = Schema(SCHEMA.columns, Levels("y", values), SCHEMA.sensitive)
    seen, model = fit(X, [values[0], values[1], None, "other"], schema=schema)
    assert seen.error is None
    assert model.classes_.tolist() == classes
    assert set(model.predict(X).tolist()) <= set(classes)


def test_a_position_may_be_a_numpy_number():
    X, y = make_loans(40)
    table = X.select("age", "income").with_columns(sex=(X["sex"] == "m").cast(int)).to_numpy()
    with pytest.warns(PrivacyLeakWarning):
        PrivateLogisticRegression(1, sensitive=np.int64(2), steps=2).fit(table, y)
    with pytest.raises(SchemaError, match="name or the position"):
        PrivateLogisticRegression(1, sensitive=2.5, steps=2).fit(table, y)


def test_half_a_surrogate_is_no_text():
    """Such text cannot be printed, nor written to a file."""
    for make in (
        lambda: Schema((Numeric("\ud800", (0, 1)),), SCHEMA.label),
        lambda: Categorical("c", ("a", "\udfff")),
        lambda: Levels("y", ("0", "\ud800x")),
    ):
        with pytest.raises(SchemaError, match="must be text"):
            make()
    records = encode(
        pd.DataFrame({"c": ["a", "\ud800"]}, dtype=object),
        Schema((Categorical("c", ("a",)),), SCHEMA.label),
    )
    assert records.codes.ravel().tolist() == [0, 1]


def test_a_hundred_thousand_words():
    n = 100_000
    X = pl.DataFrame(
        {
            "age": np.arange(n),
            "income": np.arange(n) / 1000,
            "job": [f"{SECRET_WORD} {i}" for i in range(n)],
            "sex": ["f", "m"] * (n // 2),
        }
    )
    seen, model = fit(X, ["no", "yes"] * (n // 2))
    assert seen.error is None
    assert model.schema_ == SCHEMA
    seen, model = fit(X, ["no", "yes"] * (n // 2), schema=None)
    assert seen.error is None
    assert "job" not in [column.name for column in model.schema_.columns]
    decent(seen)
    seen, _ = fit(X, X["job"].to_list(), schema=None)
    assert isinstance(seen.error, InputError)
    decent(seen)


def test_a_damaged_file_is_one_sentence(tmp_path):
    """Some make the reader panic, which is no ordinary exception."""
    frame = pl.DataFrame({"age": [1, 2, SECRET_NUMBER], "job": ["a", SECRET_WORD, None]})
    rng, path, outcomes = np.random.default_rng(0), tmp_path / "data.parquet", set()
    frame.write_parquet(path, compression="uncompressed")
    content = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), 3):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            outcomes.add(type(pl.read_parquet(path)))
        except BaseException as error:
            outcomes.add(type(error))
        _, seen = watch(lambda: read_table(path))
        decent(seen)
    assert pl.exceptions.PanicException in outcomes
    assert pl.DataFrame in outcomes


def test_a_fit_on_a_part_that_coins_left_empty():
    """Whoever divides a table says so; the fit then tells nothing about the size of the part."""
    X, y = make_loans(3)
    for table in (X[:0], X[:0].to_pandas()):
        model = PrivateFairClassifier(
            1, schema=SCHEMA, learner=PrivateLogisticRegression(steps=2), mode="reuse"
        )
        with pytest.raises(InputError, match="no rows"):
            model.fit(table, y[:0])
        model._may_have_no_rows = True
        model.fit(table, y[:0])
        assert model.ledger_.spent > 0
        assert model.predict(X).shape == (3,)


@given(st.text(), st.text())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_any_text_is_a_word_of_its_own_or_none(one, other):
    schema = Schema((Numeric("n", (0, 1)),), Levels("y", ("0", "1")))
    frame = pl.DataFrame({"n": [one, other]}, strict=False)
    assert encode(frame, schema).numeric.shape == (2, 1)
    assert len(as_texts([one, other])) == 2
