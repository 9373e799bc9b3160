"""Methods that only train: every solver, arithmetic and variant of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpfair.audit.catalogue.fair import SGD
from dpfair.audit.catalogue.method import Method, small_model
from dpfair.data.schema import Schema
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.boosting import PrivateBoosting
from dpfair.methods.dp_fermi import DPFermi
from dpfair.methods.logistic_regression import PrivateLogisticRegression

__all__ = ["TRAINING_METHODS"]

Maker = Callable[[Schema, str], Any]


def _trained(kind: type[PrivateClassifier], arithmetic: str, **settings: Any) -> Maker:
    settings |= {"arithmetic": arithmetic}
    return lambda schema, relation: small_model(kind, schema, relation, **settings)


def _fermi(schema: Schema, relation: str, **settings: Any) -> Any:
    # Batches of everybody, whose noise is calibrated at once.
    settings = {"batch_size": schema.rows or 100} | settings
    return small_model(DPFermi, schema, relation, **settings)


def _fermi_paper(schema: Schema, relation: str, **settings: Any) -> Any:
    few = {"variant": "paper", "epsilon": 0.25, "epochs": 1, "batch_size": 8}
    return _fermi(schema, relation, **few | settings)


TRAINING_METHODS = (
    Method(
        "logistic",
        "Logistic regression, full-batch gradients in floating point",
        _trained(PrivateLogisticRegression, "float64"),
    ),
    Method(
        "logistic-exact",
        "Logistic regression, full-batch gradients in integers",
        _trained(PrivateLogisticRegression, "exact"),
    ),
    Method(
        "logistic-sgd",
        "Logistic regression, DP-SGD in floating point",
        _trained(PrivateLogisticRegression, **SGD),
    ),
    Method(
        "logistic-sgd-exact",
        "Logistic regression, DP-SGD in integers",
        _trained(PrivateLogisticRegression, **SGD | {"arithmetic": "exact"}),
    ),
    Method(
        "boosting",
        "Trees of random structure on logistic regression",
        _trained(PrivateBoosting, "float64"),
    ),
    Method(
        "boosting-exact",
        "Trees of random structure on logistic regression, in integers",
        _trained(PrivateBoosting, "exact"),
    ),
    Method("dp-fermi", "DP-FERMI with joint clipping", _fermi),
    Method(
        "dp-fermi-odds",
        "DP-FERMI with joint clipping: equalized odds",
        lambda schema, relation: _fermi(schema, relation, notion="equalized_odds"),
    ),
    Method(
        "dp-fermi-undeclared-rows",
        "DP-FERMI with joint clipping, the number of records being assumed",
        lambda schema, relation: _fermi(replace(schema, rows=None), relation),
    ),
    Method("dp-fermi-paper", "DP-FERMI with its stated noise", _fermi_paper),
    Method(
        "dp-fermi-paper-odds",
        "DP-FERMI with its stated noise: equalized odds",
        lambda schema, relation: _fermi_paper(schema, relation, notion="equalized_odds"),
    ),
)
