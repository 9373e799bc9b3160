"""Verification reads the disk, repeats every charge, and compares every byte."""

import hashlib
import json
import sqlite3
from fractions import Fraction

import pytest
from privacy.ledger_file.forging import forge_rows

from dpfair.errors import InputError, LedgerTamperedError
from dpfair.privacy.events import OneOfDpEvent, gaussian_steps, noisy_table
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.ledger_file.rows import Declared

TABLE = noisy_table("1/4", "add_remove")


@pytest.fixture
def ledger(tmp_path):
    ledger = LedgerFile.create(tmp_path / "x.ledger", 3, 1e-5, unit="person", rows_per_unit=2)
    fit = OneOfDpEvent((gaussian_steps(40.0, 1.0, 2), TABLE))
    ledger.charge(fit, scope="", purpose="fit", key="fit")
    ledger.keep("fit", b"result" * 2000)
    ledger.charge(TABLE, scope="a", purpose="count", key="count", new_scope=True)
    ledger.close()
    return ledger


def forge(path, change=lambda seq, body: None, statement="SELECT 1"):
    """Rewrite all rows by ``change(seq, body)`` with a chain that is right."""
    connection = sqlite3.connect(path, isolation_level=None)
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
    ).fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    head = "0" * 64
    for seq, text in connection.execute("SELECT seq, body FROM entry ORDER BY seq").fetchall():
        body = json.loads(text)
        change(seq, body)
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        head = hashlib.sha256((head + text).encode()).hexdigest()
        connection.execute("UPDATE entry SET body = ?, hash = ? WHERE seq = ?", (text, head, seq))
    connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.close()


def test_a_ledger_is_in_order_open_or_closed(ledger):
    closed = ledger.verify()
    assert (closed.rows, closed.charges, closed.image) == (5, 2, True)
    assert closed.head == ledger.head
    assert closed.spent == ledger.spent
    ledger.charge(TABLE, scope="a", purpose="the newest row is in the log only")
    assert ledger.verify().charges == 3


def test_verification_knows_a_head_that_was_written_down(ledger):
    early = ledger.head
    ledger.charge(TABLE, scope="a", purpose="later")
    late = ledger.head
    ledger.verify(head=early)
    ledger.verify(head=late)
    with pytest.raises(LedgerTamperedError, match="rows are missing"):
        ledger.verify(head="0" * 64)
    with pytest.raises(InputError, match="64 hexadecimal digits"):
        ledger.verify(head="abc")


def test_rows_taken_from_the_end_are_found_with_a_head(ledger):
    early = ledger.path.read_bytes()
    ledger.charge(TABLE, scope="a", purpose="embarrassing")
    head = ledger.head
    ledger.close()
    ledger.path.write_bytes(early)
    LedgerFile(ledger.path).verify()  # by itself it looks genuine
    with pytest.raises(LedgerTamperedError, match="rows are missing"):
        LedgerFile(ledger.path).verify(head=head)


def lower(field, amount):
    def change(seq, body):
        if seq == 4:
            body[field] = str(Fraction(body[field]) + amount)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lower("epsilon", Fraction(-1, 10**12)),
        lower("delta", Fraction(1, 10**12)),
        lower("spent", Fraction(-1, 100)),
        lower("spent", Fraction(100)),
        lambda seq, body: body.update(epsilon="1/2") if seq == 0 else None,
        lambda seq, body: body.update(key="fit") if seq == 4 else None,
        lambda seq, body: body.update(scope="a//b") if seq == 4 else None,
        lambda seq, body: body.update(scope="b") if seq == 4 else None,
        lambda seq, body: body.update(scope="b") if seq == 3 else None,
        lambda seq, body: body.update(scope="a/b") if seq == 3 else None,
        lambda seq, body: body.update(scope="") if seq == 3 else None,
        lambda seq, body: body["event"].update(noise_parameter=0.125) if seq == 4 else None,
    ],
    ids=[
        *("own epsilon", "own delta", "spent", "over", "budget", "key twice", "scope"),
        *("other scope", "other declaration", "no parent", "declared anyway", "event"),
    ],
)
def test_amounts_must_follow_from_the_events(ledger, change):
    """Even if the whole chain was made anew."""
    forge(ledger.path, change)
    with pytest.raises(LedgerTamperedError, match=r"Row \d of the ledger"):
        LedgerFile(ledger.path).verify()


@pytest.mark.parametrize("field", ["sha256", "size", "key"])
def test_results_must_be_as_their_rows_say(ledger, field):
    wrong = {"sha256": "0" * 64, "size": 1, "key": "nobody"}[field]
    forge(ledger.path, lambda seq, body: body.update({field: wrong}) if seq == 2 else None)
    with pytest.raises(LedgerTamperedError, match="Row 2"):
        LedgerFile(ledger.path).verify()


def test_another_machine_may_differ_in_the_last_digits(ledger):
    def change(seq, body):
        if seq in (1, 4):
            body["spent"] = str(Fraction(body["spent"]) * (1 + Fraction(1, 10**9)))
        if seq == 1:
            body["epsilon"] = str(Fraction(body["epsilon"]) * (1 - Fraction(1, 10**9)))

    forge(ledger.path, change)
    replayed = LedgerFile(ledger.path)
    with pytest.raises(LedgerTamperedError, match="belong to no row"):  # no row was found wrong
        replayed.verify()


def test_bytes_between_the_rows_are_compared(ledger):
    whole = bytearray(ledger.path.read_bytes())
    free = whole.index(bytes(64), 4096)
    whole[free + 7] ^= 1
    ledger.path.write_bytes(whole)
    with pytest.raises(LedgerTamperedError, match="belong to no row"):
        LedgerFile(ledger.path).verify()


def test_a_refused_file_is_not_left_open(ledger):
    forge(ledger.path, lambda seq, body: body.update(kind="refund") if seq == 4 else None)
    with pytest.raises(LedgerTamperedError) as caught:
        LedgerFile(ledger.path)
    assert caught.tb  # as long as somebody looks at the error, its frames are alive
    assert [p.name for p in ledger.path.parent.iterdir()] == [ledger.path.name]


def test_bytes_after_the_end_are_found(ledger):
    with ledger.path.open("ab") as file:
        file.write(bytes(4096))
    with pytest.raises(LedgerTamperedError, match=r"damaged|belong to no row"):
        LedgerFile(ledger.path).verify()


def test_another_version_of_sqlite_is_said_and_not_accused(ledger):
    """If the pages are the same nevertheless, nothing needs to be said."""
    forge_rows(ledger.path, Declared("elsewhere", sqlite="3.99.0"))
    assert LedgerFile(ledger.path).verify().image
    whole = bytearray(ledger.path.read_bytes())
    free = whole.index(bytes(64), 4096)
    whole[free + 7] ^= 1
    ledger.path.write_bytes(whole)
    assert not LedgerFile(ledger.path).verify().image


def test_nobody_can_claim_that_another_version_wrote(ledger):
    whole = bytearray(ledger.path.read_bytes())
    whole[96:100] = (3_099_000).to_bytes(4, "big")
    ledger.path.write_bytes(whole)
    with pytest.raises(LedgerTamperedError, match="header"):
        LedgerFile(ledger.path).verify()


def test_the_two_counters_of_the_header_agree(ledger):
    whole = bytearray(ledger.path.read_bytes())
    whole[27] ^= 1
    ledger.path.write_bytes(whole)
    with pytest.raises(LedgerTamperedError):
        LedgerFile(ledger.path).verify()


def test_results_without_a_row_are_found(ledger):
    forge(ledger.path, statement="INSERT INTO result VALUES (9, x'00')")
    with pytest.raises(LedgerTamperedError, match="results without a row"):
        LedgerFile(ledger.path).verify()


def test_missing_results_are_found(ledger):
    forge(ledger.path, statement="DELETE FROM result")
    with pytest.raises(LedgerTamperedError, match="Row 2"):
        LedgerFile(ledger.path).verify()


def test_charges_beyond_the_budget_are_found(tmp_path):
    """Somebody lowered the budget afterwards; every amount is right."""
    ledger = LedgerFile.create(tmp_path / "x.ledger", 1, 1e-5)
    ledger.charge(TABLE, scope="", purpose="count")
    ledger.close()
    forge(ledger.path, lambda seq, body: body.update(epsilon="1/8") if seq == 0 else None)
    with pytest.raises(LedgerTamperedError, match="Row 1"):
        LedgerFile(ledger.path).verify()


@pytest.mark.parametrize("row", [1, 4])
def test_every_charge_is_priced_again(ledger, row):
    """An amount that is too low is found in each of the two charges."""

    def cheaper(seq, body):
        if seq == row:
            body["epsilon"] = str(Fraction(body["epsilon"]) * Fraction(999, 1000))

    forge(ledger.path, cheaper)
    with pytest.raises(LedgerTamperedError, match=f"Row {row} .* do not follow from its event"):
        LedgerFile(ledger.path).verify()


def test_a_page_that_belongs_to_nobody_is_found_in_any_layout(ledger):
    whole = bytearray(ledger.path.read_bytes())
    whole[96:100] = (3_050_000).to_bytes(4, "big")
    whole[28:32] = (len(whole) // 4096 + 1).to_bytes(4, "big")
    ledger.path.write_bytes(whole + b"hidden".ljust(4096, b"\0"))
    with pytest.raises(LedgerTamperedError, match="damaged"):
        LedgerFile(ledger.path).verify()
