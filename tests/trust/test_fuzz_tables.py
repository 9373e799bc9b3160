"""Any table: only dpfair's own errors, no value shown, nothing charged for a refusal."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from trust.fuzz_tables import examine, examine_cli, fuzz
from trust.fuzzed.case import DEFECTS, Case, spoilt
from trust.fuzzed.estimators import CHOICES, ESTIMATORS
from trust.fuzzed.strategies import cases
from trust.fuzzed.values import SECRET_NUMBER, SECRET_WORD
from trust.watching import decent, watch

from dpfair import InputError, PrivateLogisticRegression, Schema
from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.methods import METHODS
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.noise import noise_source

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
    found = fuzz(10_000, 1)
    assert found["fitted"] > 5000
    assert found["refused"] > 1000


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_any_table_as_a_file(kind):
    @settings(GENERATED, max_examples=10)
    @given(cases(declared=True, sound=True))
    def run(case):
        examine_cli(case, kind)

    run()


@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_is_refused_or_harmless(defect):
    @settings(GENERATED, max_examples=4)
    @given(cases(declared=True, sound=True))
    def run(case):
        case.defect = defect
        examine(case)

    run()


def small_case(estimator="logistic", **more) -> Case:
    columns = {
        "age": ("numbers", [1.0, 2.0, float(SECRET_NUMBER), math.nan, -3.0]),
        "job": ("words", ["a", "b", SECRET_WORD, None, "a"]),
        "sex": ("words", ["f", "m", SECRET_WORD, None, "1"]),
    }
    schema = Schema(
        (Numeric("age", (0, 10)), Categorical("job", ("a", "b"))),
        Levels("y", ("0", "1")),
        Levels("sex", ("f", "m", "1")),
        rows=20,
    )
    later = {name: (kind, values[:3]) for name, (kind, values) in columns.items()}
    return Case(columns, "polars", estimator, [0, 1, 1, 0, 1], schema, later=later, **more)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_sound_case_passes(estimator):
    assert examine(small_case(estimator, sensitive="sex")) == "fitted"


def test_every_method_is_examined():
    assert set(CHOICES) == set(ESTIMATORS)
    assert {type(make(small_case())) for make in ESTIMATORS.values()} >= set(METHODS.values())


# The harness sees what it looks for


class Refuses(PrivateLogisticRegression):
    def fit(self, X, y, sensitive_features=None):
        raise InputError("This value cannot be encoded.")


class Shows(PrivateLogisticRegression):
    def new_records(self, X, sensitive_features=None, *, known=True):
        raise InputError(f"unknown group {SECRET_WORD}")


class Foreign(PrivateLogisticRegression):
    def new_records(self, X, sensitive_features=None, *, known=True):
        raise ValueError("unknown group")


class Warns(PrivateLogisticRegression):
    def new_records(self, X, sensitive_features=None, *, known=True):
        warnings.warn("something", RuntimeWarning, stacklevel=1)
        return super().new_records(X, sensitive_features, known=known)


class OtherClasses(PrivateLogisticRegression):
    def fit(self, X, y, sensitive_features=None):
        super().fit(X, y, sensitive_features)
        self.classes_ = np.array(["no", "yes"])
        return self


class OtherSchema(PrivateLogisticRegression):
    def fit(self, X, y, sensitive_features=None):
        self.schema = Schema((Numeric("age", (1, 2)),), self.schema.label, self.schema.sensitive)
        return super().fit(X, y, sensitive_features)


class Unsaved(PrivateLogisticRegression):
    """No row of METHODS, so no file can say what it is."""


class PaysFirst(PrivateLogisticRegression):
    def fit(self, X, y, sensitive_features=None):
        self.payment(self.plan(), self.schema).pay()
        return super().fit(X, y, sensitive_features)


class DrawsFirst(PrivateLogisticRegression):
    def fit(self, X, y, sensitive_features=None):
        assert self.plan().open(noise_source(self.random_state)).coin_key
        return super().fit(X, y, sensitive_features)


BROKEN = {
    "a value was refused": (Refuses, ""),
    "a value of a record is shown": (Shows, ""),
    "an error that is not dpfair's": (Foreign, ""),
    "RuntimeWarning": (Warns, ""),
    "the classes are not the declared ones": (OtherClasses, ""),
    "the schema is not the declared one": (OtherSchema, ""),
    "a model is not saved": (Unsaved, ""),
    "a refused fit has charged": (PaysFirst, "labels too short"),
    "a refused fit has drawn": (DrawsFirst, "labels too short"),
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_broken_promise_is_noticed(promise, monkeypatch):
    broken, defect = BROKEN[promise]
    monkeypatch.setitem(ESTIMATORS, "logistic", lambda case: broken(1, steps=2, schema=case.schema))
    with pytest.raises(AssertionError, match=promise):
        examine(small_case(defect=defect))


PAYING = ["logistic", "boosting", "blocks", "reuse", "flips", "fermi", "search", "post-processing"]


@pytest.mark.parametrize("estimator", PAYING)
def test_a_refused_fit_leaves_the_ledger_file_alone(estimator, tmp_path):
    path = tmp_path / "data.ledger"
    ledger = LedgerFile.create(path, 1000, 1e-2)
    for defect in ["", *DEFECTS]:
        case, before = spoilt(small_case(estimator, defect=defect)), len(ledger.entries)
        model = ESTIMATORS[estimator](case).set_params(ledger=path)
        _, seen = watch(
            lambda: model.fit(case.table(), case.labels, sensitive_features=case.groups)  # noqa: B023
        )
        decent(seen)
        assert len(ledger.entries) == before + (seen.error is None)
    assert len(ledger.entries) >= 1
