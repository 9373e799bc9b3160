"""How commands talk: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfair.errors import InputError

if TYPE_CHECKING:
    from dpfair.private_fair import PrivateFairClassifier

__all__ = [
    "account_lines",
    "check_writable",
    "fit_summary",
    "interactive",
    "print_json",
    "say",
]


def print_json(data: dict[str, Any]) -> None:
    """One object; infinity, which JSON does not know, becomes null."""
    print(json.dumps(_finite(data), indent=2, allow_nan=False))


def say(text: str) -> None:
    """A remark that is not part of the result."""
    print(text, file=sys.stderr)


def check_writable(*paths: Path | None) -> None:
    """Refuse a place that cannot be written to before anything is spent."""
    for path in paths:
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise InputError(
                f"{path} cannot be written: there is no directory for it, or it is one."
            )


def interactive() -> bool:
    """Whether a person watches, so that progress is worth showing."""
    return sys.stderr.isatty()


def fit_summary(model: PrivateFairClassifier) -> dict[str, Any]:
    """What a fit made, as plain data."""
    privacy, fairness = model.certificate_.privacy, model.certificate_.fairness
    return {
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "spent": privacy.spent,
        "relation": privacy.relation,
        "composition": privacy.composition,
        "private": privacy.private,
        "method": model.certificate_.method,
        "certificate": {
            "notion": fairness.notion,
            "tolerance": fairness.tolerance,
            "gap_bound": fairness.gap_bound,
            "gap_estimate": fairness.gap_estimate,
            "accuracy_bound": fairness.accuracy_bound,
            "accuracy_estimate": fairness.accuracy_estimate,
            "confidence": fairness.confidence,
            "certified": fairness.certified,
            "bounds": dict(fairness.bounds),
            "groups": list(fairness.groups),
            "reason": fairness.reason,
            "assumed_public": list(privacy.assumed_public),
        },
        "ledger": [entry.to_json() for entry in model.ledger_.entries],
    }


def account_lines(model: PrivateFairClassifier) -> list[str]:
    """The privacy account, one line per entry."""
    lines = ["Privacy account"]
    for entry in model.ledger_.entries:
        lines.append(
            f"  {entry.scope or 'all':<8} {entry.purpose:<38} epsilon {entry.epsilon:8.4f}"
            f"   delta {entry.delta:g}"
        )
    scopes = {entry.scope for entry in model.ledger_.entries}
    how = "worst scope" if len(scopes) > 1 else "together"
    how = how if model.ledger_.composition == "tight" else "sum"
    lines.append(
        f"  {'total':<8} {how:<38} epsilon {model.ledger_.spent:8.4f}"
        f"   of {model.ledger_.epsilon:g}"
    )
    return lines


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
