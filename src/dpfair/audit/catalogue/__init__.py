"""Every method that claims privacy, small enough that one fit takes milliseconds.

An entry makes an unfitted model for a schema and a relation; audits use nothing else of it. A
model has ``fit(X, y)``, lists its charges in ``ledger_``, and may have ``predict``,
``predict_proba``, ``plan`` and ``certificate_``.

Every row of METHODS and LEARNERS has an entry automatically. The entries that are written out
cover settings of the methods, and jobs that are not fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpfair.audit.catalogue.fair import FAIR_METHODS, fair_model
from dpfair.audit.catalogue.jobs import JOBS, PrivateBatch, PrivateEvaluation
from dpfair.audit.catalogue.method import FirstNumber, Method, small_model
from dpfair.audit.catalogue.training import TRAINING_METHODS
from dpfair.audit.sample import sample_schema
from dpfair.data.schema import Schema
from dpfair.learners import LEARNERS
from dpfair.methods import METHODS
from dpfair.methods.base import PrivateClassifier

__all__ = [
    "CATALOGUE",
    "FirstNumber",
    "Method",
    "PrivateBatch",
    "PrivateEvaluation",
    "catalogue",
    "small_model",
]


def catalogue() -> tuple[Method, ...]:
    """The entries, with one for every method and learner that is listed at present."""
    written = (*TRAINING_METHODS, *FAIR_METHODS, *JOBS)
    names = {entry.name for entry in written}
    others = (*_of_every_method(), *_of_every_learner())
    return (*written, *(entry for entry in others if entry.name not in names))


def _of_every_method() -> Iterator[Method]:
    """Entries of all private methods; a method that is not private makes no claim to audit."""
    for name, kind in METHODS.items():

        def make(schema: Schema, relation: str, kind: type[PrivateClassifier] = kind) -> Any:
            return small_model(kind, schema, relation)

        model = make(sample_schema(), "add_remove")
        if not model.leaks(sample_schema()):
            yield Method(name, f"{model.title}, with small settings", make)


def _of_every_learner() -> Iterator[Method]:
    for name, learner in LEARNERS.items():

        def make(schema: Schema, relation: str, learner: type[Any] = learner) -> Any:
            return fair_model(schema, relation, mode="reuse", learner=learner(**learner.quick))

        yield Method(f"reuse-{name}", f"All records train the learner {name} and are counted", make)


CATALOGUE = catalogue()
"""The entries of this version."""
