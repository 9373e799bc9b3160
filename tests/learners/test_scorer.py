"""Scores of many records are made in parts."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair.data.encode import encode
from dpfair.learners import scorer as module
from dpfair.learners.features import FEATURES, feature_count
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.trees import BoostedScorer, RandomTrees


@pytest.mark.parametrize("features", FEATURES)
def test_parts_do_not_change_a_score(features, loans, loan_schema, monkeypatch):
    weights = np.random.default_rng(0).normal(size=feature_count(features, loan_schema))
    linear, records = LinearScorer(loan_schema, features, weights), encode(loans[0], loan_schema)
    trees = RandomTrees(loan_schema, 5, 3)
    boosted = BoostedScorer(linear, trees, np.random.default_rng(1).normal(size=(5, 8)))
    whole = [linear.log_odds(records), boosted.scores(records)]
    monkeypatch.setattr(module, "_ROWS", 7)
    parts = [linear.log_odds(records), boosted.scores(records)]
    assert all((a == b).all() for a, b in zip(whole, parts, strict=True))
    alone = [linear.log_odds(records.take(slice(i, i + 1)))[0] for i in range(0, len(records), 97)]
    assert alone == whole[0][::97].tolist()
    assert linear.log_odds(records.take(slice(0))).shape == (0,)
