"""What random labels and groups found, one by one."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sample_tables import make_loans
from trust.fuzzed.values import SECRET_NUMBER, SECRET_WORD, Stubborn
from trust.odd_fits import SCHEMA, fit, ones
from trust.watching import decent, watch

from dpfair import (
    Algorithm1,
    FairPostProcessor,
    InputError,
    LedgerFile,
    PrivateLogisticRegression,
    Schema,
    load_model,
    save_model,
)
from dpfair.data.columns import Levels
from dpfair.data.words import as_words


@pytest.mark.parametrize("width", [1, 2])
def test_labels_that_are_lists_of_one_length_are_values_like_any_other(width):
    X, _ = make_loans(6)
    cells = [[0] * width] * 6
    for labels in (pl.Series("y", cells, dtype=pl.Array(pl.Int64, width)), pa.array(cells)):
        seen, model = fit(X, labels, schema=SCHEMA)
        assert seen.error is None
        assert model.classes_.tolist() == ["no", "yes"]


UNKNOWN_LABELS = {
    "mixed": [0, SECRET_WORD],
    "bytes": [b"a", SECRET_WORD.encode()],
    "complex": [1, SECRET_NUMBER + 1j],
    "infinite": [math.inf, float(SECRET_NUMBER)],
    "gaps": [None, SECRET_NUMBER],
    "lists": [(1, 2), SECRET_NUMBER],
    "stubborn": [Stubborn(), 1],
    "continuous": [0.5, 2.0**63],
}


@pytest.mark.parametrize("name", UNKNOWN_LABELS)
def test_labels_that_are_no_classes_are_refused_without_being_shown(name):
    """scikit-learn's own messages print the labels."""
    X, _ = make_loans(6)
    for model in (PrivateLogisticRegression(1, steps=2), Algorithm1(ones, sensitive="sex")):
        _, seen = watch(lambda model=model: model.fit(X, UNKNOWN_LABELS[name] * 3))
        assert isinstance(seen.error, InputError)
        decent(seen)


@pytest.mark.parametrize(
    "values",
    [(0, 2**63 - 1), (-(2**62), 2**53 + 1), ("True", "b"), ("1.0", "2"), (False, True), (0.0, 7.0)],
    ids=repr,
)
def test_classes_that_are_read_off_the_labels(values, tmp_path):
    """Large numbers keep their digits, and a file says the same."""
    X, _ = make_loans(20)
    for model in (PrivateLogisticRegression(1, steps=2), Algorithm1(ones, sensitive="sex")):
        model.fit(X, np.array([*values] * 10))
        assert sorted(as_words(model.classes_).words) == sorted(as_words(list(values)).words)
        given = {"classifier": ones} if isinstance(model, Algorithm1) else {}
        loaded = load_model(save_model(model, tmp_path / "m"), **given)
        assert loaded.classes_.tolist() == model.classes_.tolist()


class Words:
    """A classifier whose classes are written in a way of their own, or cannot be written."""

    def __init__(self, *classes):
        self.classes_ = np.array(classes)

    def predict(self, table):
        return self.classes_[np.arange(len(table)) % 2]


def test_classes_of_a_classifier_are_saved_as_they_are_or_not_at_all(tmp_path):
    X, y = make_loans(20)
    for classes in (("False", "True"), ("1.0", "2.0")):
        classifier = Words(*classes)
        model = FairPostProcessor(classifier, 1, sensitive="sex", groups=["f", "m"]).fit(X, y)
        path = save_model(model, tmp_path / "m")
        assert load_model(path, classifier=classifier).classes_.tolist() == list(classes)
    for classes in ((b"a", b"b"), (0.0, math.inf), (1j, 2j)):
        model = FairPostProcessor(Words(*classes), 1, sensitive="sex", groups=["f", "m"]).fit(X, y)
        with pytest.raises(InputError, match="text, finite numbers or truth values"):
            save_model(model, tmp_path / "m")


@pytest.mark.parametrize("name", ["label", "label_", "the classifier's decision"])
def test_a_sensitive_column_of_any_name(name, tmp_path):
    X, y = make_loans(20)
    X = X.rename({"sex": name})
    for groups in (["f", "m"], None):
        model = FairPostProcessor(ones, 1, sensitive=name, groups=groups).fit(X, y)
        assert model.schema_.sensitive.name == name
        loaded = load_model(save_model(model, tmp_path / "m"), classifier=ones)
        assert loaded.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("labels", [["no"], ["no"] * 4, np.zeros((3, 2))], ids=["1", "4", "3x2"])
def test_labels_of_a_wrong_form_are_refused_before_payment(labels, tmp_path):
    """Although a classifier that is fitted already does not need them."""
    X, _ = make_loans(3)
    ledger = LedgerFile.create(tmp_path / "l", 1, 1e-5)
    settings = {"sensitive": "sex", "groups": ["f", "m"], "ledger": ledger.path}
    with pytest.raises(InputError, match="one label per row"):
        FairPostProcessor(ones, 1, **settings).fit(X, labels)
    assert ledger.entries == ()
    FairPostProcessor(ones, 1, **settings).fit(X)
    assert len(ledger.entries) == 1


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
