"""A statement agrees with the ledger, and refuses what the ledger refuses."""

from __future__ import annotations

import sqlite3
from fractions import Fraction

import pytest
from privacy.ledger_file.forging import charge_row, forge_rows

from dpfair.errors import LedgerFileError, LedgerTamperedError
from dpfair.privacy.events import gaussian_steps, noisy_table
from dpfair.privacy.ledger_file import LedgerFile, statement
from dpfair.privacy.ledger_file.rows import BEFORE_ALL, Row, _link
from dpfair.privacy.ledger_file.statement import read_statement

COUNT = noisy_table("1/3", "replace_one")


@pytest.fixture
def ledger(tmp_path):
    return LedgerFile.create(
        tmp_path / "loans.ledger",
        "10/3",
        1e-5,
        name="loans",
        relation="replace_one",
        unit="person",
        rows_per_unit=2,
    )


def as_stated(ledger):
    found = read_statement(ledger.path)
    assert found.opening.name == ledger.name
    assert (float(found.opening.epsilon), float(found.opening.delta)) == (10 / 3, 1e-5)
    assert (found.path, found.head) == (ledger.path, ledger.head)
    assert (found.charges, found.spent) == (len(ledger.entries), ledger.spent)
    assert ["", *found.scopes] == list(ledger.scopes)
    return found


def test_agrees_with_the_ledger_after_every_row(ledger):
    assert as_stated(ledger).spent == 0
    ledger.charge(COUNT, scope="", purpose="count", key="monday")
    assert as_stated(ledger).spent == pytest.approx(2 / 3)
    ledger.keep("monday", b"a result")
    ledger.add_scope("2025")
    ledger.add_scope("2025/north")
    as_stated(ledger)
    ledger.charge(gaussian_steps(40.0, 1.0, 10), scope="2025", purpose="fit")
    ledger.add_scope("2024")
    ledger.charge(COUNT, scope="2024", purpose="count")
    assert as_stated(ledger).charges == 3


def test_a_changed_schema_is_refused(ledger):
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("DROP TRIGGER entry_delete")
    connection.close()
    with pytest.raises(LedgerTamperedError, match="triggers of the ledger were changed"):
        read_statement(ledger.path)


def test_a_row_that_does_not_follow_is_refused(ledger, monkeypatch):
    ledger.charge(COUNT, scope="", purpose="count")
    ledger.charge(COUNT, scope="", purpose="count")
    right = statement.rows_from

    def changed(connection, seq):
        rows = list(right(connection, seq))
        lower = rows[1].body.replace('"spent":"', '"spent":"0')
        return [rows[0], rows[1]._replace(body=lower), *rows[2:]]

    for rows in (changed, lambda *how: [*right(*how)][1:], lambda *how: [*right(*how)][::2]):
        monkeypatch.setattr(statement, "rows_from", rows)
        with pytest.raises(LedgerTamperedError, match="does not follow"):
            read_statement(ledger.path)
    monkeypatch.setattr(statement, "rows_from", lambda *how: [])
    with pytest.raises(LedgerTamperedError, match="is damaged"):
        read_statement(ledger.path)


@pytest.mark.parametrize(
    "body", ["{", "[]", '{"kind":"charge"}', '{"kind":"charge","spent":"1e9"}']
)
def test_a_row_that_cannot_be_read_is_refused(ledger, monkeypatch, body):
    first = first_row(ledger)
    forged = Row(1, body, _link(first.hash, body))
    monkeypatch.setattr(statement, "rows_from", lambda *how: [first, forged])
    with pytest.raises(LedgerTamperedError, match="cannot be read"):
        read_statement(ledger.path)


def first_row(ledger):
    connection = sqlite3.connect(ledger.path)
    found = Row(*connection.execute("SELECT seq, body, hash FROM entry").fetchone())
    connection.close()
    assert found.hash == _link(BEFORE_ALL, found.body)
    return found


def test_a_total_never_falls(ledger):
    forge_rows(ledger.path, charge_row(COUNT, spent="2"), charge_row(COUNT, spent=Fraction(1, 2)))
    assert read_statement(ledger.path).spent == LedgerFile(ledger.path).spent == 2


def test_no_ledger_is_refused(tmp_path):
    with pytest.raises(LedgerFileError, match="There is no ledger file"):
        read_statement(tmp_path / "none.ledger")
    (tmp_path / "text").write_text("text")
    with pytest.raises(LedgerFileError):
        read_statement(tmp_path / "text")
