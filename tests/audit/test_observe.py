"""What can be seen of a run."""

from __future__ import annotations

import sys
import warnings

import pytest

from dpfair import FairnessWarning, InputError
from dpfair.audit.catalogue import CATALOGUE
from dpfair.audit.observe import observe
from dpfair.audit.sample import probe_table, sample_records, sample_schema, table_of
from dpfair.audit.tape import Session
from dpfair.methods.fair_classifier import PrivateFairClassifier

SCHEMA = sample_schema()
TABLE = table_of(SCHEMA, sample_records(SCHEMA, 30))
PROBE = probe_table(SCHEMA)
METHODS = {method.name: method for method in CATALOGUE}


class Model:
    def __init__(self, act):
        self.act = act

    def fit(self, X, y):
        self.act()


def seen(act):
    return observe(lambda: Model(act), TABLE, Session(), PROBE)


def test_warnings_prints_and_errors_are_seen():
    def act():
        warnings.warn("beware", FairnessWarning, stacklevel=1)
        print("out")
        print("err", file=sys.stderr)
        raise InputError("no")

    run = seen(act)
    assert run.shown == {
        "the error": "InputError: no",
        "the warnings": ["FairnessWarning: beware"],
        "the printed text": "out\nerr\n",
    }
    assert run.failed
    assert run.ledger is None


def test_the_same_warning_is_seen_every_time():
    def act():
        for _ in range(3):
            warnings.warn("beware", UserWarning, stacklevel=1)

    for _ in range(2):
        assert seen(act).shown["the warnings"] == ["UserWarning: beware"] * 3


def test_stopping_the_audit_is_no_error_of_the_method():
    def act():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seen(act)


def test_a_fit_shows_its_questions_predictions_and_file():
    model = METHODS["reuse"].make(SCHEMA, "add_remove")
    run = observe(lambda: model, TABLE, Session(), PROBE)
    assert not run.failed
    assert run.ledger is model.ledger_
    assert {h.question.kind for h in run.heard} == {"grid", "counts"}
    assert len(run.outputs["predictions"]) == len(PROBE.y)
    assert isinstance(run.outputs["the file of the model"], bytes)


def test_the_winner_of_a_search_has_a_file_too():
    run = observe(
        lambda: METHODS["search-fair"].make(SCHEMA, "add_remove"), TABLE, Session(), PROBE
    )
    assert isinstance(run.model.best_estimator_, PrivateFairClassifier)
    assert "the file of best_estimator_" in run.outputs


def test_a_run_that_finds_no_answer_is_given_up():
    run = observe(
        lambda: METHODS["reuse"].make(SCHEMA, "add_remove"), TABLE, Session(script=[]), PROBE
    )
    assert run.diverged
    assert run.failed
    assert run.shown["the error"] == ""
