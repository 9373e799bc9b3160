"""The parts of a model as plain data: releases and assumed facts.

What follows from the plan (the noise of a table, its groups, what it depends on) is not stored.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import InputError
from dpfair.fairness.counting import cell_noise
from dpfair.fairness.dither import GRAIN
from dpfair.fairness.release import Release, grid_of
from dpfair.fairness.undeclared import ALL
from dpfair.methods.base import PrivateClassifier
from dpfair.methods.limits import MAX_CELLS, MAX_RECORDS
from dpfair.privacy.assumptions import Assumption, Facts

__all__ = [
    "facts_from_json",
    "facts_to_json",
    "release_from_json",
    "release_to_json",
]


def release_to_json(release: Release) -> dict[str, Any]:
    """What was counted, and by which edges of the score."""
    return {
        "edges": release.edges.tolist(),
        "counts": release.counts.tolist(),
        "undeclared": dict(release.undeclared),
    }


def release_from_json(
    data: dict[str, Any], name: str, model: PrivateClassifier, how: Any
) -> Release:
    """The table of a step; what is not stored follows from the model's plan.

    ``how`` are the edges that were planned. Where thresholds are placed, those are counted by other
    edges, which lie around the planned rates.
    """
    # Of this type, or one long text among the counts would take its length for each of them.
    counts, plan = np.array(data["counts"], dtype=np.int64), model.plan_
    if counts.size > MAX_CELLS or np.abs(counts.astype(np.float64)).max() > MAX_RECORDS:
        raise InputError("Its counts are too many or too large.")
    groups = ALL if name == "values" else model.schema_.groups
    exact = name not in plan  # counts that nobody paid for
    open_sizes = exact or model.public_sizes
    noise = (math.inf,) if exact else (cell_noise(plan[name].event),)
    release = Release(
        groups=groups,
        edges=np.array(data["edges"], dtype=np.float64),
        counts=counts,
        noise=noise * len(groups),
        sizes=tuple(counts.sum(axis=(1, 2)).tolist()) if open_sizes else None,
        dependence=model.dependence(name),
        undeclared={str(kind): _whole(count) for kind, count in data["undeclared"].items()},
    )
    if exact and counts.min() < 0:
        raise InputError("Its exact counts are no numbers of records.")
    if release.labelled != (name != "values" and model.counts_labels):
        raise InputError("One of its tables does not count what its plan says.")
    undeclared = ("group",) if name == "values" else model.counts_undeclared
    if tuple(release.undeclared) != (() if open_sizes else undeclared):
        raise InputError("One of its tables does not count what its plan says.")
    planned = grid_of(how, len(groups))
    if planned.shape == release.edges.shape and np.allclose(planned, release.edges, atol=1e-9):
        return release
    if name == "count" and "plan" in plan and "decisions" not in plan:
        return replace(release, grain=GRAIN)
    raise InputError("One of its tables has other edges than were planned.")


def _whole(count: Any) -> int:
    if type(count) is not int or abs(count) > MAX_RECORDS:
        raise InputError("Expected whole counts.")
    return count


def facts_to_json(facts: Facts) -> list[dict[str, Any]]:
    """The facts that were taken as public."""
    return [
        {"by": list(fact.by), "scope": fact.scope, "counts": value.tolist()}
        for fact, value in facts.items()
    ]


def facts_from_json(data: list[dict[str, Any]], groups: int) -> Facts:
    """Assumed facts, each once, about this many groups."""
    facts: dict[Assumption, NDArray[Any]] = {}
    for entry in data:
        fact = Assumption(tuple(map(str, entry["by"])), str(entry["scope"]))
        counts = np.array([_whole(count) for count in entry["counts"]], dtype=np.int64)
        cells = math.prod({"group": groups, "label": 2}[part] for part in fact.by)
        if len(counts) != cells or counts.min() < 0 or fact in facts:
            raise InputError("Its assumed facts are malformed.")
        facts[fact] = counts
    if len({int(counts.sum()) for fact, counts in facts.items() if not fact.scope}) > 1:
        raise InputError("Its assumed facts contradict each other.")
    return facts
