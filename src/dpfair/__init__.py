"""Private and fair binary classifiers: train -> release -> decide -> certify.

The public names are loaded when they are first used, so that ``import dpfair`` costs
nothing: neither NumPy, SciPy, scikit-learn nor dp-accounting is imported here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0.dev0"

_HOME = {
    "Algorithm1": "methods.algorithm1",
    "Algorithm2": "methods.algorithm2",
    "BlockLearner": "learners.blocks",
    "BoostingLearner": "learners.boosting",
    "BudgetError": "errors",
    "Certificate": "certificate",
    "ChargeTo": "privacy.payment",
    "DPFermi": "methods.dp_fermi",
    "Division": "methods.settings",
    "DpfairError": "errors",
    "FairPostProcessor": "methods.post_processor",
    "FairRule": "methods.settings",
    "FairnessWarning": "errors",
    "InputError": "errors",
    "Ledger": "privacy.ledger",
    "LedgerFile": "privacy.ledger_file",
    "LogisticLearner": "learners.logistic",
    "Noise": "privacy.noise",
    "PrivacyLeakWarning": "errors",
    "PrivateBoosting": "methods.boosting",
    "PrivateFairClassifier": "methods.fair_classifier",
    "PrivateLogisticRegression": "methods.logistic_regression",
    "PrivateSearchCV": "methods.search",
    "Schema": "data.schema",
    "TableFiles": "data.table_files",
    "WeakPrivacyWarning": "errors",
    "calibrate": "privacy.accountants",
    "discover_schema": "discovery.job",
    "epsilons": "privacy.accountants",
    "load_adult": "datasets",
    "load_credit": "datasets",
    "load_model": "models.file",
    "save_model": "models.file",
    "verify_model": "models.verify",
    "write_report": "report",
}

__all__ = [
    "Algorithm1",
    "Algorithm2",
    "BlockLearner",
    "BoostingLearner",
    "BudgetError",
    "Certificate",
    "ChargeTo",
    "DPFermi",
    "Division",
    "DpfairError",
    "FairPostProcessor",
    "FairRule",
    "FairnessWarning",
    "InputError",
    "Ledger",
    "LedgerFile",
    "LogisticLearner",
    "Noise",
    "PrivacyLeakWarning",
    "PrivateBoosting",
    "PrivateFairClassifier",
    "PrivateLogisticRegression",
    "PrivateSearchCV",
    "Schema",
    "TableFiles",
    "WeakPrivacyWarning",
    "__version__",
    "calibrate",
    "discover_schema",
    "epsilons",
    "load_adult",
    "load_credit",
    "load_model",
    "save_model",
    "verify_model",
    "write_report",
]

if TYPE_CHECKING:
    from dpfair.certificate import Certificate
    from dpfair.data.schema import Schema
    from dpfair.data.table_files import TableFiles
    from dpfair.datasets import load_adult, load_credit
    from dpfair.discovery.job import discover_schema
    from dpfair.errors import (
        BudgetError,
        DpfairError,
        FairnessWarning,
        InputError,
        PrivacyLeakWarning,
        WeakPrivacyWarning,
    )
    from dpfair.learners.blocks import BlockLearner
    from dpfair.learners.boosting import BoostingLearner
    from dpfair.learners.logistic import LogisticLearner
    from dpfair.methods.algorithm1 import Algorithm1
    from dpfair.methods.algorithm2 import Algorithm2
    from dpfair.methods.boosting import PrivateBoosting
    from dpfair.methods.dp_fermi import DPFermi
    from dpfair.methods.fair_classifier import PrivateFairClassifier
    from dpfair.methods.logistic_regression import PrivateLogisticRegression
    from dpfair.methods.post_processor import FairPostProcessor
    from dpfair.methods.search import PrivateSearchCV
    from dpfair.methods.settings import Division, FairRule
    from dpfair.models.file import load_model, save_model
    from dpfair.models.verify import verify_model
    from dpfair.privacy.accountants import calibrate, epsilons
    from dpfair.privacy.ledger import Ledger
    from dpfair.privacy.ledger_file import LedgerFile
    from dpfair.privacy.noise import Noise
    from dpfair.privacy.payment import ChargeTo
    from dpfair.report import write_report


def __getattr__(name: str) -> object:
    value = _method(name)
    if name in _HOME:
        value = getattr(import_module(f"dpfair.{_HOME[name]}"), name)
    if value is None:
        raise AttributeError(f"module 'dpfair' has no attribute {name!r}")
    globals()[name] = value
    return value


def _method(name: str) -> object:
    """The method of this name, if it is listed in METHODS only."""
    if name in _HOME or not name[:1].isupper():
        return None
    methods = import_module("dpfair.methods").METHODS.values()
    return next((kind for kind in methods if kind.__name__ == name), None)


def __dir__() -> list[str]:
    return sorted(__all__)
