"""Random cases, for Hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from trust.fuzzed.case import DEFECTS, Case
from trust.fuzzed.containers import CONTAINERS, NAMELESS, SERIES, built, deeper, objects
from trust.fuzzed.estimators import CHOICES, WITH_UNIT
from trust.fuzzed.values import GROUPS, KINDS, LABELS, NAMES

from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.schema import Schema

__all__ = ["cases"]


@st.composite
def cases(draw: st.DrawFn, declared: bool | None = None, sound: bool | None = None) -> Case:
    """Cases with a declared schema (most), or one to be inferred; sound, or with a defect."""
    if declared is None:
        declared = draw(st.integers(0, 5)) > 0
    if sound is None:
        sound = draw(st.integers(0, 4)) > 0
    container = draw(st.sampled_from(list(CONTAINERS)))
    estimator = draw(st.sampled_from(CHOICES))
    rows = draw(st.sampled_from([1, 2, 3, 6, 12, 25]))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=4, max_size=4, unique=True))
    if container in NAMELESS:
        names = [f"x{i}" for i in range(4)]
    number, word, group, unit = names
    kinds = _several(draw, list(KINDS), 4)
    columns = {n: (k, _cells(draw, k, rows)) for n, k in zip(names, kinds, strict=True)}
    columns[group] = _groups(draw, kinds[2], rows, declared)
    case = Case(
        columns=columns,
        container=container,
        estimator=estimator,
        labels=_labels(draw, rows, declared),
        schema=_schema(number, word, group) if declared else None,
        sensitive=group,
        later={n: (k, _cells(draw, k, 3)) for n, (k, _) in columns.items()},
    )
    if declared and draw(st.booleans()):
        case.sensitive = None
    if draw(st.integers(0, 3)) == 0:
        _, values = columns.pop(group)
        case.later.pop(group)
        case.sensitive = None
        case.groups = built(SERIES[draw(st.sampled_from(list(SERIES)))], values)
    if estimator in WITH_UNIT and draw(st.booleans()):
        case.unit = unit if case.groups is None or container not in NAMELESS else "x2"
    if not sound:
        case.defect = draw(st.sampled_from(list(DEFECTS)))
    assume(not (deeper(case.labels, 1) or deeper(case.groups, 1)))
    for cells in (case.columns, case.later) if container == "lists" else ():
        assume(not deeper(built(CONTAINERS["lists"], cells), 2))
    return case


def _several(draw: st.DrawFn, pool: list[Any], count: int) -> list[Any]:
    """Some of the pool: the digits of one number, which costs one decision and not many."""
    number, values = draw(st.integers(0, len(pool) ** count - 1)), []
    for _ in range(count):
        number, digit = divmod(number, len(pool))
        values.append(pool[digit])
    return values


def _cells(draw: st.DrawFn, kind: str, rows: int) -> list[Any]:
    values = _several(draw, KINDS[kind], rows)
    if kind != "mixed" and draw(st.booleans()):
        values[draw(st.integers(0, rows - 1))] = None
    return values


def _groups(draw: st.DrawFn, kind: str, rows: int, declared: bool) -> tuple[str, list[Any]]:
    if declared and draw(st.integers(0, 2)) == 0:
        return kind, _cells(draw, kind, rows)  # anything: whoever is in no group is left out
    known = [*GROUPS, None] if declared else ["f", "m"]
    return "words", _several(draw, known, rows)


def _labels(draw: st.DrawFn, rows: int, declared: bool) -> Any:
    if not declared and draw(st.integers(0, 3)):
        pool = draw(st.sampled_from([[0, 1], ["no", "yes"], [True, False], [0.0, 1.0]]))
        return np.array(_several(draw, pool, rows))
    kind = draw(st.sampled_from(["whole numbers", "words", "numbers", "mixed", "bytes", "days"]))
    pool = [*LABELS, 0, 1, 1.0] if draw(st.booleans()) else KINDS[kind]
    values = _several(draw, pool, rows)
    shape = draw(st.sampled_from(["list", "numpy", "pandas", "column", "polars", "pyarrow"]))
    if shape == "column":
        return objects(values).reshape(-1, 1)
    return built(SERIES[shape], values)


def _schema(number: str, word: str, group: str) -> Schema:
    taken = {number, word, group}
    label = next(name for name in ("label", "outcome", "y", "yy") if name not in taken)
    return Schema(
        columns=(Numeric(number, (-10, 100)), Categorical(word, ("a", "b", "1", "true"))),
        label=Levels(label, LABELS),
        sensitive=Levels(group, GROUPS),
        rows=20,
    )
