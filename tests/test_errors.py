"""A warning points at the line of the user, however deep inside dpfair its reason is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sample_tables import make_loans

from dpfair import LogisticLearner, PrivateFairClassifier, PrivateSearchCV, Schema


@pytest.mark.parametrize(
    "schema", ["none", "without groups", "unreviewed", "small", "other labels"]
)
def test_warnings_of_a_fit_point_at_the_line_that_calls_it(schema, loan_schema):
    X, y = make_loans(600)
    data = loan_schema.to_dict()
    if schema == "without groups":
        del data["sensitive"]
    if schema == "unreviewed":
        data["reviewed"] = False
    if schema == "other labels":
        y = np.full(600, "other")
    declared = None if schema == "none" else Schema.from_dict(data)
    delta = 0.005 if schema == "small" else 1e-5
    model = PrivateFairClassifier(
        2, delta, schema=declared, learner=LogisticLearner(steps=4), sensitive=None
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert caught
    assert {warning.filename for warning in caught} == {__file__}


def test_a_search_warns_at_the_line_that_calls_it(loan_schema):
    estimator = PrivateFairClassifier(5.0, schema=loan_schema, learner=LogisticLearner(steps=4))
    search = PrivateSearchCV(estimator, {"rule__tolerance": [0.0]}, epsilon=3, mean_runs=2)
    with pytest.warns(UserWarning, match="which is not used") as caught:
        search.fit(*make_loans(600))
    assert caught[0].filename == __file__
