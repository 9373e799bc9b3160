"""What random tables found, one by one: odd tables, labels, names and files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_arrays import numbers_in
from sample_tables import make_loans
from trust.fuzzed.values import SECRET_NUMBER, SECRET_WORD, Stubborn
from trust.odd_fits import SCHEMA, fit, ones
from trust.watching import decent, watch

from dpfair import (
    FairPostProcessor,
    InputError,
    LogisticLearner,
    PrivacyLeakWarning,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
    Schema,
    load_model,
    save_model,
)
from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.containers import plain_array, sound_table
from dpfair.data.encode import encode
from dpfair.data.numbers import numbers
from dpfair.data.read import read_table
from dpfair.data.words import as_words
from dpfair.errors import SchemaError

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
    assert as_words(["f", odd, 1.0]).texts()[::2] == ["f", "1"]
    assert len(numbers([1.0, odd])) == 2


def test_a_table_without_columns_is_refused_before_a_classifier_sees_it():
    for table in (pd.DataFrame(index=range(3)), np.empty((3, 0))):
        model = FairPostProcessor(ones, 1, groups=["f", "m"])
        _, seen = watch(lambda m=model, t=table: m.fit(t, sensitive_features=["f", "m", "f"]))
        assert isinstance(seen.error, InputError)
        assert "0 feature" in str(seen.error)
        assert seen.cost_nothing


def test_facts_given_as_any_numbers_are_those_of_a_file(tmp_path):
    """A file states floats, and was refused if the schema had whole numbers."""
    X, y = make_loans(20)
    age = Numeric("age", [18, np.int64(90)], 40, Fraction(25, 2), [np.float32(30), 60], np.int8(20))
    schema = Schema((age,), SCHEMA.label, SCHEMA.sensitive)
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_dict(schema.to_dict()).to_toml() == schema.to_toml()
    seen, model = fit(X, y, schema=schema)
    assert seen.error is None
    assert load_model(save_model(model, tmp_path / "m")).schema_ == schema
    with pytest.raises(SchemaError, match="low < high"):
        Numeric("age", (2**53, 2**53 + 1))  # the same number, as a float


def test_items_of_a_list_keep_their_types():
    assert plain_array([1, 2.5]).dtype == np.float64
    assert plain_array([1, "a"]).tolist() == [1, "a"]
    assert as_words([b"a", "b"]).words == as_words(np.array([b"a", "b"], dtype=object)).words
    assert as_words((True, "x")).texts() == ["true", "x"]


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
    assert records.codes[0].tolist() == [0, 1]


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


@pytest.mark.parametrize("validation", [1e-9, 1 - 1e-9])
def test_a_part_that_coins_left_empty(validation):
    """A table without rows is refused; a part of one without them tells nothing about its size."""
    X, y = make_loans(3)
    model = PrivateFairClassifier(schema=SCHEMA, learner=LogisticLearner(steps=2), mode="reuse")
    for table in (X, X.to_pandas()):
        with pytest.raises(InputError, match="no rows"):
            model.fit(table[:0], y[:0])
        search = PrivateSearchCV(
            model,
            {"rule__tolerance": [0.0]},
            epsilon=1,
            mean_runs=1.5,
            validation_share=validation,
            random_state=1,
        ).fit(table, y)
        assert search.ledger_.spent > 0
        assert search.predict(table).shape == (3,)


@given(st.text(), st.text())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_any_text_is_a_word_of_its_own_or_none(one, other):
    schema = Schema((Numeric("n", (0, 1)),), Levels("y", ("0", "1")))
    frame = pl.DataFrame({"n": [one, other]}, strict=False)
    assert numbers_in(encode(frame, schema)).shape == (2, 1)
    assert len(as_words([one, other])) == 2
