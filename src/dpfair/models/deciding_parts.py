"""The parts of a model that decide, as plain data: the rule and the two labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.schema import Schema
from dpfair.data.text import plain_text
from dpfair.errors import InputError
from dpfair.fairness.rules import MAX_BINS, Rule

__all__ = ["classes_from_json", "classes_to_json", "rule_from_json", "rule_to_json", "same_rule"]

_ENDS = {"inf": math.inf, "-inf": -math.inf}
_KINDS = {"text": str, "integer": int, "number": float, "boolean": bool}


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """The acceptance probabilities, and the scores between them."""
    names = {value: name for name, value in _ENDS.items()}
    return {
        "accept": rule.accept.tolist(),
        "cuts": [[names.get(cut, cut) for cut in row] for row in rule.cuts.tolist()],
    }


def rule_from_json(data: dict[str, Any], groups: int) -> Rule:
    """A rule for this many groups."""
    steps = len(data["cuts"][0])
    if steps > MAX_BINS:
        raise InputError("Its rule is malformed.")
    for name, width in (("accept", steps + 1), ("cuts", steps)):
        if [len(row) for row in data[name]] != [width] * groups:
            raise InputError("Its rule does not follow from its release.")
    cuts = [[_ENDS.get(cut, cut) for cut in row] for row in data["cuts"]]
    if any(type(number) not in (int, float) for row in (*data["accept"], *cuts) for number in row):
        raise InputError("Its rule is malformed.")
    return Rule(np.array(data["accept"]), np.array(cuts))


def same_rule(stated: Rule | None, derived: Rule | None) -> bool:
    """Whether two rules are the same up to another machine's rounding."""
    if stated is None or derived is None:
        return stated is derived
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-6)
        for a, b in ((stated.accept, derived.accept), (stated.cuts, derived.cuts))
    )


def classes_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    """The two labels with their type."""
    values = classes.tolist()
    for kind, of_kind in _KINDS.items():
        if all(type(value) is of_kind and value not in _ENDS.values() for value in values):
            return {"kind": kind, "values": values}
    raise InputError("A model file holds classes that are text, finite numbers or truth values.")


def classes_from_json(data: dict[str, Any], schema: Schema) -> NDArray[Any]:
    """The two labels of the schema, in its order, in one of the types that labels have."""
    kind, values = data["kind"], data["values"]
    as_numbers: dict[str, Callable[[Any], Any]] = {"integer": float, "number": float}
    read = (as_numbers | {"text": plain_text, "boolean": _is_true})[kind]
    if not all(type(value) is _KINDS[kind] for value in values) or len(set(values)) < 2:
        raise InputError("Its classes are malformed.")
    if [read(value) for value in values] != [read(text) for text in schema.label.values]:
        raise InputError("Its classes are not those of its schema.")
    return np.array(values)


def _is_true(value: str | bool) -> bool:
    return value in ("1", "true", True)
