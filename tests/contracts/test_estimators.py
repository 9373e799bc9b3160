"""What scikit-learn asks of every method, and what fair models must do on a larger table."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from contracts.cases import parameter
from contracts.checks import accepts_at_the_stated_rate
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpfair import (
    Algorithm2,
    FairPostProcessor,
    InputError,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    PrivateSearchCV,
)
from dpfair.methods import METHODS


def of_every_method():
    """A model of every method of METHODS as it is made by default, and a search."""
    for kind in METHODS.values():
        built_on = "classifier" in kind().get_params()
        yield kind(**{"classifier": LogisticRegression()} if built_on else {})
    yield PrivateSearchCV(PrivateLogisticRegression(), {"steps": [10]}, mean_runs=1.5)


def broken_checks(estimator):
    """Checks that fail by an error of their own."""
    old = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)
    if old and isinstance(estimator, FairPostProcessor):
        why = "before 1.7.2 it subtracts a mean from integers in place"
        return {"check_positive_only_tag_during_fit": why}
    return {}


@parametrize_with_checks([*of_every_method()], expected_failed_checks=broken_checks)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def accepts_above_40(table):
    return (np.asarray(table["income"]) > 40).astype(int)


def fair_estimators(schema, seed=1):
    return [
        PrivateFairClassifier(2, schema=schema, sensitive="sex", random_state=seed),
        Algorithm2(2, schema=schema, random_state=seed),
        PrivateFairClassifier(2, schema=schema, mode="reuse", random_state=seed),
        PrivateFairClassifier(
            2, schema=schema, random_state=seed, rule={"notion": "equalized_odds"}
        ),
        FairPostProcessor(
            accepts_above_40, 2, sensitive="sex", groups=["f", "m"], random_state=seed
        ),
        FairPostProcessor(accepts_above_40, sensitive="sex", random_state=seed),
    ]


NAMES = ["certified", "flips", "reuse", "odds", "algorithm2", "algorithm1"]


@pytest.fixture(params=range(len(NAMES)), ids=NAMES)
def estimator(request, loan_schema):
    return fair_estimators(loan_schema)[request.param]


def containers(frame):
    return {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}


def test_every_container_gives_the_same_model_and_decisions(estimator, loans):
    X, y = loans
    results = {}
    for name, table in containers(X).items():
        model = clone(estimator).fit(table, y)
        results[name] = (model.release_, model.predict(table).tolist())
    assert results["polars"] == results["pandas"] == results["pyarrow"]


def test_arrays_give_the_same_decisions_as_frames(loans):
    X, y = loans
    numbers = X.select("age", "income").with_columns(sex=(X["sex"] == "m").cast(int))
    frame_model = PrivateFairClassifier(2, sensitive="sex", random_state=3).fit(numbers, y)
    array_model = PrivateFairClassifier(2, sensitive=2, random_state=3).fit(numbers.to_numpy(), y)
    assert frame_model.release_ == array_model.release_
    expected = frame_model.predict(numbers)
    np.testing.assert_array_equal(array_model.predict(numbers.to_numpy()), expected)


def test_groups_apart_from_the_table_give_the_same_result(loans, loan_schema):
    X, y = loans
    inside = PrivateFairClassifier(2, schema=loan_schema, random_state=1).fit(X, y)
    outside = PrivateFairClassifier(2, schema=loan_schema, random_state=1)
    features = X.drop("sex")
    outside.fit(features, y, sensitive_features=X["sex"])
    np.testing.assert_array_equal(
        inside.predict(X), outside.predict(features, sensitive_features=X["sex"])
    )


def test_works_in_pipeline_grid_search_and_cross_validate(loans, loan_schema):
    X, y = loans
    model = PrivateFairClassifier(3, schema=loan_schema, sensitive="sex", random_state=0)
    pipeline = Pipeline([("same", FunctionTransformer()), ("fair", model)])
    scores = cross_validate(pipeline, X, y, cv=3, error_score="raise")["test_score"]
    assert scores.mean() > 0.6
    search = GridSearchCV(model, {"epsilon": [1.0, 4.0]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["epsilon"] in (1.0, 4.0)


def test_metadata_routing_passes_the_groups(loans, loan_schema):
    from sklearn import config_context

    X, y = loans
    model = PrivateFairClassifier(3, schema=loan_schema, random_state=0)
    with config_context(enable_metadata_routing=True):
        result = cross_validate(
            model,
            X.drop("sex"),
            y,
            cv=2,
            error_score="raise",
            params={"sensitive_features": X["sex"].to_numpy()},
        )
    assert result["test_score"].mean() > 0.6


def test_decisions_are_repeatable_and_independent_of_the_batch(estimator, loans):
    X, y = loans
    model = clone(estimator).fit(X, y)
    whole = model.predict(X)
    np.testing.assert_array_equal(whole, model.predict(X))
    single = [model.predict(X[i : i + 1])[0] for i in range(40)]
    assert single == whole[:40].tolist()


def with_fresh_coins(estimator):
    return clone(estimator).set_params(**{parameter(estimator, "coins"): "fresh"})


def test_fresh_coins_differ_between_calls(estimator, loans):
    X, y = loans
    model = with_fresh_coins(estimator).fit(X, y)
    chance = model.predict_proba(X)[:, 1]
    agree = np.prod(1 - 2 * chance * (1 - chance))  # the chance that two calls agree
    drawn = [model.predict(X) for _ in range(12)]
    differ = any(not np.array_equal(drawn[0], other) for other in drawn[1:])
    if agree == 1:  # one cut per group leaves nothing to chance
        assert not differ
        assert isinstance(model, PrivateFairClassifier)
        assert model.rule_settings.notion == "demographic_parity"
    else:
        assert agree < 0.5
        assert differ


def test_predict_proba_is_the_acceptance_probability(estimator, loans):
    X, y = loans
    accepts_at_the_stated_rate(with_fresh_coins(estimator).fit(X, y), X[:1000])


def test_an_unseen_group_is_an_error_without_its_name(estimator, loans):
    import polars as pl

    X, y = loans
    model = clone(estimator).fit(X, y)
    with pytest.raises(
        InputError, match="1 of 5 records have a group that the schema does not declare"
    ) as e:
        model.predict(X[:5].with_columns(sex=pl.Series(["f", "m", "martian", "f", "m"])))
    assert "martian" not in str(e.value)


def test_same_seed_same_model_and_never_private(loan_schema, loans):
    X, y = loans
    for first, second in zip(
        fair_estimators(loan_schema), fair_estimators(loan_schema), strict=True
    ):
        a, b = first.fit(X, y), second.fit(X, y)
        assert a.certificate_ == b.certificate_
        assert not a.certificate_.privacy.private
        assert "NOT PRIVATE" in str(a.certificate_)


def test_unseeded_fits_are_private_and_differ(loan_schema, loans):
    X, y = loans
    a, b = (PrivateFairClassifier(1, schema=loan_schema).fit(X, y) for _ in range(2))
    assert a.certificate_.privacy.private
    assert not np.array_equal(a.scorer_.weights, b.scorer_.weights)
