"""The methods: one short file each, all of them :class:`PrivateClassifier`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpfair.registry import Registry

if TYPE_CHECKING:
    from dpfair.methods.base import PrivateClassifier

__all__ = ["METHODS"]

METHODS: Registry[type[PrivateClassifier]] = Registry(
    "dpfair.methods",
    {
        "fair": "fair_classifier:PrivateFairClassifier",
        "algorithm1": "algorithm1:Algorithm1",
        "algorithm2": "algorithm2:Algorithm2",
        "post-processor": "post_processor:FairPostProcessor",
        "dp-postprocessing": "dp_postprocessing:DPPostprocessing",
        "dp-fermi": "dp_fermi:DPFermi",
        "logistic": "logistic_regression:PrivateLogisticRegression",
        "boosting": "boosting:PrivateBoosting",
    },
)
"""The methods by the names that files and the command line use. One line is one method."""
