"""PrivateLogisticRegression: full-batch noisy gradient descent, or the paper's DP-SGD."""

from __future__ import annotations

from dataclasses import dataclass

from dpfair.learners.logistic import LogisticLearner, LogisticSettings
from dpfair.methods.learned import LearnedClassifier

__all__ = ["PrivateLogisticRegression"]


@dataclass(eq=False, repr=False)
class PrivateLogisticRegression(LogisticSettings, LearnedClassifier):
    """Logistic regression with an (epsilon, delta) guarantee for every feature of every record.

    Parameters
    ----------
    epsilon, delta
        The privacy budget of one fit.
    solver, features, steps, epochs, learning_rate, clip, batch_size, noise_multiplier, arithmetic
        As in :class:`~dpfair.learners.logistic.LogisticSettings`.
    schema, sensitive, relation, ledger, strict, random_state
        As in :class:`~dpfair.PrivateFairClassifier`; the group is a feature like any other.

    Examples
    --------
    >>> from dpfair import PrivateLogisticRegression, load_adult
    >>> data = load_adult()
    >>> model = PrivateLogisticRegression(epsilon=3, schema=data.schema).fit(data.X, data.y)
    >>> bool(model.score(data.X, data.y) > 0.84)
    True
    """

    learner_class = LogisticLearner
    quick = LogisticLearner.quick
    title = "private logistic regression"
    no_claim = "logistic regression bounds no gap between groups"
