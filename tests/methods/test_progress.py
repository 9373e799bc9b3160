"""Whoever watches a fit sees its public steps, and never a number of records."""

from __future__ import annotations

import re
import sys

import pytest
from sample_tables import make_loans

from dpfair import PrivateFairClassifier

RECORDS = 1237
STAGES = ("encoding the records", "training", "counting scores", "placing thresholds", "certifying")


@pytest.fixture
def watched(loan_schema, monkeypatch, capsys):
    """What a fit prints on standard error while it is watched on a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    capsys.readouterr()
    model = PrivateFairClassifier(2, schema=loan_schema, verbose=True)
    model.fit(*make_loans(RECORDS))
    return capsys.readouterr()


def test_every_stage_is_shown_on_standard_error(watched):
    assert watched.out == ""
    for stage in STAGES:
        assert stage in watched.err


def test_no_number_but_the_time_is_shown(watched):
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", watched.err)
    assert set(re.findall(r"[0-9:]*[0-9]", plain)) <= {f"0:00:{s:02}" for s in range(60)}


def test_nothing_is_shown_unless_it_is_asked_for(loan_schema, capsys):
    PrivateFairClassifier(2, schema=loan_schema).fit(*make_loans(300))
    assert capsys.readouterr().err == ""
