"""Groups of a fair model: any columns, and few records."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair import InputError, PrivateFairClassifier
from dpfair.errors import FairnessWarning


def test_any_column_of_the_schema_can_hold_the_groups(loans, loan_schema):
    X, y = loans
    model = PrivateFairClassifier(3, schema=loan_schema, sensitive="job").fit(X, y)
    assert model.schema_.groups == ("clerk", "farmer", "nurse")
    assert len(model.certificate_.fairness.after) == len(model.certificate_.fairness.pairs) == 3
    rates = [
        model.predict_proba(X)[(X["job"] == job).to_numpy(), 1].mean()
        for job in model.schema_.groups
    ]
    assert max(rates) - min(rates) < model.certificate_.fairness.gap_bound


def test_intersections_get_a_group_for_every_combination(loans, loan_schema):
    X, y = loans
    model = PrivateFairClassifier(3, schema=loan_schema, sensitive=["sex", "job"], random_state=1)
    model.fit(X, y)
    assert len(model.schema_.groups) == 6
    assert model.schema_.groups[0] == "f, clerk"
    assert len(model.certificate_.fairness.pairs) == 15
    accepted = model.predict_proba(X)[:, 1]
    groups = model.new_records(X).groups
    rates = [accepted[groups == a].mean() for a in range(6)]
    plain = PrivateFairClassifier(3, schema=loan_schema, random_state=1).fit(X, y)
    coarse = [plain.predict_proba(X)[groups == a, 1].mean() for a in range(6)]
    assert max(rates) - min(rates) < max(coarse) - min(coarse)
    assert max(rates) - min(rates) < model.certificate_.fairness.gap_bound


def test_small_groups_share_a_threshold_or_stop_the_fit(loans, loan_schema):
    X, y = loans
    settings = {"schema": loan_schema, "random_state": 1}
    large = {"smallest_group": 10_000}
    with pytest.warns(FairnessWarning, match="share one"):
        model = PrivateFairClassifier(3, rule=large, **settings).fit(X, y)
    assert np.array_equal(model.rule_.cuts[0], model.rule_.cuts[1])
    assert np.array_equal(model.rule_.accept[0], model.rule_.accept[1])
    with pytest.raises(InputError, match="Too few records"):
        PrivateFairClassifier(3, rule=large | {"small_groups": "refuse"}, **settings).fit(X, y)
    apart = PrivateFairClassifier(3, schema=loan_schema, random_state=1).fit(X, y)
    assert not np.array_equal(apart.rule_.cuts[0], apart.rule_.cuts[1])
