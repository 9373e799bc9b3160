"""Rows that LedgerFile would not write, and rows that other processes write at the worst moment."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from dpfair.privacy.events import pure_epsilon
from dpfair.privacy.ledger_file import filesystem
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.connection import LedgerConnection
from dpfair.privacy.ledger_file.opening import checked_opening
from dpfair.privacy.ledger_file.rows import BEFORE_ALL, Charge, Row, chained


def charge_row(event, scope="", *, spent=None, key=None):
    """The row of a pure charge, without any check."""
    own = pure_epsilon(event)
    total = own if spent is None else Fraction(spent)
    return Charge(scope, "forged", key, "", event, own, Fraction(0), total)


def write_rows(connection, *contents):
    """Append rows to the chain, whatever they say."""
    *_, last = ledger_store.rows_from(connection, 0)
    for content in contents:
        last = chained(last, content)
        ledger_store.append(connection, last)


def forge_rows(path, *contents):
    with LedgerConnection(path).transaction(write=True) as connection:
        write_rows(connection, *contents)


def make_first_format(path):
    """A ledger as the first version of the format had it."""
    opening = checked_opening(
        1, 1e-5, name="", relation="add_remove", planned=False, unit=None, rows_per_unit=1
    )
    body = chained(None, opening).body.replace('"format":2', '"format":1')
    first = Row(0, body, hashlib.sha256((BEFORE_ALL + body).encode()).hexdigest())
    filesystem.create_once(Path(path), lambda draft: ledger_store.write_new(draft, first))


@contextmanager
def written_meanwhile(path, *contents):
    """Rows that another process writes after a charge was checked and before it is written.

    The other process has the lock when the body starts. A check needs no lock, so the charge of
    the body gets as far as the lock and waits there; then the rows are written.
    """
    locked = threading.Event()

    def other():
        with LedgerConnection(path).transaction(write=True) as connection:
            locked.set()
            time.sleep(0.3)
            write_rows(connection, *contents)

    thread = threading.Thread(target=other)
    thread.start()
    locked.wait()
    try:
        yield
    finally:
        thread.join()


def held_open(path):
    """A reader that keeps the log of the file there, as another process would."""
    reader = sqlite3.connect(path)
    reader.execute("SELECT count(*) FROM entry").fetchall()
    return reader
