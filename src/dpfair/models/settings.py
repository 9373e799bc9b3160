"""A method and its settings as plain data, by the tables of methods and learners."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from dpfair.data.schema import Schema
from dpfair.data.text import text_of
from dpfair.errors import InputError, MissingCodeError
from dpfair.learners import LEARNERS
from dpfair.methods import METHODS
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.classifiers import StoredClassifier, is_fitted
from dpfair.methods.settings import Division, FairRule
from dpfair.privacy.plan import FitPlan

__all__ = ["model_from_settings", "model_settings"]

_OWN = {"schema", "ledger", "random_state", "strict", "verbose"}
"""Parameters that a file says elsewhere, or that say nothing about the model."""

_BUDGET = {"epsilon", "delta", "relation", "composition", "rows_per_unit"}
"""Parameters that the plan says."""

_GROUPS = {"rule": FairRule, "division": Division}

_OTHERS = "Its settings are not the ones of this version."


def model_settings(model: PrivateClassifier) -> tuple[str, dict[str, Any]]:
    """The name of the method, and what it was asked to do."""
    name = next((name for name, kind in METHODS.items() if type(model) is kind), None)
    if name is None:
        raise InputError(f"Expected one of dpfair's methods, got {type(model).__name__}.")
    settings = {k: v for k, v in model.settings().items() if k not in _OWN | _BUDGET}
    for key, value in settings.items():
        if key in _GROUPS:
            settings[key] = value.get_params()
        elif key == "unit":
            # A reader of the file may have a table with its columns in another order.
            settings[key] = model.unit_name
        elif key == "learner":
            settings[key] = _learner_to_json(value)
        elif key == "classifier":
            settings[key] = {"trained_here": not is_fitted(value)}
        elif key == "groups" and value is not None:
            settings[key] = [text_of(group) for group in value]
        elif isinstance(value, tuple):
            settings[key] = list(value)
    return name, settings


def model_from_settings(
    name: str,
    settings: dict[str, Any],
    plan: FitPlan,
    *,
    schema: Schema,
    classifier: Any,
    learner: Any,
) -> PrivateClassifier:
    """An unfitted model of a file; settings that the method does not have are refused."""
    if name not in METHODS:
        raise InputError("Its method is none of dpfair's.")
    method = METHODS[name]
    nested = {"rule", "division", "learner", "classifier"} & set(settings)
    plain = {key: value for key, value in settings.items() if key not in nested}
    names = set(method()._get_param_names())
    params = _checked(method, plain, names - _OWN - _BUDGET - nested)
    for key in nested & names:
        params[key] = _nested(key, settings[key], classifier, learner)
    params |= {key: v for key, v in vars(plan.budget).items() if key in names & _BUDGET}
    if "epsilon" in params:
        params["epsilon"] = _epsilon(plan, private="classifier" not in names)
    params |= {"schema": schema} if "schema" in names else {}
    return method(**params)


def _nested(key: str, data: Any, classifier: Any, learner: Any) -> Any:
    if key in _GROUPS:
        kind = _GROUPS[key]
        return kind(**_checked(kind, data, set(kind()._get_param_names())))
    if key == "learner":
        return _learner_from_json(data, learner)
    trained_here = data["trained_here"] is not False
    if classifier is not None and not is_fitted(classifier):
        raise MissingCodeError("The classifier that was given for it is not fitted.")
    return StoredClassifier(trained_here, classifier)


def _epsilon(plan: FitPlan, *, private: bool) -> float | Fraction | None:
    """The budget as it was given: exact, and None for a method that counts without noise."""
    epsilon = plan.budget.epsilon
    if not (plan.steps or private):
        return None
    return float(epsilon) if Fraction(float(epsilon)) == epsilon else epsilon


def _learner_to_json(learner: Any) -> dict[str, Any]:
    name = next((name for name, kind in LEARNERS.items() if type(learner) is kind), None)
    if name is None:
        return {"name": type(learner).__name__, "settings": None}
    return {"name": name, "settings": learner.get_params()}


def _learner_from_json(data: dict[str, Any], given: Any) -> Any:
    name, settings = str(data["name"]), data["settings"]
    if settings is None:
        if given is None or type(given).__name__ != name or type(given) in LEARNERS.values():
            if given is None and name in LEARNERS:
                raise InputError("The settings of its learner are missing.")
            raise MissingCodeError(_needed(name[:50], given))
        return given
    if name not in LEARNERS:
        raise InputError("Its learner is none of dpfair's.")
    kind = LEARNERS[name]
    return kind(**_checked(kind, settings, set(kind()._get_param_names())))


def _needed(name: str, given: Any) -> str:
    if given is not None:
        return f"It was trained by {name!r}, and the learner that was given is another one."
    return (
        f"It was trained by {name!r}, which is not a learner of dpfair, and a file holds no code: "
        "give that learner with learner= in Python, or with --learner MODULE:CLASS on the command "
        "line."
    )


def _checked(kind: type[Any], settings: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Settings with the names and the types that a class declares."""
    if set(settings) != names:
        raise InputError(_OTHERS)
    types, found = _types(kind), {}
    for name, value in settings.items():
        if not _fits(value, types[name]):
            raise InputError(f"Its setting {name} has another type than it should have.")
        found[name] = tuple(value) if get_origin(types[name]) is tuple else value
    return found


def _types(kind: type[Any]) -> dict[str, Any]:
    """The declared types of a class's parameters, whoever wrote its constructor."""
    owner = next(one for one in kind.__mro__ if "__init__" in vars(one))
    # A dataclass inherits fields whose types only the module of their own class can name.
    return get_type_hints(
        kind if "__dataclass_fields__" in vars(owner) else vars(owner)["__init__"]
    )


def _fits(value: Any, declared: Any) -> bool:
    """Whether plain data has a declared type; truth values are no numbers.

    >>> _fits(1, float | None), _fits(True, float | None), _fits(["a"], str | Sequence[str])
    (True, False, True)
    """
    origin, inner = get_origin(declared), get_args(declared)
    if origin is UnionType:
        return any(_fits(value, one) for one in inner)
    if origin is tuple:
        sound = isinstance(value, list) and len(value) == len(inner)
        return sound and all(map(_fits, value, inner))
    if origin is Sequence:
        return isinstance(value, list) and all(_fits(item, inner[0]) for item in value)
    if declared is float:
        return type(value) in (int, float)
    return declared in (bool, int, str, NoneType) and type(value) is declared
