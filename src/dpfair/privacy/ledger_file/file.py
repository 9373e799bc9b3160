"""A privacy budget that outlives the process: one file per data set, shared by all its jobs."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from numbers import Rational
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from dpfair.errors import BudgetError, InputError, LedgerTamperedError, PaidBeforeError
from dpfair.privacy import room
from dpfair.privacy.accountants import cost
from dpfair.privacy.events import DpEvent
from dpfair.privacy.ledger import Entry, Ledger, Receipt
from dpfair.privacy.ledger_file import filesystem
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.connection import LedgerConnection
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
from dpfair.privacy.noise import Noise
from dpfair.privacy.tally import Amount

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file.verify import Verified

__all__ = ["LedgerFile"]

LONGEST_WORD = 1000
LARGEST_RESULT = 1 << 28


class _Job(NamedTuple):
    """What was charged under a key."""

    job: str
    scope: str
    event: frozenset[tuple[DpEvent, int]]


class LedgerFile(Ledger):
    """A privacy budget in a file.

    ``LedgerFile.create`` makes the file, ``LedgerFile(path)`` opens it. Any number of processes
    and threads of one machine may charge it at the same time.

    Parameters
    ----------
    path
        The file. It must be closed to other users and lie on a local disk.
    noise
        The source of all noise that the receipts draw.

    Attributes
    ----------
    path, name, unit
        Where it lies, what the data set is called, and the column that identifies a person.

    Privacy
    -------
    A receipt exists only after its charge is on the disk, so a crash may waste budget and never
    releases anything unpaid. A charge is never taken back. Copies of this object (also by a fork)
    are handles on the same file, never a second budget.

    A scope is declared before it is charged, and one that looks like another is refused
    (:mod:`dpfair.privacy.ledger_file.scopes`): a misspelt scope would have a budget of its own.

    Jobs may be chosen after seeing the results of earlier ones: charges are composed by a filter
    (:mod:`dpfair.privacy.adaptive`), unless the file was made for jobs that are planned beforehand.

    Examples
    --------
    >>> import tempfile
    >>> from dpfair.privacy.events import noisy_table
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = LedgerFile.create(f"{folder.name}/loans.ledger", "1", 1e-5, name="loans")
    >>> event = noisy_table("1/2", "add_remove")
    >>> receipt = ledger.charge(event, scope="", purpose="count the loans", key="monday")
    >>> LedgerFile(ledger.path).spent
    0.5
    >>> ledger.charge(event, scope="", purpose="count the loans", key="monday")
    Traceback (most recent call last):
    dpfair.errors.PaidBeforeError: The job 'monday' was charged before; nothing is drawn again.
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, path: str | Path, *, noise: Noise | None = None) -> None:
        self._file = LedgerConnection(path)
        self._history: list[Charge] = []
        self._scopes = Scopes()
        self._jobs: dict[str, _Job] = {}
        self._results: dict[str, tuple[int, Kept]] = {}
        self._paid: dict[str, Charge] = {}
        try:
            with self._file.transaction() as connection:
                self._head = next(ledger_store.rows_from(connection, 0), None)
                self._open(noise)
                self._catch_up(connection)
        except BaseException:
            self._file.close()
            raise

    @classmethod
    def create(
        cls,
        path: str | Path,
        epsilon: float | Fraction | str,
        delta: float | Fraction | str,
        *,
        name: str = "",
        relation: str = "add_remove",
        planned: bool = False,
        unit: str | None = None,
        rows_per_unit: int = 1,
    ) -> LedgerFile:
        """Make a new ledger file; one that exists is never overwritten.

        ``planned`` says that which jobs will be done is decided before the first result is seen;
        then they are composed tightly, which is cheaper and else wrong. ``unit`` is the column that
        identifies a person, with ``rows_per_unit`` records at most; the other parameters are those
        of :class:`dpfair.privacy.ledger.Ledger`.
        """
        exact_delta = _exact_delta(delta)
        checked = Ledger(
            epsilon,
            float(exact_delta),
            relation=relation,
            composition="tight" if planned else "adaptive",
            rows_per_unit=rows_per_unit,
        )
        if unit is None and rows_per_unit != 1:
            raise InputError("rows_per_unit needs unit, the column that identifies a person.")
        opening = Opening(
            name=_word("name", name),
            epsilon=checked.budget_epsilon,
            delta=exact_delta,
            relation=relation,
            composition=checked.composition,
            unit=None if unit is None else _word("unit", unit),
            rows_per_unit=checked.rows_per_unit,
        )
        first = chained(None, opening)
        try:
            read_row(None, first)
        except LedgerTamperedError as error:
            raise InputError("Expected epsilon and delta of at most 2000 digits.") from error
        filesystem.create_once(
            Path(path).resolve(), lambda draft: ledger_store.write_new(draft, first)
        )
        return cls(path)

    def __reduce__(self) -> tuple[object, tuple[Path, Noise]]:
        return _reopened, (self.path, self.noise)

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self._file.path

    @property
    def head(self) -> str:
        """The hash of the last row; whoever writes it down can show later that none is missing."""
        self._refresh()
        return self._last.hash

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges so far, oldest first."""
        self._refresh()
        return super().entries

    @property
    def history(self) -> tuple[Charge, ...]:
        """All charges with their times, keys and exact amounts, oldest first."""
        self._refresh()
        return tuple(self._history)

    @property
    def spent(self) -> float:
        """The epsilon per person spent so far, by all jobs, at the budget's delta."""
        self._refresh()
        return super().spent

    @property
    def scopes(self) -> dict[str, float]:
        """The declared scopes, and the epsilon that a person in them has paid at most so far."""
        self._refresh()
        paid = {scope: self._tally.paid(scope) for scope in self._scopes if scope}
        return {"": self.spent} | {s: float(p * self.rows_per_unit) for s, p in paid.items()}

    def add_scope(self, scope: str) -> None:
        """Declare a part of the data set; what contains it must be declared already.

        The declaration is a row of the chain. Doing it twice changes nothing.
        """
        _word("scope", scope)
        with self._file.lock:
            with self._file.transaction(write=True) as connection:
                self._catch_up(connection)
                self._scopes.check(scope, new=True)
                written = self._append(connection, *self._undeclared(scope))
            self._learn_all(written)

    def largest(self, kind: room.Kind | None = None, *, scope: str = "") -> float | None:
        """The largest epsilon of a next job that would be granted now, rounded down to four digits.

        Without a ``kind``, of a pure job: one that costs (epsilon, 0). None if there is no room for
        a ten-thousandth of the budget.
        """
        self._refresh()
        self._scopes.check(scope)
        return self._largest(self._pure if kind is None else kind, scope)

    def charge(
        self,
        event: DpEvent,
        *,
        scope: str,
        purpose: str,
        key: str | None = None,
        job: str = "",
        new_scope: bool = False,
        kind: room.Kind | None = None,
    ) -> Receipt:
        """Record the cost of an event on a scope, durably, before any noise is drawn.

        Under a ``key`` an event can be charged once. A job that is tried again takes what it
        :meth:`kept`, if it came that far; else it is refused, because with fresh noise it would
        release more than was paid for. ``job`` is any text that tells jobs apart, such as a
        digest of their settings; another one under the same key is an error.

        ``new_scope`` declares the scope together with the charge, if it was not declared before. A
        refusal names the largest epsilon that would be granted to this ``kind`` of job.
        """
        # Most refusals need no lock: what is spent never falls, and a key stays used.
        amount = self._check(event, scope, purpose, key, job, new_scope, kind)
        row_delta = self.row_budget[1]
        own = cost(event, row_delta, self.relation)
        with self._naming_what_fits(kind, scope), self._file.lock:
            with self._file.transaction(write=True) as connection:
                self._catch_up(connection)
                self._refuse_known(key, job, scope, amount)
                self._scopes.check(scope, new=new_scope)
                total = self._affordable(amount, scope, purpose)
                content = Charge(
                    scope=scope,
                    purpose=purpose,
                    key=key,
                    job=job,
                    event=event,
                    epsilon=own,
                    delta=Fraction(row_delta if amount.pure is None else 0),
                    spent=total * self.rows_per_unit,
                )
                written = self._append(connection, *self._undeclared(scope), content)
            self._learn_all(written)
        return Receipt(event, self.noise, scope, written[-1][0].hash)

    def check(
        self,
        event: DpEvent,
        *,
        scope: str,
        purpose: str,
        key: str | None = None,
        job: str = "",
        new_scope: bool = False,
        kind: room.Kind | None = None,
    ) -> None:
        """Raise what :meth:`charge` would raise, and charge nothing."""
        self._check(event, scope, purpose, key, job, new_scope, kind)

    def restrict(self, charges: Iterable[tuple[str, DpEvent]]) -> NoReturn:
        """A plan restricts the ledger of one fit; a file serves many."""
        raise InputError("A ledger file cannot be restricted to the plan of one fit.")

    def paid(self, row: str) -> Charge | None:
        """The charge of the row with this hash, if there is one."""
        self._refresh()
        return self._paid.get(row)

    def keep(self, key: str, content: bytes) -> None:
        """Keep the released result of a charged job, once."""
        if len(content) > LARGEST_RESULT:
            raise InputError(f"Expected a result of at most {LARGEST_RESULT >> 20} MiB.")
        kept = Kept(key, hashlib.sha256(content).hexdigest(), len(content))
        with self._file.lock:
            with self._file.transaction(write=True) as connection:
                self._catch_up(connection)
                if key not in self._jobs:
                    raise InputError(f"No job {key!r} was charged to {self.path}.")
                if key in self._results:
                    if self._results[key][1].sha256 != kept.sha256:
                        raise InputError(f"The job {key!r} has another result already.")
                    return
                row = chained(self._last, kept)
                ledger_store.append(connection, row, content)
            self._learn(row, kept)

    def kept(self, key: str) -> bytes | None:
        """The result that a job kept, or None."""
        with self._file.transaction() as connection:
            self._catch_up(connection)
            if key not in self._results:
                return None
            seq, kept = self._results[key]
            content = ledger_store.kept_content(connection, seq)
        if content is None or hashlib.sha256(content).hexdigest() != kept.sha256:
            raise LedgerTamperedError(f"The kept result of the job {key!r} was changed.")
        return content

    def export(self) -> Iterator[str]:
        """Every row as a line of JSON with ``seq``, ``body`` and ``hash``.

        The chain can be checked by a few lines in any language.
        """
        with self._file.transaction() as connection:
            self._catch_up(connection)
            rows = list(ledger_store.rows_from(connection, 0))
        return (json.dumps(row._asdict()) for row in rows)

    def verify(self, *, head: str | None = None) -> Verified:
        """Read everything from the disk again, and raise ``LedgerTamperedError`` if it is wrong.

        ``head`` is a hash that was written down earlier: the chain must contain it. Without one,
        a file that somebody brought back to an earlier state looks genuine.
        """
        from dpfair.privacy.ledger_file.verify import verify

        if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
            raise InputError("Expected head to be the hash of a row, 64 hexadecimal digits.")
        return verify(self.path, head)

    def close(self) -> None:
        """Close the file until it is used again."""
        self._file.close()

    @property
    def _last(self) -> Row:
        assert self._head is not None
        return self._head

    def _open(self, noise: Noise | None) -> None:
        if self._head is None:
            raise LedgerTamperedError(f"{self.path} is damaged, or no ledger file.")
        opening = read_row(None, self._head)
        assert isinstance(opening, Opening)
        try:
            super().__init__(
                opening.epsilon,
                float(opening.delta),
                relation=opening.relation,
                composition=opening.composition,
                rows_per_unit=opening.rows_per_unit,
                noise=noise,
            )
        except InputError as error:
            raise LedgerTamperedError("Row 0 of the ledger states an impossible budget.") from error
        self.name, self.unit = opening.name, opening.unit

    def _refresh(self) -> None:
        with self._file.transaction() as connection:
            self._catch_up(connection)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Learn what other processes charged, and that the rows known so far are still there."""
        ledger_store.check_schema(connection)
        rows = ledger_store.rows_from(connection, self._last.seq)
        if next(rows, None) != self._last:
            raise LedgerTamperedError(f"{self.path} lost rows that it had before.")
        for row in rows:
            self._learn(row, read_row(self._last, row))

    def _undeclared(self, scope: str) -> list[Declared]:
        return [] if scope in self._scopes else [Declared(scope)]

    def _append(
        self, connection: sqlite3.Connection, *contents: Content
    ) -> list[tuple[Row, Content]]:
        """Write rows; they are learnt when they are on the disk."""
        written: list[tuple[Row, Content]] = []
        for content in contents:
            row = chained(written[-1][0] if written else self._last, content)
            ledger_store.append(connection, row)
            written.append((row, content))
        return written

    def _learn_all(self, written: list[tuple[Row, Content]]) -> None:
        for row, content in written:
            self._learn(row, content)

    def _learn(self, row: Row, content: Content) -> None:
        if isinstance(content, Declared):
            self._scopes.add(content.scope)
        elif isinstance(content, Charge):
            amount = Amount.of(content.event)
            self._tally.add(content.scope, amount, content.spent / self.rows_per_unit)
            entry = Entry(
                content.scope,
                content.purpose,
                content.event,
                float(content.epsilon),
                float(content.delta),
            )
            self._entries.append(entry)
            self._paid[row.hash] = content
            self._history.append(content)
            if content.key is not None:
                self._jobs[content.key] = _Job(content.job, content.scope, amount.identity)
        elif isinstance(content, Kept):
            self._results[content.key] = row.seq, content
        self._head = row

    def _check(
        self,
        event: DpEvent,
        scope: str,
        purpose: str,
        key: str | None,
        job: str,
        new_scope: bool,
        kind: room.Kind | None,
    ) -> Amount:
        _word("scope", scope)
        _word("purpose", purpose)
        _word("job", job)
        if key is not None and not _word("key", key):
            raise InputError("Expected a key that is not empty, or None.")
        amount = Amount.of(event)
        with self._naming_what_fits(kind, scope), self._file.lock:
            self._refresh()
            self._refuse_known(key, job, scope, amount)
            self._scopes.check(scope, new=new_scope)
            self._affordable(amount, scope, purpose)
        return amount

    @contextmanager
    def _naming_what_fits(self, kind: room.Kind | None, scope: str) -> Iterator[None]:
        """A refusal says what would be granted; it is looked for after all locks are released."""
        try:
            yield
        except BudgetError as error:
            kind = self._pure if kind is None else kind
            found = self._largest(kind, scope)
            most = "No epsilon" if found is None else f"At most epsilon {found:g}"
            raise BudgetError(f"{error} {most} would be granted to {kind.name}.") from error

    @property
    def _pure(self) -> room.Kind:
        return room.pure(self.relation, self.rows_per_unit, self.epsilon)

    def _largest(self, kind: room.Kind, scope: str) -> float | None:
        def excess(event: DpEvent) -> Fraction:
            amount = Amount.of(event)
            with self._file.lock:
                return self._tally.total(scope, amount) - self.row_budget[0]

        return room.largest(kind, excess, room.LEAST * self.epsilon)

    def _refuse_known(self, key: str | None, job: str, scope: str, amount: Amount) -> None:
        if key is None or key not in self._jobs:
            return
        known = self._jobs[key]
        # Another machine calibrates noise that differs in its last digits.
        same = bool(job) or known.event == amount.identity
        if not (same and (known.job, known.scope) == (job, scope)):
            raise InputError(
                f"The key {key!r} belongs to another job, with other settings; give this one a key "
                "of its own."
            )
        raise PaidBeforeError(f"The job {key!r} was charged before; nothing is drawn again.")


def _reopened(path: Path, noise: Noise) -> LedgerFile:
    return LedgerFile(path, noise=noise)


def _exact_delta(delta: float | Fraction | str) -> Fraction:
    """A delta as it was written: 1e-5 is one in a hundred thousand."""
    try:
        exact = Fraction(delta) if isinstance(delta, Rational) else _rational(str(delta))
        if 0 < float(exact) < 1:
            return exact
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        pass
    raise InputError(f"Expected 0 < delta < 1, got {delta}.")


def _rational(text: str) -> Fraction:
    # A tiny text may mean a number that fills the memory.
    return Fraction(text) if "/" in text or 0 < float(text) < 1 else Fraction(0)


def _word(what: str, text: str) -> str:
    if not isinstance(text, str) or len(text) > LONGEST_WORD:
        raise InputError(f"Expected {what} to be a text of at most {LONGEST_WORD} characters.")
    return text
