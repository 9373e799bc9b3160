"""How tables are read: a declared schema finds its columns by name, before and after saving."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans
from sklearn.linear_model import LogisticRegression

from dpfair import (
    FairPostProcessor,
    InputError,
    LogisticLearner,
    PrivateFairClassifier,
    PrivateSearchCV,
    load_model,
    save_model,
)
from dpfair.errors import PrivacyLeakWarning, SchemaError

QUICK = LogisticLearner(steps=4)

OTHER_TABLES = {
    "an extra column": lambda X, y: X.with_columns(extra=pl.lit(1)),
    "another order": lambda X, y: X.select(X.columns[::-1]),
    "the label left in": lambda X, y: X.with_columns(label=pl.Series(y)),
}


def fair(schema):
    return PrivateFairClassifier(2, schema=schema, learner=QUICK)


def searched(schema):
    estimator = PrivateFairClassifier(schema=schema, learner=QUICK)
    return PrivateSearchCV(estimator, {"rule__tolerance": [0.0, 0.1]}, epsilon=3, mean_runs=2)


def processed(schema):
    X, y = make_loans(200, seed=5)
    known = LogisticRegression().fit(X.select("age", "income").to_pandas(), y)
    return FairPostProcessor(known, 2, sensitive="sex", groups=["f", "m"], held_out=True)


@pytest.mark.parametrize("make", [fair, searched, processed])
@pytest.mark.parametrize("other", OTHER_TABLES.values(), ids=OTHER_TABLES)
def test_a_fresh_model_uses_columns_by_name(other, make, loan_schema):
    X, y = make_loans(600)
    model = make(loan_schema).fit(X, y)
    expected = model.predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict_proba(other(X, y)), expected)


def test_a_model_that_saw_the_label_in_the_table_decides_without_it(loan_schema):
    X, y = make_loans(600)
    model = fair(loan_schema).fit(X.with_columns(label=pl.Series(y)), y)
    assert len(model.predict(X)) == 600


def test_a_fresh_and_a_loaded_model_say_the_same(loan_schema, tmp_path):
    X, y = make_loans(600)
    fresh = fair(loan_schema).fit(X, y)
    loaded = load_model(save_model(fresh, tmp_path / "m.dpfair"))
    wrong = {
        "a missing column": (X.drop("income"), "The table has no column 'income'; it has age"),
        "a narrow array": (X.to_numpy()[:, :2], "Expected an array with the .* columns of the"),
    }
    for table, message in wrong.values():
        for model in (fresh, loaded):
            with pytest.raises(SchemaError, match=message):
                model.predict(table)


def test_a_table_without_a_schema_must_keep_its_columns():
    X, y = make_loans(600)
    numbers = X.select("age", "income")
    with pytest.warns(PrivacyLeakWarning):
        model = PrivateFairClassifier(2, learner=QUICK).fit(numbers, y)
    with pytest.raises(InputError, match="feature names should match"):
        model.predict(numbers.with_columns(extra=pl.lit(1)))
