"""Models on disk: one safetensors file with a JSON header. Reading it never runs code.

A file is data from a stranger: its size, its names, types, shapes and every number are checked,
and what can be derived (the rule, the certificate, the budget spent) is derived again instead of
believed.
"""

from __future__ import annotations

import copy
import json
import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import __version__
from dpfair.certificate import search_of
from dpfair.errors import BudgetError, FairnessWarning, InputError, ModelFileError
from dpfair.fairness.placement import GRAIN
from dpfair.fairness.release import HALF, Release
from dpfair.fairness.rules import Rule
from dpfair.learners.boosting import PrivateBoosting
from dpfair.learners.logistic import PrivateLogisticRegression
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.trees import BoostedScorer, RandomTrees
from dpfair.privacy.ledger import Ledger
from dpfair.private_fair import MOST_PLACED_GROUPS, REUSED, PrivateFairClassifier
from dpfair.schema import Schema

__all__ = ["load_model", "save_model"]

FORMAT = "dpfair-model"
FORMAT_VERSION = 2
MOST_BYTES = 64 << 20
# What is derived again takes time that grows with these.
MOST_CELLS = 40_000
MOST_GROUPS = 100
MOST_RECORDS = 10**10
MOST_NOISE = 2_000_000
MOST_PLACED_NOISE = 17_000
_TENSORS = {"weights": 1}
_BOOSTED = {"weights": 1, "leaves": 2}  # with trees on top of the linear part
_SETTINGS = (
    "rule",
    "mode",
    "notion",
    "tolerance",
    "target",
    "capacity",
    "costs",
    "smallest_group",
    "small_groups",
)
_SCOPES = {
    "certified": [{"train", "release"}],
    "reuse": [{""}, {"fit", "check"}],
}
_ENDS = {"inf": math.inf, "-inf": -math.inf}
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
    _check_savable(model)
    header = {
        "version": FORMAT_VERSION,
        "dpfair": __version__,
        "schema": model.schema_.to_dict(),
        "classes": _classes_to_json(model.classes_),
        "features": model.scorer_.features,
        "solver": model._learner().solver,
        "settings": {name: getattr(model, name) for name in _SETTINGS},
        "release": model.release_.to_json(),
        "check": None if model.check_release_ is None else model.check_release_.to_json(),
        "targets": None if model.targets_ is None else list(model.targets_),
        "rule": _rule_to_json(model.rule_),
        "ledger": model.ledger_.to_json(),
        "confidence": model.confidence,
        "coins": model.coins,
        "coin_key": model.coin_key_.hex(),
        "unit": model.unit,
        "certificate": model.certificate_.to_json(),
    }
    content = save(
        _scorer_tensors(model.scorer_),
        # One entry only: safetensors writes several in random order.
        metadata={
            FORMAT: json.dumps(header, allow_nan=False, sort_keys=True, default=_plain_number)
        },
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


def _check_savable(model: PrivateFairClassifier) -> None:
    """Refuse to write what could not be read back."""
    _release(model.release_.to_json(), model.schema_)
    _check_releases(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)
        again = copy.copy(model)
        again._decide()
    if not _same_rule(again.rule_, model.rule_):
        raise InputError("The model's parameters were changed after fit; set them back to save it.")


def _plain_number(value: Any) -> Any:
    """Settings may be numpy numbers or arrays."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"Expected plain data, got {type(value).__name__}.")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    from safetensors import SafetensorError, safe_open

    refused = f"The file {path} is not a valid dpfair model."
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            expected = _BOOSTED if "leaves" in file.keys() else _TENSORS  # noqa: SIM118
            if set(file.keys()) != set(expected):
                raise ModelFileError(refused)
            tensors = {name: file.get_tensor(name) for name in expected}
        header = json.loads(
            metadata[FORMAT], parse_constant=_no_constant, object_pairs_hook=_no_duplicates
        )
    except ModelFileError:
        raise
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(refused) from error
    for name, dimensions in expected.items():
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
    release = _release(header["release"], schema)
    scorer = _scorer(schema, str(header["features"]), tensors)
    unit = header["unit"]
    model = PrivateFairClassifier(
        epsilon=ledger.epsilon,
        delta=ledger.delta,
        schema=schema,
        learner=_learner(header, scorer),
        composition=ledger.composition,
        public_sizes=release.sizes is not None,
        relation=ledger.relation,
        confidence=float(header["confidence"]),
        unit=unit if unit is None or isinstance(unit, int) else str(unit),
        rows_per_unit=ledger.rows_per_unit,
        coins=str(header["coins"]),
        **_settings(header["settings"]),
    )
    model._open_ledger()
    model.schema_ = schema
    model.classes_ = _classes_from_json(header["classes"])
    model.scorer_ = scorer
    model.release_ = release
    model.targets_ = _targets(header["targets"], model)
    check = header["check"]
    model.check_release_ = None if check is None else _release(check, schema)
    model.ledger_ = ledger
    model.coin_key_ = bytes.fromhex(header["coin_key"])
    if len(model.coin_key_) != 32:
        raise InputError("Its coin key is malformed.")
    _check_releases(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # was said when the rule was made
        model._decide()
    rule = _rule_from_json(header["rule"])
    if not _same_rule(rule, model.rule_):
        raise InputError("Its rule does not follow from its release.")
    model.rule_ = rule  # to the last digit what the fitted model had
    model.certificate_ = model._certify(ledger)
    if not _agree(header["certificate"], model.certificate_.to_json()):
        raise InputError("Its certificate does not follow from its release and its ledger.")
    return model


def _settings(data: dict[str, Any]) -> dict[str, Any]:
    if set(data) != set(_SETTINGS):
        raise InputError("Its settings are not the ones of this version.")
    return {**data, "costs": tuple(data["costs"])}


def _release(data: dict[str, Any], schema: Schema) -> Release:
    """A release that can be worked with in a short time."""
    release = Release.from_json(data)
    if release.groups != schema.groups:
        raise InputError("Its groups do not match its schema.")
    if len(release.groups) > MOST_GROUPS:
        raise InputError("It has too many groups.")
    if release.counts.size > MOST_CELLS or np.abs(release.counts).max() > MOST_RECORDS:
        raise InputError("Its counts are too many or too large.")
    if _noise_tables(release) > MOST_NOISE:
        raise InputError("Its counts have too much noise to say anything.")
    if release.grain not in (None, GRAIN):
        raise InputError("Its scores were dithered in an unknown way.")
    if release.edges.min() <= 0 or release.edges.max() >= 1:
        raise InputError("Its edges are no scores between 0 and 1.")
    return release


def _noise_tables(release: Release) -> float:
    """How long the tables are, about, that hold the law of the noise in a sum of cells."""
    cells = release.counts[0].size
    return float(sum((cells + 100) / noise for noise in release.noise))


def _check_releases(model: PrivateFairClassifier) -> None:
    """Releases of the kind that the settings lead to, which state what they depend on."""
    release, check, ledger = model.release_, model.check_release_, model.ledger_
    if math.isinf(max(release.noise)) or release.labelled != (model.rule == "optimal"):
        raise InputError("Its release does not fit its rule.")
    placed = model.targets_ is not None
    if placed and len(release.groups) > MOST_PLACED_GROUPS:
        raise InputError("It has too many groups to place a threshold for each.")
    if placed and _noise_tables(release) > MOST_PLACED_NOISE:
        raise InputError("Its counts have too much noise to place a threshold.")
    independent = model._dependence(ledger)
    if release.dependence != (REUSED if model.mode == "reuse" else independent):
        raise InputError("Its release does not state what it depends on.")
    scopes, searched = {e.scope for e in ledger.entries}, search_of(ledger) is not None
    if not searched and scopes not in _SCOPES[model.mode]:
        raise InputError("Its ledger does not fit its mode.")
    if check is None:  # it says nothing about a rule that was chosen afterwards
        return
    if not (searched or "check" in scopes) or model.mode != "reuse":
        raise InputError("Its ledger paid for no check.")
    if not (check.labelled and np.all(check.edges == HALF[0]) and check.edges.shape[1] == 1):
        raise InputError("Its check does not count decisions.")
    if math.isinf(max(check.noise)) or check.dependence != independent:
        raise InputError("Its check does not state what it depends on.")


def _targets(data: Any, model: PrivateFairClassifier) -> tuple[float, ...] | None:
    if data is None:
        return None
    rates = tuple(float(rate) for rate in data)
    placed = model.rule == "optimal" and model.mode == "certified" and model._aim().notion.monotone
    if not placed or len(rates) != len(model.schema_.groups) or not _shares(rates):
        raise InputError("Its target rates are malformed.")
    return rates


def _shares(values: tuple[float, ...]) -> bool:
    return all(0 <= value <= 1 for value in values)


def _rule_to_json(rule: Rule) -> dict[str, Any]:
    names = {value: name for name, value in _ENDS.items()}
    return {
        "accept": rule.accept.tolist(),
        "cuts": [[names.get(cut, cut) for cut in row] for row in rule.cuts.tolist()],
    }


def _rule_from_json(data: dict[str, Any]) -> Rule:
    cuts = [[_ENDS.get(cut, cut) for cut in row] for row in data["cuts"]]
    if any(type(number) not in (int, float) for row in (*data["accept"], *cuts) for number in row):
        raise InputError("Its rule is malformed.")
    return Rule(np.array(data["accept"]), np.array(cuts))


def _same_rule(stated: Rule, derived: Rule) -> bool:
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-6)
        for a, b in ((stated.accept, derived.accept), (stated.cuts, derived.cuts))
    )


def _scorer_tensors(scorer: LinearScorer | BoostedScorer) -> dict[str, NDArray[np.float64]]:
    if isinstance(scorer, BoostedScorer):
        return {"weights": scorer.weights, "leaves": scorer.values}
    return {"weights": scorer.weights}


def _scorer(
    schema: Schema, features: str, tensors: dict[str, NDArray[np.float64]]
) -> LinearScorer | BoostedScorer:
    linear = LinearScorer(schema, features, tensors["weights"])
    if "leaves" not in tensors:
        return linear
    trees, leaves = tensors["leaves"].shape
    structure = RandomTrees(schema, trees, max(leaves, 1).bit_length() - 1)
    return BoostedScorer(linear, structure, tensors["leaves"])


def _learner(
    header: dict[str, Any], scorer: LinearScorer | BoostedScorer
) -> PrivateLogisticRegression:
    if isinstance(scorer, BoostedScorer):
        return PrivateBoosting(trees=scorer.structure.trees, depth=scorer.structure.depth)
    return PrivateLogisticRegression(solver=str(header["solver"]), features=str(header["features"]))


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
