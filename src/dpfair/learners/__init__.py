"""Private training: everything between a budget and a scorer."""

from __future__ import annotations

from typing import Any

from dpfair.learners.blocks import BlockLearner
from dpfair.learners.boosting import BoostingLearner
from dpfair.learners.logistic import LogisticLearner

__all__ = ["LEARNERS"]

LEARNERS: dict[str, type[Any]] = {
    "logistic": LogisticLearner,
    "boosting": BoostingLearner,
    "blocks": BlockLearner,
}
"""The learners by the names that files and the command line use. One line is one learner."""
