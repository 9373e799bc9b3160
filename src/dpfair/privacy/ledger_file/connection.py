"""A process's connection to a ledger file, safe for threads and forks.

SQLite stores in the memory of a process which locks it holds. The operating system drops the locks
in a forked child, and whenever the process closes another handle of the file, for example after
copying it. A connection that relies on a dropped lock may lose the rows of other processes.
Therefore a connection is open for one transaction only, none is open at a fork, and a receipt is
given only if the log is still the one that was written to.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpfair import files
from dpfair.errors import LedgerFileError
from dpfair.privacy.ledger_file import filesystem
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.store import PATIENCE_SECONDS

__all__ = ["LedgerConnection"]


class LedgerConnection:
    """The file at a path, opened for every transaction.

    Parameters
    ----------
    path
        A ledger file; links are followed once, now.
    patience
        How many seconds a transaction waits for those of other processes.

    Attributes
    ----------
    lock
        Held during a transaction. Reentrant, because a fork in the same thread takes it, too.
    """

    def __init__(self, path: str | Path, patience: float = PATIENCE_SECONDS) -> None:
        self.path = Path(path).resolve()
        self.patience = patience
        self.lock = threading.RLock()
        self._file = filesystem.identity(self.path)
        filesystem.refuse_network(self.path)
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        with _FORKING:
            _ALL.add(self)

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction: there is one writer at a time, and readers see one state of the file.

        At the end, new rows are in the file itself, not only in its log.
        """
        with self.lock:
            try:
                connection = self._connected()
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                log = self._log() if write else None
                try:
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                if write:
                    ledger_store.settle(connection, self.path, self.patience)
                    self._refuse_another_log(log)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise ledger_store.explain(error, self.path, self.patience) from error
            finally:
                self.close()

    def close(self) -> None:
        """Close the connection, if there is one; the next transaction opens another."""
        with self.lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
                self._connection = None
                files.OPEN[self._file] -= 1

    def _log(self) -> int | None:
        """The identity of the log file."""
        try:
            return Path(f"{self.path}-wal").stat().st_ino
        except OSError:
            return None

    def _refuse_another_log(self, before: int | None) -> None:
        if before is None or self._log() != before:
            raise LedgerFileError(
                f"The log of {self.path} was taken away while it was in use; something may have "
                "been charged, but no receipt was given. Copy a ledger from another process only."
            )

    def _connected(self) -> sqlite3.Connection:
        if filesystem.identity(self.path) != self._file:
            raise LedgerFileError(f"{self.path} was replaced by another file while it was in use.")
        if any(other._inherited() for other in _ALL):
            raise LedgerFileError(
                f"{self.path} was open when this process was forked outside of Python; "
                "start a new process."
            )
        if self._connection is None:
            files.OPEN[self._file] += 1
            try:
                self._connection = ledger_store.connect(self.path, self.patience)
            except BaseException:
                files.OPEN[self._file] -= 1
                raise
            self._process = os.getpid()
        return self._connection

    def _inherited(self) -> bool:
        return self._connection is not None and self._process != os.getpid()


_ALL: weakref.WeakSet[LedgerConnection] = weakref.WeakSet()
_HELD: list[LedgerConnection] = []
_FORKING = threading.RLock()


def _before_fork() -> None:
    _FORKING.acquire()
    for connection in list(_ALL):
        connection.lock.acquire()
        _HELD.append(connection)
        connection.close()


def _after_fork() -> None:
    while _HELD:
        _HELD.pop().lock.release()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
