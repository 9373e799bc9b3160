"""A job that was interrupted goes on: it pays nothing, draws nothing and sums up nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from sample_tables import LOANS, make_loans
from sklearn.base import clone

from dpfair import (
    Algorithm2,
    BlockLearner,
    ChargeTo,
    InputError,
    LedgerFile,
    PrivateFairClassifier,
    PrivateLogisticRegression,
    Schema,
)
from dpfair.data.records import Records
from dpfair.errors import LedgerTamperedError, PaidBeforeError
from dpfair.privacy.journal import Journal, journal_place

KINDS = {**LOANS, "columns": [{"name": c["name"], "kind": c["kind"]} for c in LOANS["columns"]]}
BLOCKS = BlockLearner(**BlockLearner.quick)
METHODS = {
    "fair": PrivateFairClassifier(4, schema=Schema.from_dict(LOANS), learner=BLOCKS),
    "found facts": PrivateFairClassifier(
        4, schema=Schema.from_dict(KINDS), mode="reuse", division={"values_epsilon": 0.1}
    ),
    "small budget": PrivateFairClassifier(0.5, schema=Schema.from_dict(LOANS), learner=BLOCKS),
    "algorithm 2": Algorithm2(4, schema=Schema.from_dict(LOANS)),
    "logistic": PrivateLogisticRegression(1, schema=Schema.from_dict(LOANS), steps=9),
}

goes_on = pytest.warns(UserWarning, match="nothing is charged or drawn again")


class Interrupted(Exception):
    """Ends a fit where a process could be killed."""


@pytest.fixture
def path(tmp_path):
    LedgerFile.create(tmp_path / "a.ledger", 10, 1e-5)
    return tmp_path / "a.ledger"


@pytest.fixture
def totals(monkeypatch):
    """Counts what the records are asked for; set ``last`` to interrupt the fit there."""

    class Totals:
        asked, last = 0, None

    total = Records.total

    def counted(self, measure):
        Totals.asked += 1
        if Totals.asked == Totals.last:
            raise Interrupted
        return total(self, measure)

    monkeypatch.setattr(Records, "total", counted)
    return Totals


def journaled(model, path, key="job"):
    return clone(model).set_params(ledger=ChargeTo(path, key=key))


def assert_same(one, two):
    tensors = [model.scorer_.tensors() for model in (one, two)]
    assert all((tensors[0][name] == tensors[1][name]).all() for name in tensors[0])
    for name, release in one.fitted_.releases.items():
        assert (np.asarray(release.counts) == two.fitted_.releases[name].counts).all()
    assert one.fitted_.coin_key == two.fitted_.coin_key
    assert str(one.certificate_) == str(two.certificate_)


@pytest.mark.parametrize("name", METHODS)
def test_an_interrupted_fit_goes_on_after_its_last_answer(name, path, totals):
    model, (X, y) = METHODS[name], make_loans(1500)
    journaled(model, path, "whole").fit(X, y)
    number = totals.asked
    spent = LedgerFile(path).spent
    for last in sorted({1, 2, number // 2}):  # how many there are, noise decides
        key = f"ends at {last}"
        ledger = LedgerFile.create(path.with_name(key), 10, 1e-5)
        place = journal_place(ledger.path, key)
        totals.asked, totals.last = 0, last
        with pytest.raises(Interrupted):
            journaled(model, ledger.path, key).fit(X, y)
        before, totals.last = place.read_bytes(), None
        with goes_on:
            continued = journaled(model, ledger.path, key).fit(X, y)
        assert place.read_bytes().startswith(before)
        totals.asked = 0
        with goes_on:
            again = journaled(model, ledger.path, key).fit(X, y)
        assert totals.asked == 0
        assert_same(continued, again)
        assert (len(ledger.entries), ledger.spent) == (1, spent)
        assert ledger.paid(again.ledger_.row) is not None


def test_what_was_asked_before_is_not_summed_up_again(path, totals):
    model, (X, y) = METHODS["logistic"], make_loans(500)
    totals.last = 7
    with pytest.raises(Interrupted):
        journaled(model, path).fit(X, y)
    totals.asked, totals.last = 0, None
    with goes_on:
        journaled(model, path).fit(X, y)
    assert totals.asked == 9 - 6


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_killed_process_is_continued(path, tmp_path):
    X, y = make_loans(3000)
    X.with_columns(repaid=pl.Series(y)).write_parquet(tmp_path / "loans.parquet")
    (tmp_path / "loans.json").write_text(json.dumps(LOANS))
    place = journal_place(path, "job")
    command = [sys.executable, "-m", "dpfair", "fit", "loans.parquet", "--schema", "loans.json"]
    command += ["--epsilon", "2", "--ledger", path.name, "--key", "job", "--out", "m.dpfair"]
    command += ["--learner", "logistic", "--set", "steps=3000"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (place.exists() and place.stat().st_size > 100_000):
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    lines = place.read_bytes().count(b"\n")
    assert 100 < lines < 3000
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "goes on after its last answer" in done.stderr
    assert len(LedgerFile(path).entries) == 1
    assert not place.exists()  # the result is kept in the ledger
    assert (tmp_path / "m.dpfair").exists()


class TestRefusals:
    """A journal is used for the very job that wrote it, as it was written."""

    @pytest.fixture
    def place(self, path, totals):
        totals.last = 5
        with pytest.raises(Interrupted):
            journaled(METHODS["logistic"], path).fit(*make_loans(300))
        totals.last = None
        return journal_place(path, "job")

    @pytest.fixture
    def refused(self, path, totals):
        def refused(error, match, model=METHODS["logistic"], path=path):
            before, totals.asked = LedgerFile(path).spent, 0
            with pytest.raises(error, match=match):
                journaled(model, path).fit(*make_loans(300))
            assert (LedgerFile(path).spent, totals.asked) == (before, 0)

        return refused

    def test_its_owner_alone_can_read_it(self, place):
        assert os.name == "nt" or place.stat().st_mode & 0o777 == 0o600

    def test_a_line_that_was_not_finished_is_dropped(self, place, path):
        place.write_bytes(place.read_bytes()[:-3])
        with goes_on:
            journaled(METHODS["logistic"], path).fit(*make_loans(300))

    @pytest.mark.parametrize("line", [0, 1, 4])
    def test_a_line_that_was_changed(self, line, place, refused):
        lines = place.read_bytes().splitlines(keepends=True)
        lines[line] = lines[line].replace(b"1", b"2", 3)
        place.write_bytes(b"".join(lines))
        refused(LedgerTamperedError, "damaged")

    def test_a_line_that_is_missing(self, place, refused):
        lines = place.read_bytes().splitlines(keepends=True)
        place.write_bytes(b"".join(lines[:2] + lines[3:]))
        refused(LedgerTamperedError, "damaged")

    def test_no_journal(self, place, refused):
        place.unlink()
        refused(PaidBeforeError, "'job' was charged before")

    def test_a_journal_in_use(self, place, refused):
        journal = Journal(place, new=False)
        refused(InputError, "running in another process")
        journal.close()

    def test_other_settings(self, refused, place):
        refused(InputError, "belongs to another job", METHODS["fair"])

    def test_another_version(self, place, refused, monkeypatch):
        monkeypatch.setattr("dpfair.privacy.payment.__version__", "9.9")
        refused(InputError, "another version of dpfair")

    def test_another_ledger(self, place, path, refused):
        other = LedgerFile.create(path.with_name("other.ledger"), 10, 1e-5)
        journaled(METHODS["logistic"], other.path).fit(*make_loans(300))
        journal_place(other.path, "job").write_bytes(place.read_bytes())
        refused(InputError, "another ledger", path=other.path)

    def test_what_an_earlier_ledger_left_is_not_used(self, place, path):
        path.unlink()
        ledger = LedgerFile.create(path, 10, 1e-5)
        journaled(METHODS["logistic"], path).fit(*make_loans(300))
        assert ledger.row_of("job") in place.read_text()

    def test_a_seeded_fit_has_no_journal(self, path):
        assert not [*path.parent.glob("*-job-*")]
        with pytest.raises(InputError, match="seed"):
            journaled(METHODS["logistic"], path).set_params(random_state=1).fit(*make_loans(300))
