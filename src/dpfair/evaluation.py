"""How a model does on labelled records: internal numbers, not releases."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfair.errors import InputError
from dpfair.fairness.metrics import accuracy, group_rates, parity_gap, sampling_floor
from dpfair.fairness.notions import group_values, notion_of
from dpfair.private_fair import PrivateFairClassifier
from dpfair.table import outcome_codes, words

__all__ = ["evaluate"]


def evaluate(
    model: PrivateFairClassifier, X: Any, y: Any, sensitive_features: Any = None
) -> dict[str, Any]:
    """Accuracy, gap and group rates of a fitted model's decisions on a table.

    These numbers read the records without paying. On private records they are for internal eyes
    only. ``gap`` is the parity gap, ``notion_gap`` that of the model's own notion if it is another
    one; ``floor`` is the mean parity gap that a perfectly fair rule would show on as many records.
    """
    records = model._new_records(X, sensitive_features)
    predicted = model.predict(X, sensitive_features=sensitive_features)
    decisions = (predicted == model.classes_[1]).astype(np.int64)
    labels = outcome_codes(words(y), model.schema_.label)
    if (labels < 0).any():
        raise InputError("Some labels are none of the two that the schema declares.")
    names = model.schema_.groups
    rates = group_rates(decisions, records.groups, len(names))
    sizes = np.bincount(records.groups, minlength=len(names))
    result = {
        "n": len(records),
        "accuracy": accuracy(decisions, labels),
        "gap": parity_gap(decisions, records.groups, len(names)),
        "group_rates": {n: float(r) for n, r in zip(names, rates, strict=True)},
        "group_sizes": {n: int(s) for n, s in zip(names, sizes, strict=True)},
        "internal": True,
    }
    notion = notion_of(model.notion)
    if notion.name != "demographic_parity":
        values = group_values(notion, decisions, records.groups, labels, len(names))
        result |= {"notion": notion.name, "notion_gap": notion.gap(values)}
    if len(names) == 2 and sizes.min() > 0:
        result["floor"] = sampling_floor(float(decisions.mean()), sizes.tolist())
    return result
