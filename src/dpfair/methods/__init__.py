"""The methods: one short file each, all of them :class:`PrivateClassifier`."""

from __future__ import annotations

from dpfair.methods.algorithm1 import Algorithm1
from dpfair.methods.algorithm2 import Algorithm2
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.boosting import PrivateBoosting
from dpfair.methods.dp_fermi import DPFermi
from dpfair.methods.dp_postprocessing import DPPostprocessing
from dpfair.methods.fair_classifier import PrivateFairClassifier
from dpfair.methods.logistic_regression import PrivateLogisticRegression
from dpfair.methods.post_processor import FairPostProcessor

__all__ = ["METHODS"]

METHODS: dict[str, type[PrivateClassifier]] = {
    "fair": PrivateFairClassifier,
    "algorithm1": Algorithm1,
    "algorithm2": Algorithm2,
    "post-processor": FairPostProcessor,
    "dp-postprocessing": DPPostprocessing,
    "dp-fermi": DPFermi,
    "logistic": PrivateLogisticRegression,
    "boosting": PrivateBoosting,
}
"""The methods by the names that files and the command line use. One line is one method."""
