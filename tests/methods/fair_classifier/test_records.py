"""Fair models of odd records, and of schemas that say little."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sample_tables import make_loans

from dpfair import LogisticLearner, PrivacyLeakWarning, PrivateFairClassifier, Schema
from dpfair.errors import SchemaError


def test_training_values_that_contradict_the_schema_never_raise(loan_schema):
    X, y = make_loans(400)
    odd = X.with_columns(
        age=pl.Series([np.nan, -1e308, 1e308, np.inf] * 100),
        income=pl.Series(["?", "", None, "1e3"] * 100),
        job=pl.Series([None, "astronaut", "", "clerk"] * 100),
        sex=pl.Series(["f", "m", None, "unknown"] * 100),
    )
    labels = np.where(np.arange(400) % 7 == 0, "perhaps", y)
    model = PrivateFairClassifier(2, schema=loan_schema).fit(odd, labels)
    assert model.certificate_.fairness.certified
    assert all(np.isfinite(tensor).all() for tensor in model.scorer_.tensors().values())


@pytest.mark.parametrize("change", ["one class", "one group", "no category", "single record"])
def test_the_shape_of_a_model_tells_nothing_about_its_records(change, loans, loan_schema):
    X, y = loans
    X, y = X[:300], y[:300]
    if change == "one class":
        y = np.full(300, "yes")
    elif change == "one group":
        X = X.with_columns(sex=pl.lit("m"))
    elif change == "no category":
        X = X.with_columns(job=pl.lit("clerk"))
    else:
        X, y = X[:1], y[:1]
    declared = {"schema": loan_schema, "division": {"discovery_share": 0}}
    for learner in (None, LogisticLearner()):
        usual, model = (PrivateFairClassifier(2, learner=learner, **declared) for _ in range(2))
        usual.fit(*loans)
        model.fit(X, y)
        assert model.classes_.tolist() == usual.classes_.tolist()
        assert [e.event for e in model.ledger_.entries] == [e.event for e in usual.ledger_.entries]
    # What blocks a model has follows from noisy answers; a linear score has all its weights.
    assert model.scorer_.weights.shape == usual.scorer_.weights.shape
    assert np.all(model.scorer_.weights != 0), "a weight without noise tells that a cell is empty"


def test_records_of_no_declared_group_are_not_counted(loan_schema):
    """They cannot be predicted, so counting them would certify another population."""
    X, y = make_loans(4000, seed=3)
    unknown = np.arange(4000) % 5 < 2
    X = X.with_columns(sex=pl.when(pl.Series(unknown)).then(None).otherwise(pl.col("sex")))
    model = PrivateFairClassifier(3, schema=loan_schema, random_state=2).fit(X, y)
    share = model.plan_.share("count")
    assert model.release_.counts.sum() == pytest.approx(4000 * 0.6 * share, abs=120)
    assert model.release_.undeclared["group"] == pytest.approx(4000 * 0.4 * share, abs=90)
    known = X.filter(~unknown)
    accept = model.predict_proba(known)[:, 1]
    male = (known["sex"] == "m").to_numpy()
    gap = abs(accept[male].mean() - accept[~male].mean())
    assert gap < model.certificate_.fairness.gap_bound


def test_the_type_of_classes_tells_nothing_about_the_labels(loans, loan_schema):
    from dataclasses import replace

    from dpfair.data.columns import Levels

    X, y = loans
    schema = replace(loan_schema, label=Levels("ok", ("0", "1")))
    labels = (y == "yes").astype(float)
    gap = labels.copy()
    gap[0] = np.nan
    for given in (labels.astype(int), labels, gap, labels.astype(int).astype(object)):
        model = PrivateFairClassifier(2, schema=schema, random_state=1).fit(X, given)
        assert model.classes_.dtype == np.int64
        assert model.score(X, labels) > 0.6


def test_an_inferred_schema_warns_and_is_listed_and_strict_refuses(loans):
    X, y = loans
    with pytest.warns(PrivacyLeakWarning, match="not private"):
        model = PrivateFairClassifier(2, sensitive="sex").fit(X, y)
    assert not model.certificate_.privacy.private
    assert "NOT PRIVATE: the schema was read off the data" in str(model.certificate_)
    assert not model.certificate_.fairness.certified
    with pytest.raises(SchemaError):
        PrivateFairClassifier(2, sensitive="sex", strict=True).fit(X, y)


def test_a_schema_may_lack_groups(loans):
    X, y = loans
    schema = Schema.from_dict(
        {
            "label": {"name": "repaid", "values": ["no", "yes"]},
            "columns": [{"name": "income", "kind": "numeric", "bounds": [0, 100]}],
        }
    )
    model = PrivateFairClassifier(2, schema=schema).fit(X, y)
    assert not model.certificate_.fairness.certified
    assert model.score(X, y) > 0.6
