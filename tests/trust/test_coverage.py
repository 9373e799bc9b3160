"""Printed bounds hold as often as they say; `make audit` draws many more releases."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest
from sample_tables import make_loans
from trust.coverage import KINDS, POPULATIONS, STRUCTURES, evaluation_held, fit_held

from dpfair import PrivateFairClassifier


@pytest.mark.parametrize("population", ["rare labels", "a tiny group", "three groups"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_fit_certifies_holds(kind, population):
    # Without noise the tails take a tenth of the time.
    exact = fit_held(kind, replace(POPULATIONS[population], noise=math.inf), trials=20)
    assert exact.failures() == []
    assert exact.made["gap"] == 20


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_fit_certifies_holds_with_noise(kind):
    assert fit_held(kind, POPULATIONS["a tiny group"], trials=2).failures() == []


def test_what_an_evaluation_prints_holds():
    held = evaluation_held("one record each", persons=300, epsilon=20, trials=30)
    assert held.made == {"gap": 30, "accuracy": 30}
    assert held.failures() == []


@pytest.mark.parametrize("structure", [name for name, (rows, _) in STRUCTURES.items() if rows > 1])
def test_records_of_one_person_give_no_bound(structure):
    assert not evaluation_held(structure, persons=300, epsilon=20, trials=2).made


@pytest.mark.parametrize("rows", [1, 2])
def test_records_of_one_person_give_no_certain_share_of_undeclared_values(rows, loan_schema):
    X, y = make_loans(400)
    people = X.with_columns(person=pl.Series([str(i // rows) for i in range(len(y))]))
    settings = {"unit": "person", "rows_per_unit": rows, "mode": "reuse", "random_state": 0}
    model = PrivateFairClassifier(3, schema=loan_schema, **settings).fit(people, y)
    ends = [ends for _, ends in model.certificate_.fairness.undeclared.values()]
    assert [e is None for e in ends] == [rows > 1] * 2
