"""Private and fair binary classifiers: train -> release -> decide -> certify.

The public names are loaded when they are first used, so that ``import dpfair`` costs
nothing: neither NumPy, SciPy, scikit-learn nor dp-accounting is imported here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "BudgetError": "errors",
    "Certificate": "certificate.claims",
    "ChargeTo": "privacy.payment",
    "DpfairError": "errors",
    "FairPostProcessor": "methods.post_processor",
    "FairnessWarning": "errors",
    "InputError": "errors",
    "Ledger": "privacy.ledger",
    "LedgerFile": "privacy.ledger_file.file",
    "Noise": "privacy.noise",
    "PrivacyLeakWarning": "errors",
    "PrivateBoosting": "learners.boosting",
    "PrivateFairClassifier": "methods.fair_classifier",
    "PrivateLogisticRegression": "learners.logistic",
    "PrivateSearchCV": "methods.search",
    "Schema": "data.schema",
    "WeakPrivacyWarning": "errors",
    "calibrate": "privacy.accountants",
    "epsilons": "privacy.accountants",
    "load_adult": "datasets",
    "load_credit": "datasets",
    "load_model": "models.file",
    "save_model": "models.file",
    "write_report": "report",
}

__all__ = [
    "BudgetError",
    "Certificate",
    "ChargeTo",
    "DpfairError",
    "FairPostProcessor",
    "FairnessWarning",
    "InputError",
    "Ledger",
    "LedgerFile",
    "Noise",
    "PrivacyLeakWarning",
    "PrivateBoosting",
    "PrivateFairClassifier",
    "PrivateLogisticRegression",
    "PrivateSearchCV",
    "Schema",
    "WeakPrivacyWarning",
    "__version__",
    "calibrate",
    "epsilons",
    "load_adult",
    "load_credit",
    "load_model",
    "save_model",
    "write_report",
]

if TYPE_CHECKING:
    from dpfair.certificate.claims import Certificate
    from dpfair.data.schema import Schema
    from dpfair.datasets import load_adult, load_credit
    from dpfair.errors import (
        BudgetError,
        DpfairError,
        FairnessWarning,
        InputError,
        PrivacyLeakWarning,
        WeakPrivacyWarning,
    )
    from dpfair.learners.boosting import PrivateBoosting
    from dpfair.learners.logistic import PrivateLogisticRegression
    from dpfair.methods.fair_classifier import PrivateFairClassifier
    from dpfair.methods.post_processor import FairPostProcessor
    from dpfair.methods.search import PrivateSearchCV
    from dpfair.models.file import load_model, save_model
    from dpfair.privacy.accountants import calibrate, epsilons
    from dpfair.privacy.ledger import Ledger
    from dpfair.privacy.ledger_file.file import LedgerFile
    from dpfair.privacy.noise import Noise
    from dpfair.privacy.payment import ChargeTo
    from dpfair.report import write_report


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'dpfair' has no attribute {name!r}")
    value = getattr(import_module(f"dpfair.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
