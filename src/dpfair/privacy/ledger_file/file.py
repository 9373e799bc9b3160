"""A privacy budget in a file: one file per data set, shared by all its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from dpfair.errors import BudgetError, InputError, LedgerTamperedError
from dpfair.privacy import room
from dpfair.privacy.accountants import cost
from dpfair.privacy.events import DpEvent
from dpfair.privacy.journal import journal_place
from dpfair.privacy.ledger import Entry, Ledger, Receipt
from dpfair.privacy.ledger_file.chain import Chain
from dpfair.privacy.ledger_file.opening import checked_opening, write_ledger
from dpfair.privacy.ledger_file.request import Request
from dpfair.privacy.ledger_file.rows import Charge, Declared, checked_text
from dpfair.privacy.ledger_file.store import PATIENCE_SECONDS
from dpfair.privacy.noise import Noise
from dpfair.privacy.tally import Amount, Tally

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file.verify import Verified

__all__ = ["LedgerFile"]


class LedgerFile(Ledger):
    """A privacy budget in a file.

    ``LedgerFile.create`` makes the file, ``LedgerFile(path)`` opens it. Any number of processes
    and threads of one machine may charge it at the same time.

    Parameters
    ----------
    path
        The file. Other users must not have access to it, and it must be on a local disk.
    noise
        The source of all noise that the receipts draw.
    patience
        How many seconds to wait for other processes that charge the file.

    Attributes
    ----------
    path, name, unit
        Where the file is, the name of the data set, and the column that identifies a person.

    Privacy
    -------
    A receipt exists only after its charge is on the disk, so a crash may waste budget but never
    releases anything unpaid. A charge is never refunded. Copies of this object (also by a fork)
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

    def __init__(
        self, path: str | Path, *, noise: Noise | None = None, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._chain = Chain(path, patience)
        opening = self._chain.opening
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
        self._chain.on_charge = partial(_count, self._tally, self._entries, self.rows_per_unit)
        self._chain.refresh()

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
        """Create a ledger file; an existing file is never overwritten.

        ``planned`` states that all jobs are decided before the first result is seen; only then may
        they be composed tightly, which costs less. ``unit`` is the column that
        identifies a person, with ``rows_per_unit`` records at most; the other parameters are those
        of :class:`dpfair.privacy.ledger.Ledger`.
        """
        opening = checked_opening(
            epsilon,
            delta,
            name=name,
            relation=relation,
            planned=planned,
            unit=unit,
            rows_per_unit=rows_per_unit,
        )
        write_ledger(Path(path), opening)
        return cls(path)

    def __reduce__(self) -> tuple[object, tuple[Path, Noise, float]]:
        return _reopened, (self.path, self.noise, self._chain.file.patience)

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self._chain.file.path

    @property
    def head(self) -> str:
        """The hash of the last row. Record it elsewhere to detect missing rows later."""
        self._chain.refresh()
        return self._chain.head.hash

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges so far, oldest first."""
        self._chain.refresh()
        return super().entries

    @property
    def history(self) -> tuple[Charge, ...]:
        """All charges with their times, keys and exact amounts, oldest first."""
        self._chain.refresh()
        return tuple(self._chain.history)

    @property
    def spent(self) -> float:
        """The epsilon per person spent so far, by all jobs, at the budget's delta."""
        self._chain.refresh()
        return super().spent

    @property
    def scopes(self) -> dict[str, float]:
        """The declared scopes, and the epsilon that a person in them has paid at most so far."""
        self._chain.refresh()
        paid = {scope: self._tally.paid(scope) for scope in self._chain.scopes if scope}
        return {"": self.spent} | {s: float(p * self.rows_per_unit) for s, p in paid.items()}

    def add_scope(self, scope: str) -> None:
        """Declare a part of the data set; what contains it must be declared already.

        The declaration is a row of the chain. Doing it twice changes nothing.
        """
        checked_text("scope", scope)
        with self._chain.writing() as append:
            self._chain.scopes.check(scope, new=True)
            if scope not in self._chain.scopes:
                append(Declared(scope))

    def largest(self, kind: room.Kind | None = None, *, scope: str = "") -> float | None:
        """The largest epsilon of a next job that would be granted now, rounded down to four digits.

        Without a ``kind``, of a pure job: one that costs (epsilon, 0). None if there is no room for
        a ten-thousandth of the budget.
        """
        self._chain.refresh()
        self._chain.scopes.check(scope)
        return self._largest(kind or self._pure, scope)

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

        Under a ``key`` an event can be charged once. A job that is repeated uses its :meth:`kept`
        result, if there is one. Otherwise it is refused, because with fresh noise it would release
        more than was paid for. ``job`` is a text that identifies the job, such as a digest of its
        settings; a different one under the same key is an error.

        ``new_scope`` declares the scope together with the charge, if it was not declared before. A
        refusal names the largest epsilon that would be granted to this ``kind`` of job.
        """
        request = Request(event, scope, purpose, key, job, new_scope, kind or self._pure)
        # Most refusals need no lock: the amount spent never falls, and a key stays used.
        self._check(request)
        row_delta = self.row_budget[1]
        own = cost(event, row_delta, self.relation)
        with self._naming_what_fits(request), self._chain.writing() as append:
            total = self._total_with(request)
            if scope not in self._chain.scopes:
                append(Declared(scope))
            row = append(
                Charge(
                    scope=scope,
                    purpose=purpose,
                    key=key,
                    job=job,
                    event=event,
                    epsilon=own,
                    delta=Fraction(row_delta if request.amount.pure is None else 0),
                    spent=total * self.rows_per_unit,
                )
            )
        return Receipt(event, self.noise, scope, row.hash)

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
    ) -> float:
        """Raise what :meth:`charge` would raise, and charge nothing.

        The result is what would then be ``spent``.
        """
        request = Request(event, scope, purpose, key, job, new_scope, kind or self._pure)
        return float(self._check(request) * self.rows_per_unit)

    def seal(self) -> NoReturn:
        """Do nothing: a plan seals the ledger of one fit, but a file has charges of many."""
        raise InputError("A ledger file cannot be sealed: it serves many jobs.")

    def paid(self, row: str) -> Charge | None:
        """The charge of the row with this hash, if there is one."""
        self._chain.refresh()
        return self._chain.paid.get(row)

    def row_of(self, key: str) -> str | None:
        """The hash of the row with the charge of this job, if there is one."""
        self._chain.refresh()
        return next((row for row, paid in self._chain.paid.items() if paid.key == key), None)

    def keep(self, key: str, content: bytes) -> None:
        """Keep the released result of a charged job, once; its journal is then removed."""
        self._chain.keep(key, content)
        with suppress(OSError):
            journal_place(self.path, key).unlink()

    def kept(self, key: str) -> bytes | None:
        """The result that a job kept, or None."""
        return self._chain.kept(key)

    def resumable(self, key: str) -> bool:
        """Whether a job that was charged can go on: it has a journal, and kept no result."""
        return self.kept(key) is None and journal_place(self.path, key).exists()

    def export(self) -> Iterator[str]:
        """Every row as a line of JSON with ``seq``, ``body`` and ``hash``.

        The chain can be checked by a few lines in any language.
        """
        return self._chain.export()

    def verify(self, *, head: str | None = None) -> Verified:
        """Read everything from the disk again, and raise ``LedgerTamperedError`` if it is wrong.

        ``head`` is a hash that was recorded earlier: the chain must contain it. Without it, a file
        that was reset to an earlier state is not detected.
        """
        from dpfair.privacy.ledger_file.verify import verify

        return verify(self.path, head)

    def close(self) -> None:
        """Close the file until it is used again."""
        self._chain.file.close()

    def _check(self, request: Request) -> Fraction:
        with self._naming_what_fits(request), self._chain.file.lock:
            self._chain.refresh()
            return self._total_with(request)

    def _total_with(self, request: Request) -> Fraction:
        """What a record has paid after this charge; an error if it is refused."""
        self._chain.refuse_used_key(request)
        self._chain.scopes.check(request.scope, new=request.new_scope)
        return self._affordable(request.amount, request.scope, request.purpose)

    @contextmanager
    def _naming_what_fits(self, request: Request) -> Iterator[None]:
        """A refusal that states what would be granted, computed after all locks are released."""
        try:
            yield
        except BudgetError as error:
            found = self._largest(request.kind, request.scope)
            most = "No epsilon" if found is None else f"At most epsilon {found:g}"
            raise BudgetError(f"{error} {most} would be granted to {request.kind.name}.") from error

    @property
    def _pure(self) -> room.Kind:
        return room.pure(self.relation, self.rows_per_unit, self.epsilon)

    def _largest(self, kind: room.Kind, scope: str) -> float | None:
        def excess(event: DpEvent) -> Fraction:
            amount = Amount.of(event)
            with self._chain.file.lock:
                return self._tally.total(scope, amount) - self.row_budget[0]

        return room.largest(kind, excess, room.LEAST * self.epsilon)


def _count(
    tally: Tally, entries: list[Entry], rows_per_unit: int, charge: Charge, amount: Amount
) -> None:
    """Add a charge of the file to the ledger in memory."""
    tally.add(charge.scope, amount, charge.spent / rows_per_unit)
    cost_of_one = float(charge.epsilon), float(charge.delta)
    entries.append(Entry(charge.scope, charge.purpose, charge.event, *cost_of_one))


def _reopened(path: Path, noise: Noise, patience: float) -> LedgerFile:
    return LedgerFile(path, noise=noise, patience=patience)
