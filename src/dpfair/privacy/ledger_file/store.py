"""Rows in an SQLite file that only grows.

The file is in WAL mode and every connection syncs fully: a committed row survives a crash of the
process or the system, and a power failure. The mode is set once, when the file is created, because
two processes that set it at the same time could lock each other out. After every commit the log is
copied into the file (:func:`settle`), so that a copy of the file without its log has every row that
a receipt was given for.

SQL can only append rows. Edits by other means are detected by the chain of hashes
(:mod:`dpfair.privacy.ledger_file.rows`) and by :func:`expected_image`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from dpfair.errors import LedgerFileError, LedgerTamperedError
from dpfair.files import LEDGER_NUMBER
from dpfair.privacy.ledger_file.rows import Row

__all__ = [
    "PATIENCE_SECONDS",
    "all_contents",
    "append",
    "check_schema",
    "connect",
    "expected_image",
    "explain",
    "kept_content",
    "rows_from",
    "seen_image",
    "settle",
    "write_new",
]

# How many seconds a process waits for its turn to write.
PATIENCE_SECONDS = 60.0
OLDEST_SQLITE = (3, 37, 0)  # the first with STRICT tables

_PAGE = 4096

_SCHEMA = {
    "entry": (
        "CREATE TABLE entry(seq INTEGER PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL) STRICT"
    ),
    "result": "CREATE TABLE result(seq INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT",
    "entry_follows": (
        "CREATE TRIGGER entry_follows BEFORE INSERT ON entry "
        "WHEN NEW.seq IS NOT (SELECT coalesce(max(seq) + 1, 0) FROM entry) "
        "BEGIN SELECT RAISE(ABORT, 'a row follows the last one'); END"
    ),
    "result_follows": (
        "CREATE TRIGGER result_follows BEFORE INSERT ON result "
        "WHEN NEW.seq IS NOT (SELECT max(seq) FROM entry) "
        "OR EXISTS (SELECT 1 FROM result WHERE seq = NEW.seq) "
        "BEGIN SELECT RAISE(ABORT, 'a result belongs to the last row'); END"
    ),
    **{
        f"{table}_{verb}": (
            f"CREATE TRIGGER {table}_{verb} BEFORE {verb.upper()} ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END"
        )
        for table in ("entry", "result")
        for verb in ("update", "delete")
    },
}


def connect(path: Path, patience: float = PATIENCE_SECONDS) -> sqlite3.Connection:
    """Open a ledger file that exists, and make sure that it is one.

    ``patience`` is how many seconds a transaction waits for those of other processes.
    """
    _refuse_old_sqlite()
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode=rw",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA synchronous = FULL")
        [application] = connection.execute("PRAGMA application_id").fetchone()
        [mode] = connection.execute("PRAGMA journal_mode").fetchone()
        if application != LEDGER_NUMBER or mode != "wal":
            raise LedgerTamperedError(f"{path} is damaged, or no ledger file.")
        check_schema(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def write_new(path: Path, first: Row) -> None:
    """Turn an empty file into a ledger with one row; closing it leaves a single file."""
    _refuse_old_sqlite()
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _build(connection, [first], {})
    finally:
        connection.close()


def check_schema(connection: sqlite3.Connection) -> None:
    """The tables and triggers are exactly those that dpfair makes."""
    found = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY rowid").fetchall()
    if found != list(_SCHEMA.items()):
        raise LedgerTamperedError("The tables or triggers of the ledger were changed.")


def rows_from(connection: sqlite3.Connection, seq: int) -> Iterator[Row]:
    """The rows from a number on."""
    found = connection.execute(
        "SELECT seq, body, hash FROM entry WHERE seq >= ? ORDER BY seq", (seq,)
    )
    for row in map(Row._make, found):
        # A damaged page may hold other types than its table declares.
        if list(map(type, row)) != [int, str, str]:
            raise LedgerTamperedError("A row of the ledger cannot be read.")
        yield row


def append(connection: sqlite3.Connection, row: Row, content: bytes | None = None) -> None:
    """Write the next row, and the content that it describes."""
    connection.execute("INSERT INTO entry(seq, body, hash) VALUES (?, ?, ?)", row)
    if content is not None:
        connection.execute("INSERT INTO result(seq, content) VALUES (?, ?)", (row.seq, content))


def settle(connection: sqlite3.Connection, path: Path, patience: float = PATIENCE_SECONDS) -> None:
    """Copy the log into the file, and wait until that is on the disk."""
    give_up = time.monotonic() + patience
    while True:
        # SQLite waits for readers and writers, but not for another process that copies the log.
        [busy, _, _] = connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
        if not busy:
            return
        if time.monotonic() > give_up:
            raise LedgerFileError(
                f"Another process kept {path} locked for {patience:g} seconds; something "
                "may have been charged, but no receipt was given."
            )
        time.sleep(0.001)


def kept_content(connection: sqlite3.Connection, seq: int) -> bytes | None:
    """What is kept with a row."""
    found = connection.execute("SELECT content FROM result WHERE seq = ?", (seq,)).fetchone()
    return found[0] if found is not None and type(found[0]) is bytes else None


def all_contents(connection: sqlite3.Connection) -> dict[int, bytes]:
    """Everything that is kept, by the number of its row."""
    found = connection.execute("SELECT seq, content FROM result ORDER BY seq")
    return {seq: content for seq, content in found if type(content) is bytes}


def seen_image(connection: sqlite3.Connection) -> bytes:
    """All pages of the file, as SQLite sees them (the newest may still be in the log)."""
    return connection.serialize()


def expected_image(rows: Iterable[Row], contents: Mapping[int, bytes]) -> bytes:
    """The pages that the same rows make in a new file, written in the same order."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        _build(connection, rows, contents)
        return connection.serialize()
    finally:
        connection.close()


def explain(
    error: sqlite3.Error | UnicodeDecodeError, path: Path, patience: float = PATIENCE_SECONDS
) -> LedgerFileError:
    """SQLite's error as a sentence; a damaged file may cause an unreadable one."""
    name = str(getattr(error, "sqlite_errorname", ""))
    what = name.removeprefix("SQLITE_").split("_")[0]
    damaged = what in ("CORRUPT", "NOTADB", "FORMAT", "SCHEMA", "CONSTRAINT", "MISMATCH", "ERROR")
    if damaged or isinstance(error, UnicodeDecodeError):
        return LedgerTamperedError(f"{path} is damaged, or no ledger file.")
    if what == "FULL":
        return LedgerFileError(f"There is no space left for {path}; no receipt was given.")
    if what in ("BUSY", "LOCKED"):
        return LedgerFileError(
            f"Another process kept {path} locked for {patience:g} seconds; no receipt was "
            "given. Try again."
        )
    if what in ("READONLY", "PERM", "CANTOPEN", "AUTH"):
        return LedgerFileError(f"{path} cannot be opened for writing, or its folder cannot.")
    return LedgerFileError(
        f"{path} could not be read or written ({name or type(error).__name__}); no receipt was "
        "given."
    )


def _build(
    connection: sqlite3.Connection, rows: Iterable[Row], contents: Mapping[int, bytes]
) -> None:
    connection.execute(f"PRAGMA application_id = {LEDGER_NUMBER}")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA.values():
        connection.execute(statement)
    for row in rows:
        append(connection, row, contents.get(row.seq))
    connection.execute("COMMIT")


def _refuse_old_sqlite() -> None:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise LedgerFileError(
            f"A ledger file needs SQLite 3.37 or later, this Python has {sqlite3.sqlite_version}."
        )
