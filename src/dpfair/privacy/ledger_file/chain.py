"""The chain of rows in a ledger file, as far as this process has read it.

Other processes append rows at any time. So every use of the chain reads the new rows first, and
checks that the rows read before are still there.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from dpfair.errors import InputError, LedgerTamperedError, PaidBeforeError
from dpfair.privacy.events import DpEvent
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.connection import LedgerConnection
from dpfair.privacy.ledger_file.request import Request
from dpfair.privacy.ledger_file.rows import (
    Charge,
    Content,
    Declared,
    Kept,
    Opening,
    Row,
    chained,
    read_row,
)
from dpfair.privacy.ledger_file.scopes import Scopes
from dpfair.privacy.tally import Amount

__all__ = ["Append", "Chain"]

MAX_RESULT_BYTES = 1 << 28


class _Job(NamedTuple):
    """What was charged under a key."""

    job: str
    scope: str
    event: frozenset[tuple[DpEvent, int]]


class Append(Protocol):
    """Write the next row, and the result that it describes."""

    def __call__(self, content: Content, result: bytes | None = None) -> Row: ...


class Chain:
    """The rows of a ledger file.

    Parameters
    ----------
    path, patience
        As in :class:`dpfair.privacy.ledger_file.connection.LedgerConnection`.

    Attributes
    ----------
    opening
        What the first row says.
    head
        The last row read.
    history
        All charges read, oldest first.
    paid
        The same by the hash of their rows.
    scopes
        The declared scopes.
    on_charge
        Called with every charge that is read, before the chain counts it as read.
    """

    def __init__(self, path: str | Path, patience: float) -> None:
        self.file = LedgerConnection(path, patience)
        self.history: list[Charge] = []
        self.paid: dict[str, Charge] = {}
        self.scopes = Scopes()
        self.on_charge: Callable[[Charge, Amount], None] = lambda charge, amount: None
        self._jobs: dict[str, _Job] = {}
        self._results: dict[str, tuple[int, Kept]] = {}
        with self.file.transaction() as connection:
            first = next(ledger_store.rows_from(connection, 0), None)
        if first is None:
            raise LedgerTamperedError(f"{self.file.path} is damaged, or no ledger file.")
        opening = read_row(None, first)
        assert isinstance(opening, Opening)
        self.opening, self.head = opening, first

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that has read all rows."""
        with self.file.transaction() as connection:
            self._catch_up(connection)
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Append]:
        """A transaction that appends rows; they count as read when they are on the disk."""
        written: list[tuple[Row, Content]] = []
        with self.file.lock:
            with self.file.transaction(write=True) as connection:
                self._catch_up(connection)

                def append(content: Content, result: bytes | None = None) -> Row:
                    row = chained(written[-1][0] if written else self.head, content)
                    ledger_store.append(connection, row, result)
                    written.append((row, content))
                    return row

                yield append
            for row, content in written:
                self._learn(row, content)

    def refresh(self) -> None:
        """Read what other processes wrote."""
        with self.reading():
            pass

    def refuse_used_key(self, request: Request) -> None:
        """Raise an error if a job was charged under the key of this one."""
        if request.key is None or request.key not in self._jobs:
            return
        known = self._jobs[request.key]
        # Another machine calibrates noise that differs in its last digits.
        same = bool(request.job) or known.event == request.amount.identity
        if not (same and (known.job, known.scope) == (request.job, request.scope)):
            raise InputError(
                f"The key {request.key!r} belongs to another job, with other settings; give this "
                "one a key of its own."
            )
        raise PaidBeforeError(
            f"The job {request.key!r} was charged before; nothing is drawn again."
        )

    def keep(self, key: str, result: bytes) -> None:
        """Keep the result of a charged job, once."""
        if len(result) > MAX_RESULT_BYTES:
            raise InputError(f"Expected a result of at most {MAX_RESULT_BYTES >> 20} MiB.")
        kept = Kept(key, hashlib.sha256(result).hexdigest(), len(result))
        with self.writing() as append:
            if key not in self._jobs:
                raise InputError(f"No job {key!r} was charged to {self.file.path}.")
            if key not in self._results:
                append(kept, result)
            elif self._results[key][1].sha256 != kept.sha256:
                raise InputError(f"The job {key!r} has another result already.")

    def kept(self, key: str) -> bytes | None:
        """The result that a job kept, or None."""
        with self.reading() as connection:
            if key not in self._results:
                return None
            seq, kept = self._results[key]
            result = ledger_store.kept_content(connection, seq)
        if result is None or hashlib.sha256(result).hexdigest() != kept.sha256:
            raise LedgerTamperedError(f"The kept result of the job {key!r} was changed.")
        return result

    def export(self) -> Iterator[str]:
        """Every row as a line of JSON."""
        with self.reading() as connection:
            rows = list(ledger_store.rows_from(connection, 0))
        return (json.dumps(row._asdict()) for row in rows)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        ledger_store.check_schema(connection)
        rows = ledger_store.rows_from(connection, self.head.seq)
        if next(rows, None) != self.head:
            raise LedgerTamperedError(f"{self.file.path} lost rows that it had before.")
        for row in rows:
            self._learn(row, read_row(self.head, row))

    def _learn(self, row: Row, content: Content) -> None:
        if isinstance(content, Declared):
            self.scopes.add(content.scope)
        elif isinstance(content, Charge):
            amount = Amount.of(content.event)
            self.on_charge(content, amount)
            self.paid[row.hash] = content
            self.history.append(content)
            if content.key is not None:
                self._jobs[content.key] = _Job(content.job, content.scope, amount.identity)
        elif isinstance(content, Kept):
            self._results[content.key] = row.seq, content
        self.head = row
