"""One connection per process, none across a fork, one transaction at a time."""

import ctypes
import os
import shutil
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from dpfair import files
from dpfair.errors import LedgerFileError, LedgerTamperedError
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.connection import LedgerConnection
from dpfair.privacy.ledger_file.filesystem import identity


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.ledger"
    LedgerFile.create(path, 1, 1e-5).close()
    file = LedgerConnection(path)
    yield file
    file.close()


def in_child(work, fork=os.fork):
    """The exit code of work, 0 to 100, in a forked child; 101 if it raised."""
    pid = fork()
    if pid == 0:
        code = 101
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def count(file):
    with file.transaction() as connection:
        return len(list(ledger_store.rows_from(connection, 0)))


def is_open(file):
    return files.OPEN[identity(file.path)] > 0


def test_no_connection_is_carried_over_a_fork(file):
    with file.transaction():
        assert is_open(file)
    assert count(file) == 1
    assert not is_open(file)
    assert in_child(lambda: count(file)) == 1
    assert count(file) == 1


def test_a_fork_in_a_transaction_breaks_the_transaction_and_not_the_file(file):
    def inside():
        with file.transaction(write=True):
            assert in_child(lambda: 7) == 7

    with pytest.raises(LedgerFileError):
        inside()
    assert count(file) == 1


def test_a_fork_waits_for_the_transactions_of_other_threads(file):
    inside, order = threading.Event(), []

    def work():
        with file.transaction(write=True):
            inside.set()
            time.sleep(0.2)
            order.append("committed")

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    in_child(lambda: 0)
    order.append("forked")
    thread.join()
    assert order == ["committed", "forked"]


def test_a_copy_of_the_process_behind_our_back_is_refused(file):
    """Its SQLite would believe to hold locks that only the parent has."""
    fork = ctypes.CDLL(None).fork

    def refused():
        for _ in range(2):
            with pytest.raises(LedgerFileError, match="start a new process"):
                count(file)
        with pytest.raises(LedgerFileError, match="start a new process"):
            count(LedgerConnection(file.path))
        return 5

    with file.transaction():
        assert in_child(refused, fork) == 5
    assert count(file) == 1


def test_a_replaced_file_is_noticed(file, tmp_path):
    count(file)
    shutil.copy(file.path, tmp_path / "copy")
    os.replace(tmp_path / "copy", file.path)
    with pytest.raises(LedgerFileError, match="replaced"):
        count(file)
    file.path.unlink()
    with pytest.raises(LedgerFileError, match="no ledger file"):
        count(file)


def test_links_are_followed(file, tmp_path):
    (tmp_path / "link").symlink_to(file.path)
    assert LedgerConnection(tmp_path / "link").path == file.path


def test_an_error_inside_undoes_the_transaction(file):
    def fail():
        with file.transaction(write=True) as connection:
            connection.execute("INSERT INTO entry VALUES (1, 'x', 'y')")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert count(file) == 1


def test_errors_of_sqlite_become_sentences_and_close_the_connection(file):
    def fail():
        with file.transaction(write=True) as connection:
            connection.execute("INSERT INTO entry VALUES (0, 'x', 'y')")

    with pytest.raises(LedgerTamperedError, match="damaged"):
        fail()
    assert not is_open(file)
    assert count(file) == 1


def test_a_lock_that_lasts_too_long_is_named(file):
    hasty = LedgerConnection(file.path, patience=0.1)
    other = sqlite3.connect(file.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with (
        pytest.raises(LedgerFileError, match=r"locked for 0\.1 seconds"),
        hasty.transaction(write=True),
    ):
        pass
    assert count(hasty) == 1  # readers do not wait
    other.close()


def test_a_log_that_was_taken_away_ends_the_transaction_with_an_error(file):
    """So a charge gives no receipt."""

    def take_away():
        with file.transaction(write=True) as connection:
            connection.execute("SELECT count(*) FROM entry").fetchall()
            Path(f"{file.path}-wal").unlink()

    with pytest.raises(LedgerFileError, match="taken away"):
        take_away()


def test_a_network_file_system_is_refused(file, monkeypatch, tmp_path):
    (tmp_path / "mounts").write_text(f"server {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr("dpfair.privacy.ledger_file.filesystem.MOUNTS", tmp_path / "mounts")
    with pytest.raises(LedgerFileError, match="network"):
        LedgerConnection(file.path)
