"""What a fit asks of the noise, for tests of bugs that other libraries had.

Every test of this folder is named after a public issue or pull request of a library for
differential privacy; its first line says what went wrong there. What is tested is the property
that would have prevented it, in dpfair.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from sample_tables import LOANS, make_loans

from dpfair import LogisticLearner, PrivateFairClassifier, PrivateLogisticRegression, Schema
from dpfair.audit.tape import Session
from dpfair.privacy.noise import noise_from

__all__ = [
    "EXTREME",
    "SCHEMA",
    "asked",
    "fair",
    "first_sum",
    "loans",
    "one_step",
    "sums",
    "with_rows",
]

SCHEMA = Schema.from_dict(LOANS)
EXTREME = {"age": 90, "income": 100.0, "job": "nurse", "sex": "m"}


def loans(n=60):
    return make_loans(n)


def with_rows(X, y, rows, label="yes"):
    added = pl.DataFrame(rows, schema=X.schema)
    return pl.concat([X, added]), np.append(y, [label] * len(rows))


def asked(model, X, y, seed=0, script=None):
    """All that a fit asked of the noise: exact values and what was promised about them."""
    session = Session(seed, script)
    with noise_from(session):
        model.fit(X, y)
    return session.heard


def sums(heard):
    """The sums of gradients among what was asked: (question, exact, noisy), in plain numbers."""
    found = []
    for h in heard:
        if h.question.kind in ("gaussian", "grid"):
            units = 1.0 if h.question.units is None else h.question.units
            found.append((h.question, h.question.value * units, np.asarray(h.answer) * units))
    return found


def first_sum(model, X, y):
    """The first sum of gradients, before anything released can differ, and what it promises."""
    question, exact, _ = sums(asked(model, X, y))[0]
    return exact, question.sensitivity


def one_step(**settings):
    settings = {"schema": SCHEMA, "steps": 1, "noise_multiplier": 50.0} | settings
    return PrivateLogisticRegression(1, **settings)


def fair(epsilon=1, method=PrivateFairClassifier, **settings):
    settings = {"schema": SCHEMA, "learner": LogisticLearner(steps=3)} | settings
    return method(epsilon, **settings)
