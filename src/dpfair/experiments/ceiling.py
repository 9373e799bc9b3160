"""What could be reached without privacy, on the same splits: never part of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import OrdinalEncoder

from dpfair.data.encode import encode, level_codes
from dpfair.data.records import Records
from dpfair.datasets.dataset import Dataset
from dpfair.experiments.benchmark import Setting, load_dataset, measured, split
from dpfair.fairness.counting import exact_counts
from dpfair.fairness.metrics import accuracy
from dpfair.fairness.optimal import optimal_choice
from dpfair.methods.fair_classifier import PrivateFairClassifier

__all__ = ["boosting_ceiling", "same_scorer_ceiling"]


def boosting_ceiling(dataset: str, seed: int) -> dict[str, Any]:
    """Gradient boosting without privacy: as it is, and with exact quotas per group.

    The common rate of the quotas is chosen by cross-validation on the training records.
    """
    data = load_dataset(dataset)
    rest, test = split(len(data.y), seed)
    table, labels, groups = _numbers(data), _labels(data), _groups(data)
    booster = HistGradientBoostingClassifier(random_state=seed)
    held_out = cross_val_predict(booster, table[rest], labels[rest], cv=3, method="predict_proba")
    rates = np.arange(0.05, 0.35, 0.005)
    right = [accuracy(_quota(held_out[:, 1], groups[rest], rate), labels[rest]) for rate in rates]
    scores = booster.fit(table[rest], labels[rest]).predict_proba(table[test])[:, 1]
    fair = _quota(scores, groups[test], float(rates[int(np.argmax(right))]))
    plain = Setting(dataset, 1.0)
    return {
        "unfair": measured(plain, scores > 0.5, labels[test], groups[test], 2),
        "fair": measured(plain, fair, labels[test], groups[test], 2),
    }


def same_scorer_ceiling(
    setting: Setting, model: PrivateFairClassifier, rest: Records, test: Records
) -> float:
    """The test accuracy of the best rule for the model's scorer, by exact counts of its records."""
    assert rest.labels is not None
    assert test.labels is not None
    edges = model.release_.edges
    counts = exact_counts(
        model.scorer_.scores(rest), rest.groups, rest.labels, len(edges), edges
    ).astype(np.float64)
    rule = optimal_choice(counts, counts, edges, model.rule_settings.goal()).rule()
    return accuracy(rule.probabilities(test.groups, model.scorer_.scores(test)), test.labels)


def _quota(
    scores: NDArray[np.float64], groups: NDArray[np.integer[Any]], rate: float
) -> NDArray[np.bool_]:
    accepted = np.zeros(len(scores), dtype=bool)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        best = members[np.argsort(-scores[members], kind="stable")]
        accepted[best[: round(rate * len(members))]] = True
    return accepted


def _numbers(data: Dataset) -> NDArray[np.float64]:
    """All columns, the group included, with words as numbers."""
    words_in = [c for c in data.X.columns if data.X[c].dtype == pl.String]
    coded = OrdinalEncoder().fit_transform(data.X[words_in].to_numpy())
    numbers = data.X.drop(words_in).to_numpy().astype(np.float64)
    return np.hstack([numbers, coded])


def _labels(data: Dataset) -> NDArray[np.int64]:
    return level_codes(data.y, data.schema.label)


def _groups(data: Dataset) -> NDArray[np.int8]:
    return encode(data.X, data.schema).groups
