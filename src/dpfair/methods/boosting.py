"""PrivateBoosting: trees of random structure on top of private logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

from dpfair.learners.boosting import BoostingLearner, BoostingSettings
from dpfair.methods.learned import LearnedClassifier

__all__ = ["PrivateBoosting"]


@dataclass(eq=False, repr=False)
class PrivateBoosting(BoostingSettings, LearnedClassifier):
    """Boosted trees with an (epsilon, delta) guarantee for every feature of every record.

    Parameters
    ----------
    epsilon, delta
        The privacy budget of one fit.
    trees, depth, tree_share, steps, learning_rate, clip, arithmetic
        As in :class:`~dpfair.learners.boosting.BoostingSettings`.
    schema, sensitive, relation, ledger, strict, random_state
        As in :class:`~dpfair.PrivateFairClassifier`; the group is a feature like any other.
    """

    learner_class = BoostingLearner
    quick = BoostingLearner.quick
    title = "private boosting"
    no_claim = "boosting bounds no gap between groups"
