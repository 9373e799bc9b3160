"""Private training: everything between a budget and a scorer."""

from __future__ import annotations

from typing import Any

from dpfair.registry import Registry

__all__ = ["LEARNERS"]

LEARNERS: Registry[type[Any]] = Registry(
    "dpfair.learners",
    {
        "logistic": "logistic:LogisticLearner",
        "boosting": "boosting:BoostingLearner",
        "blocks": "blocks:BlockLearner",
    },
)
"""The learners by the names that files and the command line use. One line is one learner."""
