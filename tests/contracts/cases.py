"""The methods and learners to check, by the tables of names, and the tables to check them on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from dpfair import PrivateFairClassifier
from dpfair.audit.catalogue import Method, small_model
from dpfair.audit.neighbours import Pair, neighbours
from dpfair.audit.sample import PERSON, probe_table, sample_records, sample_schema, table_of
from dpfair.data.schema import Schema
from dpfair.learners import LEARNERS
from dpfair.methods import METHODS

__all__ = [
    "PROBE",
    "RECORDS",
    "SCHEMA",
    "TABLE",
    "Case",
    "all_cases",
    "labels_for",
    "parameter",
    "recordings",
    "registered",
    "table",
]

SCHEMA = sample_schema(rows=100)
RECORDS = sample_records(SCHEMA, 100)


def table(records: list[dict[str, Any]]) -> Any:
    """Records as a table, without the names of the persons."""
    return _without_persons(table_of(SCHEMA, records))


def _without_persons(made: Any) -> Any:
    return made._replace(X=made.X.drop(PERSON))


TABLE = table(RECORDS)
PROBE = _without_persons(probe_table(SCHEMA))


@dataclass(frozen=True)
class Case:
    """A method with small settings."""

    name: str
    kind: type[Any]
    settings: dict[str, Any] = field(default_factory=dict)

    def make(self, kind: type[Any] | None = None, relation: str = "add_remove", **more: Any) -> Any:
        """An unfitted model, of another class with the same parameters if one is given."""
        model = small_model(self.kind, SCHEMA, relation).set_params(**self.settings | more)
        return model if kind is None else kind(**model.get_params(deep=False))

    def fit(self, **more: Any) -> Any:
        """A model that is fitted on the usual table."""
        return self.make(**more).fit(*TABLE)

    @property
    def private(self) -> bool:
        """Whether it claims to be."""
        return not self.make().leaks(SCHEMA)

    @property
    def classifier(self) -> Any:
        """What the method is built on, if it is."""
        return getattr(self.make(), "classifier", None)

    @property
    def entry(self) -> Method:
        """For the replay audit."""
        return Method(
            self.name,
            "in the contract tests",
            lambda schema, relation: small_model(self.kind, schema, relation, **self.settings),
        )


def all_cases() -> list[Case]:
    """Every method of METHODS, and the fair classifier with every learner of LEARNERS."""
    cases = [Case(name, kind) for name, kind in METHODS.items()]
    for name, learner in LEARNERS.items():
        settings = {"learner": learner(**learner.quick), "mode": "reuse"}
        cases.append(Case(f"fair with {name}", PrivateFairClassifier, settings))
    return cases


@contextmanager
def registered(name: str, kind: type[Any], where: dict[str, type[Any]] = METHODS) -> Iterator[None]:
    """A row in a table of names, for a while."""
    where[name] = kind
    try:
        yield
    finally:
        del where[name]


def labels_for(model: Any) -> Any:
    """The labels of the usual table as the model's classes; a classifier may have its own."""
    positive = TABLE.y == SCHEMA.label.values[1]
    return model.classes_[positive.astype(int)]


def parameter(model: Any, name: str) -> str | None:
    """The parameter or the setting of this name, as ``set_params`` calls it."""
    found = (key for key in model.get_params() if key.rpartition("__")[2] == name)
    return next(found, None)


@cache
def recordings(
    schema: Schema, relation: str, rows_per_unit: int = 1, *, unknown_groups: bool = True
) -> list[list[Pair]]:
    """Tables to replay on, by the recorded run that they share."""
    groups: dict[tuple[int, int], list[Pair]] = {}
    for pair in neighbours(
        schema, relation, rows_per_unit=rows_per_unit, unknown_groups=unknown_groups
    ):
        groups.setdefault((id(pair.first), pair.seed), []).append(pair)
    return list(groups.values())
