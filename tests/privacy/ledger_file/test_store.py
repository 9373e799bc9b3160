"""By SQL, a ledger file can only grow, one row at a time."""

import sqlite3
from fractions import Fraction

import pytest

from dpfair.errors import LedgerFileError, LedgerTamperedError
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.rows import Kept, Opening, Row, chained
from dpfair.privacy.ledger_file.store import append, connect, explain, rows_from, write_new

FIRST = chained(None, Opening("", Fraction(1), Fraction(1, 10), "add_remove", "tight", None, 1))
SECOND = chained(FIRST, Kept("key", "0" * 64, 4))


@pytest.fixture
def path(tmp_path):
    write_new(tmp_path / "x.ledger", FIRST)
    return tmp_path / "x.ledger"


@pytest.fixture
def connection(path):
    connection = connect(path)
    yield connection
    connection.close()


def test_a_new_file_is_one_file_with_one_row(path, tmp_path):
    assert [p.name for p in tmp_path.iterdir()] == ["x.ledger"]
    connection = connect(path)
    assert list(rows_from(connection, 0)) == [FIRST]
    assert list(rows_from(connection, 1)) == []
    connection.close()


def test_every_connection_syncs_fully_and_leaves_the_mode(connection):
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET body = 'x'",
        "DELETE FROM entry",
        "INSERT INTO entry VALUES (5, 'x', 'y')",
        "INSERT INTO entry VALUES (0, 'x', 'y')",
        "INSERT INTO entry VALUES (-1, 'x', 'y')",
        "INSERT INTO entry(body, hash) VALUES ('x', 'y')",
        "INSERT OR REPLACE INTO entry VALUES (1, 'x', 'y')",
        "INSERT INTO entry VALUES (2, 'x', NULL)",
        "INSERT INTO result VALUES (0, x'00')",
        "INSERT OR REPLACE INTO result VALUES (1, x'00')",
        "INSERT INTO result VALUES (2, x'00')",
        "UPDATE result SET content = x'00'",
        "DELETE FROM result",
    ],
)
def test_nothing_is_changed_deleted_or_inserted_elsewhere(connection, statement):
    append(connection, SECOND, b"kept")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    assert list(rows_from(connection, 0)) == [FIRST, SECOND]
    assert ledger_store.kept_content(connection, 1) == b"kept"


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entry_update",
        "CREATE TABLE other(x)",
        "CREATE INDEX other ON entry(hash)",
        "CREATE TRIGGER entry_insert AFTER INSERT ON entry BEGIN SELECT 1; END",
        "CREATE VIEW other AS SELECT 1",
    ],
)
def test_a_changed_schema_is_noticed(connection, path, statement):
    connection.execute(statement)
    with pytest.raises(LedgerTamperedError, match="triggers"):
        ledger_store.check_schema(connection)
    with pytest.raises(LedgerTamperedError, match="triggers"):
        connect(path)


@pytest.mark.parametrize("setting", ["application_id = 1", "journal_mode = DELETE"])
def test_another_journal_mode_or_another_application_is_refused(path, setting):
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA {setting}")
    other.close()
    with pytest.raises(LedgerTamperedError, match="no ledger file"):
        connect(path)


def test_odd_names_are_found(tmp_path):
    path = tmp_path / "a b%20c?mode=ro#ü.ledger"
    write_new(path, FIRST)
    connection = connect(path)
    assert list(rows_from(connection, 0)) == [FIRST]
    connection.close()


def test_opening_never_makes_a_file(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        connect(tmp_path / "missing")
    assert not list(tmp_path.iterdir())


def test_rows_of_a_wrong_type_are_noticed():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE entry(seq, body, hash)")
    connection.execute("INSERT INTO entry VALUES (0, x'00', 'y')")
    with pytest.raises(LedgerTamperedError):
        list(rows_from(connection, 0))


def sqlite_error(code, kind=sqlite3.OperationalError):
    error = kind("text")
    error.sqlite_errorname = code
    return error


@pytest.mark.parametrize(
    ("code", "kind", "sentence"),
    [
        ("SQLITE_FULL", LedgerFileError, "no space left"),
        ("SQLITE_BUSY", LedgerFileError, "locked for 60 seconds"),
        ("SQLITE_BUSY_SNAPSHOT", LedgerFileError, "locked for 60 seconds"),
        ("SQLITE_READONLY_DIRECTORY", LedgerFileError, "cannot be opened for writing"),
        ("SQLITE_CANTOPEN", LedgerFileError, "cannot be opened for writing"),
        ("SQLITE_IOERR_FSYNC", LedgerFileError, "IOERR_FSYNC"),
        ("SQLITE_CORRUPT", LedgerTamperedError, "damaged"),
        ("SQLITE_NOTADB", LedgerTamperedError, "damaged"),
        ("SQLITE_CONSTRAINT_TRIGGER", LedgerTamperedError, "damaged"),
    ],
)
def test_every_error_is_a_sentence(tmp_path, code, kind, sentence):
    found = explain(sqlite_error(code), tmp_path)
    assert type(found) is kind
    assert sentence in str(found)


def test_an_error_without_a_code_is_a_sentence_too(tmp_path):
    assert "ProgrammingError" in str(explain(sqlite3.ProgrammingError("closed"), tmp_path))
    garbled = UnicodeDecodeError("utf-8", b"\xb0", 0, 1, "invalid")
    assert type(explain(garbled, tmp_path)) is LedgerTamperedError


def test_the_pages_are_a_function_of_the_rows(tmp_path):
    """Whether written one by one to a file or at once in memory."""
    rows, contents = [FIRST], {}
    write_new(tmp_path / "x", FIRST)
    connection = connect(tmp_path / "x")
    for n in range(120):
        body = "x" * (37 * n % 4000)
        rows.append(Row(n + 1, body, "y" * 64))
        if n % 7 == 0:
            contents[n + 1] = bytes(n * 500)
        append(connection, rows[-1], contents.get(n + 1))
    seen = bytearray(ledger_store.seen_image(connection))
    connection.close()
    expected = bytearray(ledger_store.expected_image(rows, contents))
    for image in (seen, expected):
        image[18:20] = bytes(2)
        for start in (24, 92, 96):
            image[start : start + 4] = bytes(4)
    assert seen == expected


def test_an_old_sqlite_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(ledger_store, "OLDEST_SQLITE", (99, 0, 0))
    with pytest.raises(LedgerFileError, match="needs SQLite"):
        write_new(tmp_path / "x", FIRST)
