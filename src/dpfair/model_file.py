"""Models on disk: one safetensors file with a JSON header. Reading it never runs code.

A file is data from a stranger: its size, its names, types, shapes and every number are checked,
and what can be derived (the certificate, the budget spent) is derived again instead of believed.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import __version__
from dpfair.errors import BudgetError, InputError, ModelFileError
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule
from dpfair.learners.logistic import PrivateLogisticRegression
from dpfair.learners.scorer import LinearScorer
from dpfair.privacy.ledger import Ledger
from dpfair.private_fair import PrivateFairClassifier
from dpfair.schema import Schema

__all__ = ["load_model", "save_model"]

FORMAT = "dpfair-model"
FORMAT_VERSION = 1
MOST_BYTES = 64 << 20
_TENSORS = {"weights": 1, "rule": 2}
_MALFORMED = (
    BudgetError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
_KINDS = {"text": str, "integer": int, "number": float, "boolean": bool}


def save_model(model: PrivateFairClassifier, path: str | Path) -> Path:
    """Write a fitted classifier to a file.

    The file holds released values and public facts only: weights, noisy counts, the rule, the
    schema, the ledger, and the key of the decision coins.
    """
    from safetensors.numpy import save
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, PrivateFairClassifier):
        raise InputError(f"Expected a PrivateFairClassifier, got {type(model).__name__}.")
    check_is_fitted(model)
    header = {
        "version": FORMAT_VERSION,
        "dpfair": __version__,
        "schema": model.schema_.to_dict(),
        "classes": _classes_to_json(model.classes_),
        "features": model.scorer_.features,
        "solver": model._learner().solver,
        "release": model.release_.to_json(),
        "ledger": model.ledger_.to_json(),
        "confidence": model.confidence,
        "coins": model.coins,
        "coin_key": model.coin_key_.hex(),
        "unit": model.unit,
        "certificate": model.certificate_.to_json(),
    }
    content = save(
        {"weights": model.scorer_.weights, "rule": model.rule_.accept},
        # One entry only: safetensors writes several in random order.
        metadata={FORMAT: json.dumps(header, allow_nan=False, sort_keys=True)},
    )
    path = Path(path)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)
    return path


def load_model(path: str | Path) -> PrivateFairClassifier:
    """Read a classifier back; a malformed or hostile file is refused.

    Examples
    --------
    >>> load_model("nowhere.dpfair")
    Traceback (most recent call last):
    dpfair.errors.ModelFileError: There is no model file nowhere.dpfair.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file {path}.")
    if path.stat().st_size > MOST_BYTES:
        raise ModelFileError(f"The model file {path} is larger than {MOST_BYTES >> 20} MB.")
    header, tensors = _read(path)
    try:
        return _rebuild(header, tensors)
    except _MALFORMED as error:
        detail = str(error) if isinstance(error, InputError) else "Its content is malformed."
        raise ModelFileError(f"The file {path} is not a valid dpfair model. {detail}") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    from safetensors import SafetensorError, safe_open

    refused = f"The file {path} is not a valid dpfair model."
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if set(file.keys()) != set(_TENSORS):
                raise ModelFileError(refused)
            tensors = {name: file.get_tensor(name) for name in _TENSORS}
        header = json.loads(
            metadata[FORMAT], parse_constant=_no_constant, object_pairs_hook=_no_duplicates
        )
    except ModelFileError:
        raise
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(refused) from error
    for name, dimensions in _TENSORS.items():
        tensor = tensors[name]
        if tensor.dtype != np.float64 or tensor.ndim != dimensions or not np.isfinite(tensor).all():
            raise ModelFileError(f"{refused} Its {name} must be finite float64 numbers.")
    if not isinstance(header, dict):
        raise ModelFileError(refused)
    if header.get("version") != FORMAT_VERSION:
        raise ModelFileError(f"{refused} This dpfair reads version {FORMAT_VERSION}.")
    return header, tensors


def _rebuild(
    header: dict[str, Any], tensors: dict[str, NDArray[np.float64]]
) -> PrivateFairClassifier:
    schema = Schema.from_dict(header["schema"])
    ledger = Ledger.from_json(header["ledger"])
    release = Release.from_json(header["release"])
    rule = Rule(tensors["rule"])
    if release.groups != schema.groups or rule.accept.shape != (len(schema.groups), 2):
        raise InputError("Its groups do not match its schema.")
    unit = header["unit"]
    model = PrivateFairClassifier(
        epsilon=ledger.epsilon,
        delta=ledger.delta,
        schema=schema,
        learner=PrivateLogisticRegression(
            solver=str(header["solver"]), features=str(header["features"])
        ),
        composition=ledger.composition,
        public_sizes=release.sizes is not None,
        relation=ledger.relation,
        confidence=float(header["confidence"]),
        unit=unit if unit is None or isinstance(unit, int) else str(unit),
        rows_per_unit=ledger.rows_per_unit,
        coins=str(header["coins"]),
    )
    model._open_ledger()
    model.schema_ = schema
    model.classes_ = _classes_from_json(header["classes"])
    model.scorer_ = LinearScorer(schema, str(header["features"]), tensors["weights"])
    model.release_ = release
    model.rule_ = rule
    model.ledger_ = ledger
    model.coin_key_ = bytes.fromhex(header["coin_key"])
    if len(model.coin_key_) != 32:
        raise InputError("Its coin key is malformed.")
    model.certificate_ = model._certify(ledger)
    if not _agree(header["certificate"], model.certificate_.to_json()):
        raise InputError("Its certificate does not follow from its release and its ledger.")
    return model


def _classes_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    values = classes.tolist()
    kind = next(k for k, t in _KINDS.items() if type(values[0]) is t)
    return {"kind": kind, "values": values}


def _classes_from_json(data: dict[str, Any]) -> NDArray[Any]:
    kind, values = _KINDS[data["kind"]], data["values"]
    if len(values) != 2 or not all(type(v) is kind for v in values):
        raise InputError("Its classes are malformed.")
    return np.array(values)


def _agree(stated: Any, derived: Any) -> bool:
    """Whether two pieces of plain data are equal, numbers up to another machine's rounding."""
    if isinstance(derived, dict):
        same = isinstance(stated, dict) and stated.keys() == derived.keys()
        return same and all(_agree(stated[key], derived[key]) for key in derived)
    if isinstance(derived, (list, tuple)):
        same = isinstance(stated, list) and len(stated) == len(derived)
        return same and all(map(_agree, stated, derived))
    if isinstance(derived, float):
        return type(stated) in (int, float) and math.isclose(stated, derived, rel_tol=1e-6)
    return type(stated) is type(derived) and bool(stated == derived)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number.")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("A name appears twice.")
    return result
