"""What is reached without privacy: gradient boosting with equal acceptance rates of the groups."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from dpfair.privacy.noise import Noise
from scripts.panel.prepare import Prepared

__all__ = ["best_rate", "boosting_with_quotas", "quota_probabilities"]

FOLDS = 3
RATES = np.arange(0, 201) / 200
# The coins of ties, far from those of splits and models.
_COIN_SEED = 3 * 10**9


def boosting_with_quotas(
    data: Prepared, rest: NDArray[np.int64], test: NDArray[np.int64], seed: int
) -> NDArray[np.bool_]:
    """Decisions about the test part; all is fixed on the training part.

    The scores of training records that fix the rate and the thresholds come from cross-validation,
    because scores of records that a model was fitted to are more extreme than those of new ones.
    """
    table, labels, groups = _numbers(data.X), data.accepted, data.group_codes
    booster = HistGradientBoostingClassifier(random_state=seed)
    clusters = data.clusters[rest]
    alone = len(np.unique(clusters)) == len(clusters)
    kind = StratifiedKFold if alone else StratifiedGroupKFold
    folds = kind(FOLDS, shuffle=True, random_state=seed)
    # One thread: sums then have one order, and runs beside each other do not wait for cores.
    with threadpool_limits(1):
        known = cross_val_predict(
            booster,
            table[rest],
            labels[rest],
            groups=None if alone else clusters,
            cv=folds,
            method="predict_proba",
        )[:, 1]
        scores = booster.fit(table[rest], labels[rest]).predict_proba(table[test])[:, 1]
    rate = best_rate(known, groups[rest], labels[rest])
    chances = quota_probabilities(known, groups[rest], rate, scores, groups[test])
    return Noise(_COIN_SEED + seed).uniforms(len(test)) < chances


def best_rate(
    scores: NDArray[np.float64], groups: NDArray[np.int64], labels: NDArray[np.int64]
) -> float:
    """The common acceptance rate of the groups with the highest accuracy on these records."""
    right = []
    for rate in RATES:
        accepts = quota_probabilities(scores, groups, float(rate), scores, groups)
        right.append(float(np.mean(np.where(labels == 1, accepts, 1 - accepts))))
    return float(RATES[int(np.argmax(right))])


def quota_probabilities(
    known: NDArray[np.float64],
    known_groups: NDArray[np.int64],
    rate: float,
    scores: NDArray[np.float64],
    groups: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The chance of acceptance by thresholds that accept ``rate`` of the known records of a group.

    The threshold t of a group is the smallest score with ``share(known > t) <= rate``. A score
    above t is accepted, a score of t with chance ``(rate - share(known > t)) / share(known = t)``,
    so that exactly the share ``rate`` of the known records is accepted in expectation.
    """
    chances = np.zeros(len(scores))
    for group in np.unique(groups):
        own = np.sort(known[known_groups == group])
        wanted = rate * len(own)
        threshold = own[max(len(own) - 1 - int(wanted), 0)]
        above = len(own) - np.searchsorted(own, threshold, side="right")
        equal = len(own) - np.searchsorted(own, threshold, side="left") - above
        members = groups == group
        at = np.where(scores[members] == threshold, (wanted - above) / equal, 0.0)
        chances[members] = np.where(scores[members] > threshold, 1.0, at)
    return chances


def _numbers(X: pl.DataFrame) -> NDArray[np.float64]:
    """All columns, the group included, with words as numbers; a missing value is NaN."""
    columns = []
    for name in X.columns:
        column = X[name]
        if column.dtype == pl.String:
            words = sorted(column.drop_nulls().unique().to_list())
            codes = {word: code for code, word in enumerate(words)}
            column = column.replace_strict(codes, return_dtype=pl.Float64)
        columns.append(column.to_numpy().astype(np.float64))
    return np.column_stack(columns)
