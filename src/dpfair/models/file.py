"""Models on disk: one safetensors file with a JSON header. Reading it never runs code.

A file is data from a stranger: its size, its names, types, shapes and every number are checked,
and what can be derived (the rule, the certificate, the budget spent) is derived again instead of
believed.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair import __version__, validate
from dpfair.certificate.claims import search_of
from dpfair.data.schema import Schema
from dpfair.errors import BudgetError, FairnessWarning, InputError, ModelFileError
from dpfair.fairness.release import ACCEPTED, HALF, MAX_BINS, REUSED, Release
from dpfair.fairness.rules import Rule
from dpfair.fairness.undeclared import IRREGULAR
from dpfair.files import write_file
from dpfair.learners.boosting import PrivateBoosting
from dpfair.learners.logistic import SOLVERS, TRAINING, PrivateLogisticRegression
from dpfair.learners.scorer import LinearScorer
from dpfair.learners.trees import BoostedScorer, RandomTrees
from dpfair.methods.fair_classifier import (
    CHECKING,
    COUNTING,
    DECIDING,
    MAX_PLACED_GROUPS,
    PLANNING,
    PrivateFairClassifier,
)
from dpfair.methods.limits import (
    MAX_BYTES,
    MAX_HEADER,
    MAX_RECORDS,
    check_ledger,
    check_placed,
    check_release,
    check_text,
    check_width,
)
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.events import DpEvent
from dpfair.privacy.ledger import Entry, Ledger

__all__ = [
    "load_model",
    "model_bytes",
    "model_digest",
    "model_from_bytes",
    "same_release",
    "save_model",
    "write_model",
]

FORMAT = "dpfair-model"
FORMAT_VERSION = 4
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
    return write_model(model_bytes(model), path)


def write_model(content: bytes, path: str | Path) -> Path:
    """Write a file's content in one step, so that nobody ever sees half a model."""
    return write_file(path, content)


def model_bytes(model: PrivateFairClassifier) -> bytes:
    """The content of a fitted classifier's file."""
    from safetensors.numpy import save
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, PrivateFairClassifier):
        raise InputError(f"Expected a PrivateFairClassifier, got {type(model).__name__}.")
    check_is_fitted(model)
    _check_savable(model)
    text = json.dumps(_header(model), allow_nan=False, sort_keys=True, default=_plain_number)
    check_text(text)
    # One entry only: safetensors writes several in random order.
    content: bytes = save(_scorer_tensors(model.scorer_), metadata={FORMAT: text})
    return content


def model_digest(model: PrivateFairClassifier) -> str:
    """The same for models whose files say the same."""
    return _digest(_header(model), model.scorer_)


def same_release(model: PrivateFairClassifier, other: PrivateFairClassifier) -> bool:
    """Whether ``with_rule`` can make the first model of the other one."""
    names = ["schema", "classes", "features", "solver", "release", "ledger", "coin_key"]
    if model.check_release_ is not None:
        names.append("check")
    one, two = (
        _digest({name: _header(m)[name] for name in names}, m.scorer_) for m in (model, other)
    )
    return one == two


def _digest(header: dict[str, Any], scorer: LinearScorer | BoostedScorer) -> str:
    tensors = {
        name: [tensor.dtype.str, tensor.shape, hashlib.sha256(tensor.tobytes()).hexdigest()]
        for name, tensor in _scorer_tensors(scorer).items()
    }
    text = json.dumps([header, tensors], sort_keys=True, default=_plain_number)
    return hashlib.sha256(text.encode()).hexdigest()


def _header(model: PrivateFairClassifier) -> dict[str, Any]:
    """All that a file says beside the weights."""
    return {
        "version": FORMAT_VERSION,
        "dpfair": __version__,
        "schema": model.schema_.to_dict(),
        "classes": _classes_to_json(model.classes_),
        "features": model.scorer_.features,
        "solver": model._learner().solver,
        "settings": {name: getattr(model, name) for name in _SETTINGS},
        "release": model.release_.to_json(),
        "counted_share": model.counted_share_,
        "check": None if model.check_release_ is None else model.check_release_.to_json(),
        "values": None if model.values_ is None else model.values_.to_json(),
        "decisions": None if model.decisions_ is None else model.decisions_.to_json(),
        "planned": None if model.planned_ is None else _rule_to_json(model.planned_),
        "targets": None if model.targets_ is None else list(model.targets_),
        "rule": _rule_to_json(model.rule_),
        "ledger": model.ledger_.to_json(),
        "confidence": model.confidence,
        "coins": model.coins,
        "coin_key": model.coin_key_.hex(),
        "unit": model.unit,
        "certificate": model.certificate_.to_json(),
    }


def load_model(path: str | Path) -> PrivateFairClassifier:
    """Read a classifier back; a malformed or hostile file is refused.

    Examples
    --------
    >>> load_model("nowhere.dpfair")
    Traceback (most recent call last):
    dpfair.errors.ModelFileError: There is no model file nowhere.dpfair.
    """
    path = Path(path)
    name = _printable(str(path))
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError:
        size = None
    if size is None:
        raise ModelFileError(f"There is no model file {name}.")
    if size > MAX_BYTES:
        raise ModelFileError(f"The model file {name} is larger than {MAX_BYTES >> 20} MB.")
    try:
        return _rebuild(*_read(path))
    except _MALFORMED as error:
        detail = str(error) if isinstance(error, InputError) else "Its content is malformed."
        raise ModelFileError(
            f"The file {name} is not a valid dpfair model. {_printable(detail)}"
        ) from error


def model_from_bytes(content: bytes) -> PrivateFairClassifier:
    """The model of a file's content; see :func:`load_model`."""
    with tempfile.TemporaryDirectory() as folder:
        return load_model(write_model(content, Path(folder) / "kept.dpfair"))


def _printable(text: str) -> str:
    """One short line, whatever a stranger wrote."""
    plain = "".join(c if c.isprintable() else "?" for c in text[:1000])
    return plain if len(plain) <= 300 else f"{plain[:300]} ..."


def _check_savable(model: PrivateFairClassifier) -> None:
    """Refuse to write what could not be read back."""
    check_release(model.release_, model.schema_)
    check_width(model.schema_, model.scorer_.features, len(model.scorer_.weights))
    check_ledger(model.ledger_.to_json())
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

    try:
        with path.open("rb") as start:
            if int.from_bytes(start.read(8), "little") > 2 * MAX_HEADER:  # quotes take two bytes
                raise InputError("Its header is too long.")
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            expected = _BOOSTED if "leaves" in file.keys() else _TENSORS  # noqa: SIM118
            if set(file.keys()) != set(expected):
                raise InputError("It does not hold the weights of a model.")
            for name, dimensions in expected.items():
                tensor = file.get_slice(name)
                if tensor.get_dtype() != "F64" or len(tensor.get_shape()) != dimensions:
                    raise InputError(f"Its {name} must be float64 numbers.")
            tensors = {name: file.get_tensor(name) for name in expected}
    except (SafetensorError, OSError) as error:
        raise InputError("It cannot be read.") from error
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise InputError("Its weights must be finite numbers.")
    text = metadata[FORMAT]
    check_text(text)
    header = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    if header["version"] != FORMAT_VERSION:
        raise InputError(
            f"This dpfair reads version {FORMAT_VERSION} of the format, and the file has another. "
            "Fit the model again, or use the version of dpfair that wrote it."
        )
    return header, tensors


def _rebuild(
    header: dict[str, Any], tensors: dict[str, NDArray[np.float64]]
) -> PrivateFairClassifier:
    schema = Schema.from_dict(header["schema"])
    release = _release(header["release"], schema)
    check_width(schema, str(header["features"]), len(tensors["weights"]))
    scorer = _scorer(schema, str(header["features"]), tensors)
    check_ledger(header["ledger"])
    ledger = Ledger.from_json(header["ledger"])
    if release.sizes is not None:
        ledger.assume(Assumption(("group",), "release"), np.array(release.sizes))
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
    model.classes_ = _classes_from_json(header["classes"], schema)
    model.scorer_ = scorer
    model.release_ = release
    model.counted_share_ = float(header["counted_share"])
    if not 0 < model.counted_share_ <= 1:
        raise InputError("Its counted share is malformed.")
    model.targets_ = _targets(header["targets"], model)
    check, decisions = header["check"], header["decisions"]
    model.check_release_ = None if check is None else _release(check, schema)
    model.decisions_ = None if decisions is None else _release(decisions, schema)
    model.planned_ = _planned(header["planned"], model)
    model.values_ = _values(header["values"])
    model.ledger_ = ledger
    model.coin_key_ = bytes.fromhex(header["coin_key"])
    if len(model.coin_key_) != 32:
        raise InputError("Its coin key is malformed.")
    _check_releases(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairnessWarning)  # was said when the rule was made
        model._decide()
    rule = _rule_of_shape(header["rule"], model.rule_.accept.shape, model.rule_.cuts.shape)
    if not _same_rule(rule, model.rule_):
        raise InputError("Its rule does not follow from its release.")
    model.rule_ = rule  # to the last digit what the fitted model had
    _check_estimates(header["certificate"]["fairness"], model)
    model.certificate_ = model._certify(ledger)
    if not _agree(header["certificate"], model.certificate_.to_json()):
        raise InputError("Its certificate does not follow from its release and its ledger.")
    if not _agree(header, _header(model) | {"dpfair": header["dpfair"]}):
        raise InputError("It does not say what a file of this model would say.")
    return model


def _settings(data: dict[str, Any]) -> dict[str, Any]:
    if set(data) != set(_SETTINGS):
        raise InputError("Its settings are not the ones of this version.")
    return {**data, "costs": tuple(data["costs"])}


def _release(data: dict[str, Any], schema: Schema) -> Release:
    release = Release.from_json(data)
    check_release(release, schema)
    return release


def _check_releases(model: PrivateFairClassifier) -> None:
    """Releases of the kind that the settings lead to, paid for, which state what they depend on."""
    release, check, ledger = model.release_, model.check_release_, model.ledger_
    if math.isinf(max(release.noise)) or release.labelled != (model.rule == "optimal"):
        raise InputError("Its release does not fit its rule.")
    if model.targets_ is not None:
        check_placed(release, MAX_PLACED_GROUPS)
    if release.grain is not None and (model.mode == "reuse" or model.decisions_ is not None):
        raise InputError("Its scores were dithered, and no thresholds were placed.")
    independent = model._dependence(ledger)
    if release.dependence != (independent or (REUSED if model.mode == "reuse" else "")):
        raise InputError("Its release does not state what it depends on.")
    if search_of(ledger) is None:
        _check_payments(model)
    # Neither a check nor decisions say anything about a rule that was chosen afterwards.
    if (check is not None and model.mode != "reuse") or (
        model.decisions_ is not None and model.mode != "certified"
    ):
        raise InputError("Its ledger did not pay for all of its tables.")
    for table in (check, model.decisions_):
        if table is not None:
            _check_decisions(table, independent)
    if model.values_ is not None and model.values_.dependence != release.dependence:
        raise InputError("One of its tables does not state what it depends on.")


def _check_decisions(table: Release, independent: str) -> None:
    if table.grain is not None or not (
        table.labelled and np.all(table.edges == HALF[0]) and table.edges.shape[1] == 1
    ):
        raise InputError("One of its tables does not count decisions.")
    if math.isinf(max(table.noise)) or table.dependence != independent:
        raise InputError("One of its tables does not state what it depends on.")


def _check_payments(model: PrivateFairClassifier) -> None:
    """Every step of a fit has its charge, and the tables have the noise that was paid for."""
    paid: dict[tuple[str, str], list[Entry]] = {}
    for entry in model.ledger_.entries:
        paid.setdefault((entry.scope, entry.purpose), []).append(entry)
    train, count, third = {
        "certified": ("train", "release", None),
        "reuse": ("fit", "fit", "check") if ("check", CHECKING) in paid else ("", "", None),
    }[model.mode]
    counting = (count, COUNTING if model.rule == "optimal" else ACCEPTED)
    steps = {(train, TRAINING): 1, counting: 1}
    if model.release_.sizes is not None:
        steps[counting] = len(model.schema_.groups)
    if third is not None:
        steps[(third, CHECKING)] = 1
    # A rule that was chosen afterwards has no plan, but its planning was paid for.
    if model.targets_ is not None or model.planned_ is not None or (train, PLANNING) in paid:
        steps[(train, PLANNING)] = 1
    if model.decisions_ is not None or (count, DECIDING) in paid:
        steps[(count, DECIDING)] = 1
    if model.values_ is not None:
        steps[(count, IRREGULAR)] = 1
    if {step: len(entries) for step, entries in paid.items()} != steps:
        raise InputError("Its ledger does not fit its mode.")
    tables = [(model.release_, counting)]
    if model.check_release_ is not None:
        tables.append((model.check_release_, ("check", CHECKING)))
    if model.decisions_ is not None:
        tables.append((model.decisions_, (count, DECIDING)))
    if model.values_ is not None:
        tables.append((model.values_, (count, IRREGULAR)))
    for release, step in tables:
        if step not in paid or set(release.noise) != {_parameter(e.event) for e in paid[step]}:
            raise InputError("Its counts do not have the noise that was paid for.")


def _check_estimates(claim: dict[str, Any], model: PrivateFairClassifier) -> None:
    """First what takes no time to derive: most forgeries need not be looked at any longer."""
    decision, follows = model._decision, True
    if decision is not None:
        follows = _agree(claim["accuracy_estimate"], decision.accuracy)
        follows &= _agree(claim["rates_after"], decision.acceptance.tolist())
    if model.targets_ is not None and claim["certified"]:
        follows &= claim["gap_bound"] == max((bound for *_, bound in claim["pairs"]), default=0.0)
    if not follows:
        raise InputError("Its certificate does not follow from its release and its ledger.")


def _parameter(event: DpEvent) -> float | None:
    """The noise parameter of a table's event: that of one cell, of which a neighbour moves two."""
    return getattr(getattr(event, "event", event), "noise_parameter", None)


def _targets(data: Any, model: PrivateFairClassifier) -> tuple[float, ...] | None:
    if data is None:
        return None
    rates = tuple(float(rate) for rate in data)
    placed = model.rule == "optimal" and model.mode == "certified" and model._goal().notion.monotone
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


def _values(data: Any) -> Release | None:
    """A table of two cells: the regular and the irregular records."""
    if data is None:
        return None
    table = Release.from_json(data)
    halves = table.counts.shape == (1, 1, 2) and np.all(table.edges == HALF[0])
    if not halves or table.sizes is not None or float(np.abs(table.counts).max()) > MAX_RECORDS:
        raise InputError("Its table of irregular values is malformed.")
    return table


def _planned(data: Any, model: PrivateFairClassifier) -> Rule | None:
    """The rule that the counted decisions follow; whatever it is, the counts certify it."""
    if (data is None) != (model.decisions_ is None):
        raise InputError("Its planned rule and the counts of its decisions belong together.")
    if data is None:
        return None
    if model.rule != "optimal" or model.targets_ is not None:
        raise InputError("Its planned rule does not fit its settings.")
    steps, groups = len(data["cuts"][0]), len(model.schema_.groups)
    if steps > MAX_BINS:
        raise InputError("Its planned rule is malformed.")
    return _rule_of_shape(data, (groups, steps + 1), (groups, steps))


def _rule_of_shape(data: dict[str, Any], accept: tuple[int, ...], cuts: tuple[int, ...]) -> Rule:
    for name, shape in (("accept", accept), ("cuts", cuts)):
        if [len(row) for row in data[name]] != [shape[1]] * shape[0]:
            raise InputError("Its rule does not follow from its release.")
    return _rule_from_json(data)


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
    validate.one_of(SOLVERS, solver=str(header["solver"]))
    return PrivateLogisticRegression(solver=str(header["solver"]), features=str(header["features"]))


def _classes_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    values = classes.tolist()
    kind = next(k for k, t in _KINDS.items() if type(values[0]) is t)
    return {"kind": kind, "values": values}


def _classes_from_json(data: dict[str, Any], schema: Schema) -> NDArray[Any]:
    """The two labels of the schema, in its order, in one of the types that labels have."""
    kind, values = data["kind"], data["values"]
    as_numbers: dict[str, Callable[[Any], Any]] = {"integer": float, "number": float}
    read = (as_numbers | {"text": str, "boolean": _is_true})[kind]
    if not all(type(value) is _KINDS[kind] for value in values):
        raise InputError("Its classes are malformed.")
    if [read(value) for value in values] != [read(word) for word in schema.label.values]:
        raise InputError("Its classes are not those of its schema.")
    return np.array(values)


def _is_true(value: str | bool) -> bool:
    return value in ("1", "true", True)


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
