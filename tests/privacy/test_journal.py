"""A job that was interrupted goes on: it pays nothing, draws nothing and sums up nothing twice."""

from __future__ import annotations

import copy
import errno
import json
import os
import pickle
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
from dpfair.errors import LedgerTamperedError, NoRoomError, PaidBeforeError
from dpfair.privacy.journal import Journal, journal_place
from dpfair.privacy.noise import Noise, noise_from

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
does_not_go_on = pytest.mark.filterwarnings("error:.*nothing is charged or drawn again")


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
    for last in sorted({1, 2, 3, number // 2}):  # how many there are, noise decides
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
        assert totals.asked == 1  # whether the records are the same
        assert_same(continued, again)
        assert (len(ledger.entries), ledger.spent) == (1, spent)
        assert ledger.paid(again.ledger_.row) is not None


def test_what_was_asked_before_is_not_summed_up_again(path, totals):
    model, (X, y) = METHODS["logistic"], make_loans(500)
    totals.last = 8
    with pytest.raises(Interrupted):
        journaled(model, path).fit(X, y)
    totals.asked, totals.last = 0, None
    with goes_on:
        journaled(model, path).fit(X, y)
    assert totals.asked == 1 + 9 - 6  # the records are compared first


@does_not_go_on
def test_a_finished_job_with_other_records_does_not_return_its_model(path):
    model = METHODS["fair"]
    journaled(model, path).fit(*make_loans(500))
    with pytest.raises(InputError, match="other records"):
        journaled(model, path).fit(*make_loans(501))


def test_answers_are_on_the_disk_before_the_fit_ends(path, monkeypatch):
    """Otherwise a model could survive a loss of power, and its answers be drawn again."""
    sizes, sync = [], os.fsync

    def synced(descriptor):
        sizes.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    certify = PrivateFairClassifier.certify
    monkeypatch.setattr(
        PrivateFairClassifier, "certify", lambda self: [sizes.append("certified"), certify(self)][1]
    )
    journaled(METHODS["fair"], path).fit(*make_loans(500))
    place = journal_place(path, "job")
    assert sizes[sizes.index("certified") - 1] == place.stat().st_size


class Filling:
    """A file on a disk that is full after some lines."""

    def __init__(self, file, lines):
        self._file, self._lines = file, lines

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, line):
        self._lines -= 1
        if self._lines < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(line)


def test_a_full_disk_says_that_the_job_can_go_on(path, monkeypatch):
    opened = os.fdopen
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdopen", lambda *file, **how: Filling(opened(*file, **how), 6))
        with pytest.raises(NoRoomError, match=r"No space left on device.*same key, and it goes on"):
            journaled(METHODS["logistic"], path).fit(*make_loans(300))
    assert len(LedgerFile(path).entries) == 1
    with goes_on:
        journaled(METHODS["logistic"], path).fit(*make_loans(300))


def test_a_disk_that_is_full_before_the_charge_says_nothing_of_a_payment(path, monkeypatch):
    opened = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda *file, **how: Filling(opened(*file, **how), 0))
    with pytest.raises(NoRoomError, match=r"No space left on device\.$"):
        journaled(METHODS["logistic"], path).fit(*make_loans(300))
    assert len(LedgerFile(path).entries) == 0


def test_what_cannot_be_put_on_the_disk_is_an_error_of_the_journal(path, monkeypatch):
    def failing(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    journal = Journal(journal_place(path, "job"), new=True)
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(NoRoomError, match="Input/output error"):
        journal.sync()
    journal.close()


def test_two_payments_of_a_job_charge_it_once(path):
    """Another process may pay between the check of a job and its charge."""
    model, schema = journaled(METHODS["logistic"], path), Schema.from_dict(LOANS)
    first, second = (model.payment(model.plan(schema), schema) for _ in range(2))
    first.pay()
    first.close()
    lines = journal_place(path, "job").read_bytes()
    with pytest.raises(PaidBeforeError):
        second.pay()
    second.close()
    assert journal_place(path, "job").read_bytes() == lines
    assert len(LedgerFile(path).entries) == 1


def test_a_model_of_a_job_can_be_copied_and_draws_further_bytes(path):
    X, y = make_loans(500)
    model = journaled(METHODS["fair"], path).fit(X, y)
    content = journal_place(path, "job").read_bytes()
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert (other.predict(X) == model.predict(X)).all()
    assert model.ledger_.noise.take(4) != model.ledger_.noise.take(4)
    assert journal_place(path, "job").read_bytes() == content


def test_a_source_of_noise_that_somebody_provided_is_asked(path):
    class Mine(Noise):
        taken = 0

        def take(self, count):
            Mine.taken += 1
            return super().take(count)

    with noise_from(Mine):
        journaled(METHODS["logistic"], path).fit(*make_loans(300))
    assert Mine.taken
    assert not journal_place(path, "job").exists()


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


@does_not_go_on
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

    @pytest.mark.skipif(os.name == "nt", reason="no permissions")
    def test_its_owner_alone_can_read_it(self, place, path):
        assert place.stat().st_mode & 0o777 == 0o600
        place.chmod(0o666)
        Journal(place, new=False).close()
        assert place.stat().st_mode & 0o777 == 0o600

    @pytest.mark.skipif(os.name == "nt", reason="no owners")
    def test_a_file_of_another_user(self, place, refused, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
        refused(InputError, "no file of this user")

    def test_a_line_that_was_not_finished_is_dropped(self, place, path):
        place.write_bytes(place.read_bytes()[:-3])
        with goes_on:
            journaled(METHODS["logistic"], path).fit(*make_loans(300))

    @pytest.mark.parametrize("line", [0, 1, 4])
    def test_a_line_that_was_changed(self, line, place, refused):
        lines = place.read_bytes().splitlines(keepends=True)
        body = lines[line].index(b" ") + 1
        lines[line] = lines[line][:body] + lines[line][body:].swapcase()
        place.write_bytes(b"".join(lines))
        refused(LedgerTamperedError, "damaged")

    def test_a_line_that_is_missing(self, place, refused):
        lines = place.read_bytes().splitlines(keepends=True)
        place.write_bytes(b"".join(lines[:2] + lines[3:]))
        refused(LedgerTamperedError, "damaged")

    def test_no_file_is_there(self, place, refused):
        place.unlink()
        refused(PaidBeforeError, f"cannot go on: {place.name} is not there")

    def test_all_lines_are_lost(self, place, refused):
        place.write_bytes(b"")
        refused(InputError, "journal of the job is lost")

    @pytest.mark.parametrize(
        "change",
        [
            lambda X, y: (X[1:], y[1:]),
            lambda X, y: (X[::-1], y[::-1]),
            lambda X, y: (X, np.roll(y, 1)),
            lambda X, y: (X.with_columns(income=pl.col("income").shift(1)), y),
            lambda X, y: (X.with_columns(sex=pl.col("sex").reverse()), y),
        ],
        ids=["one fewer", "another order", "labels", "values", "groups"],
    )
    def test_other_records(self, change, place, path):
        """A record that moves could be trained on before, and counted after the interruption."""
        before, lines = LedgerFile(path).spent, place.read_bytes()
        with pytest.raises(InputError, match="other records"):
            journaled(METHODS["logistic"], path).fit(*change(*make_loans(300)))
        assert (LedgerFile(path).spent, place.read_bytes()) == (before, lines)

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
