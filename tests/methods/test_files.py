"""A model decides files as it decides the table that they are."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest
from sample_tables import LOANS, make_loans
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dpfair import (
    BlockLearner,
    FairPostProcessor,
    InputError,
    LedgerFile,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    Schema,
    TableFiles,
)
from dpfair.evaluation import evaluate, evaluate_privately

LOGISTIC = PrivateLogisticRegression(2, schema=Schema.from_dict(LOANS), steps=5, random_state=1)


@pytest.fixture(scope="module")
def table():
    X, y = make_loans(700)
    return X.with_columns(repaid=pl.Series(y), other=pl.int_range(700))


@pytest.fixture
def files(table, tmp_path):
    """Two files of 500 and 200 rows."""
    table[:500].write_csv(tmp_path / "1.csv")
    table[500:].drop("other").write_parquet(tmp_path / "2.parquet")
    return TableFiles.named(tmp_path)


@pytest.fixture(scope="module")
def fitted(table):
    return fair().fit(table)


def fair(**how):
    learner = BlockLearner(**BlockLearner.quick)
    schema = Schema.from_dict(LOANS)
    return PrivateFairClassifier(4, schema=schema, learner=learner, random_state=2, **how)


def test_predictions(fitted, files, table):
    assert (fitted.predict(files) == fitted.predict(table)).all()
    assert (fitted.predict_proba(files) == fitted.predict_proba(table)).all()
    for found, expected in zip(fitted.decide_all(files), fitted.decide_all(table), strict=True):
        assert found.dtype == expected.dtype
        assert (found == expected).all()


def test_a_model_without_a_rule(files, table):
    model = clone(LOGISTIC).fit(files)
    assert (model.predict(files) == model.predict(table)).all()


def test_a_classifier_of_the_users(files, table):
    model = FairPostProcessor(lambda X: np.asarray(X["income"]) > 40, sensitive="sex").fit(table)
    with pytest.raises(InputError, match="The classifier decides a table"):
        model.predict(files)


def test_records_of_no_declared_group_are_counted_over_all_files(fitted, files, table):
    strange = table.with_columns(
        sex=pl.when(pl.col("other") % 100 == 7).then(pl.lit("x")).otherwise("sex")
    )
    strange[:500].write_csv(files.paths[0])
    strange[500:].write_parquet(files.paths[1])
    assert (fitted.undecided(files) == fitted.undecided(strange)).all()
    for found, end in ((files, "dpfair predict decides the others"), (strange, "it declares f, m")):
        with pytest.raises(InputError, match=rf"^7 of 700 records have a group.*{end}\.$"):
            fitted.predict(found)


def test_labels_and_groups_are_in_the_files(fitted, files, table):
    for ask in (fitted.predict, fitted.undecided):
        with pytest.raises(InputError, match="are read from the files"):
            ask(files, sensitive_features=table["sex"])
    with pytest.raises(InputError, match="are read from the files"):
        evaluate(fitted, files, table["repaid"])


def test_evaluation(fitted, files, table):
    assert evaluate(fitted, files) == evaluate(fitted, table, table["repaid"])


def test_evaluation_that_pays(fitted, files, table):
    one = evaluate_privately(fitted, files, epsilon=1, random_state=3)
    two = evaluate_privately(fitted, table, table["repaid"], epsilon=1, random_state=3)
    assert one.to_json() == two.to_json()


def test_labels_inside_a_table_need_not_be_given(fitted, table):
    assert evaluate(fitted, table) == evaluate(fitted, table.drop("repaid"), table["repaid"])
    with pytest.raises(InputError, match="requires y to be passed"):
        evaluate(fitted, table.drop("repaid"))


@pytest.mark.parametrize("ask", [evaluate, partial(evaluate_privately, epsilon=1)])
def test_an_unfitted_model_is_refused(ask, files):
    with pytest.raises(NotFittedError):
        ask(fair(), files)


def test_truth_values_that_are_not_declared_cost_nothing(fitted, files, table, tmp_path):
    ledger = LedgerFile.create(tmp_path / "a.ledger", 3, 1e-5)
    table[500:].with_columns(repaid=pl.col("repaid") == "yes").write_parquet(files.paths[1])
    with pytest.raises(InputError, match="has the values true and false"):
        evaluate_privately(fitted, files, epsilon=1, ledger=ledger.path)
    assert len(ledger.entries) == 0


def test_files_that_cannot_be_read_cost_nothing(fitted, files, tmp_path):
    ledger = LedgerFile.create(tmp_path / "a.ledger", 3, 1e-5)
    pl.read_parquet(files.paths[1]).drop("income").write_parquet(files.paths[1])
    with pytest.raises(InputError, match=r"2\.parquet has no column 'income'"):
        evaluate_privately(fitted, files, epsilon=1, ledger=ledger.path)
    assert len(ledger.entries) == 0


def test_persons_are_looked_for_in_all_of_a_table(files, table):
    model = fair(unit="other").fit(table)
    with pytest.raises(InputError, match="of a person are looked for in all of a table"):
        evaluate_privately(model, files, epsilon=1)


def test_labels_that_are_in_the_table_need_not_be_given(table):
    inside, apart = clone(LOGISTIC).fit(table), clone(LOGISTIC).fit(table, table["repaid"])
    assert (inside.predict_proba(table) == apart.predict_proba(table)).all()
    with pytest.raises(InputError, match="requires y to be passed"):
        clone(LOGISTIC).fit(table.drop("repaid"))
