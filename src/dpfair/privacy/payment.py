"""How a fit is paid from a ledger file: checked before records are read, charged before noise."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfair import __version__
from dpfair.errors import InputError, NoAnswerError, PaidBeforeError, warn
from dpfair.privacy.events import DpEvent
from dpfair.privacy.journal import Journal, JournaledNoise, journal_place
from dpfair.privacy.ledger import SEEDED
from dpfair.privacy.noise import Noise
from dpfair.privacy.plan import FitPlan, Run
from dpfair.privacy.room import Kind

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file import LedgerFile

__all__ = ["ChargeTo", "Payment", "job_digest"]


@dataclass(frozen=True)
class ChargeTo:
    """The ledger file, scope and key that a fit is charged to.

    Parameters
    ----------
    path
        The ledger file of the data set.
    scope
        The part of the data set that the fit is about, by a public criterion, such as
        ``"2025/north"``; empty for all of it. Parts that do not contain one another must have no
        person in common. Under ``replace_one``, to which part a record belongs is taken as public.
    key
        A name for the job. A job that is repeated under its key is not charged again, and draws no
        noise again: a fit that asks its records for sums only goes on after its last answer
        (:mod:`dpfair.privacy.journal`), other jobs are refused. Other settings under the same key
        are refused. You have to ensure that the records are the same, in the same order: a fit
        that goes on compares them, but the ledger stores nothing about them, because an exact
        digest would not be private.
    new_scope
        Declare the scope with the charge, if it is not declared yet. A scope that looks like a
        declared one is still refused.

    Examples
    --------
    >>> ChargeTo("adult.ledger", key="monday")
    ChargeTo(path='adult.ledger', scope='', key='monday', new_scope=False)
    """

    path: str | Path
    scope: str = ""
    key: str | None = None
    new_scope: bool = False


class Payment:
    """The whole cost of one job, to be charged to a ledger file (if there is one).

    The constructor checks that the job is within its own budget, that the file has room for it and
    protects the same neighbours, and that the job is private; nothing is drawn yet. :meth:`pay`
    charges the file and returns the run. ``total`` is what the file will then have spent.

    Parameters
    ----------
    to
        The ledger file; None if the budget is for this job alone.
    plan
        What the job will draw.
    noise
        Its source of randomness; a file pays for secure noise only.
    purpose, settings
        The kind of job, and its settings; both are public.
    unit
        The column that identifies a person; None if every record is one.
    leaks
        What is read without being paid for; a file does not pay for such a job.
    plan_at
        The event of the same job at another epsilon, or a :class:`Kind` of job: a refusal names
        the largest epsilon that would be granted.
    continues
        Whether the job can go on after it was interrupted: it asks its records for sums only. With
        a key, its answers are then kept in a journal.

    Attributes
    ----------
    total
        What the file will have spent; None without a file.
    begun
        Whether the job was charged before, and goes on.
    """

    def __init__(
        self,
        to: ChargeTo | str | Path | None,
        plan: FitPlan,
        noise: Noise,
        *,
        purpose: str,
        settings: Mapping[str, object],
        unit: str | None = None,
        leaks: Sequence[str] = (),
        plan_at: Callable[[float], DpEvent] | Kind | None = None,
        continues: bool = False,
    ) -> None:
        self.plan = plan
        if isinstance(to, (str, Path)):
            to = ChargeTo(to)
        self._journaled: JournaledNoise | None = None
        own = type(noise) is Noise and noise.secure  # others are asked by whoever provided them
        if to is not None and to.key is not None and continues and own:
            noise = self._journaled = JournaledNoise()
        self._run = plan.open(noise)
        self._file: LedgerFile | None = None
        self._journal: Journal | None = None
        self.total: float | None = None
        self.begun = False
        if to is None:
            return
        leak = next(iter(leaks), "") if noise.secure else SEEDED
        if leak:
            raise InputError(f"A ledger file pays for private work only, and {leak}.")
        from dpfair.privacy.ledger_file import LedgerFile

        self._file = LedgerFile(to.path)
        _same_neighbours(self._file, plan, unit)
        self._event = plan.event
        epsilon = float(plan.budget.epsilon)
        self._how: dict[str, Any] = {
            "scope": to.scope,
            "purpose": purpose,
            "key": to.key,
            "job": job_digest(purpose, settings),
            "new_scope": to.new_scope,
            "kind": Kind("this job", plan_at, epsilon) if callable(plan_at) else plan_at,
        }
        try:
            self.total = self._file.check(self._event, **self._how)
        except NoAnswerError as error:
            if plan.budget.delta <= self._file.delta:
                raise
            raise InputError(
                f"The ledger {self._file.path.name} has delta = {self._file.delta:g}, and the fit "
                f"needs delta = {plan.budget.delta:g}: give the fit a delta of at most "
                f"{self._file.delta:g}."
            ) from error
        except PaidBeforeError:
            key = self._how["key"]
            if self._journaled is None or self._file.kept(key) is not None:
                raise
            if not self._file.resumable(key):
                place = journal_place(self._file.path, key)
                raise PaidBeforeError(
                    f"The job {key!r} was charged before, and cannot go on: {place.name} is not "
                    "there. Nothing is drawn again; use another key."
                ) from None
            self.begun, self.total = True, self._file.spent

    def pay(self) -> Run:
        """Charge the file once, before any noise is drawn; a charge is never refunded."""
        if self._file is None:
            return self._run
        if self._journaled is None:
            self._run.ledger.row = self._file.charge(self._event, **self._how).row
        else:
            place = journal_place(self._file.path, self._how["key"])
            self._journal = Journal(place, new=not self.begun)
            if self.begun and self._journal.empty:
                raise InputError(
                    "The journal of the job is lost, and its answers would be drawn twice: "
                    "use another key."
                )
            if not self.begun:
                # While the journal is locked, no other process can charge the job.
                self._file.check(self._event, **self._how)
                self._journal.clear()
            self._journal.state("job", self._job)
            self._journal.sync()
            if self.begun:
                row = self._file.row_of(self._how["key"])
            else:
                row = self._file.charge(self._event, **self._how).row
            self._run.ledger.row = row
            self._journal.state("row", row)
            self._journaled.write_to(self._journal)
        return self._run

    def check_records(self, records: Any, fingerprint: Callable[[bytes, Any], Any]) -> None:
        """Refuse to go on with other records than those that the answers so far are about.

        ``fingerprint`` makes sums over the records, under a key of 16 bytes.
        """
        if self._journal is None:
            return
        measure = partial(fingerprint, self._run.noise.take(16))
        self._journal.state(
            "records",
            json.dumps([int(number) for [number] in records.total(measure)]),
            "The job was begun with other records, or with the same ones in another order.",
        )
        if self.begun:
            warn(
                f"The job {self._how['key']!r} was charged before. It goes on after its last "
                "answer; nothing is charged or drawn again.",
                UserWarning,
            )

    @property
    def after_failure(self) -> str:
        """What a user has to know if the job fails after it was paid."""
        if self._run.ledger.row is None:
            return ""
        if self._journaled is None:
            return "What was paid is spent; with a key, a job that failed can go on."
        return "What was paid is not lost: start the job again with the same key, and it goes on."

    def close(self) -> None:
        """Release the journal, so that another try may go on."""
        if self._journal is not None:
            self._journal.close()

    @property
    def _job(self) -> str:
        """What the answers in a journal belong to; another plan asks other questions."""
        return json.dumps([__version__, self._how["job"], self.plan.to_json()])


def job_digest(purpose: str, settings: Mapping[str, object]) -> str:
    """A digest that is equal for equal jobs.

    ``settings`` are parameters as returned by ``get_params(deep=False)``. The ledger, seeds and
    verbosity are left out.

    >>> job_digest("fit", {"clip": 1}) == job_digest("fit", {"clip": 1.0, "verbose": True})
    True
    """
    text = json.dumps([purpose, _canonical(settings)])
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """A canonical form, equal for equal values in every process and on every machine."""
    if isinstance(value, Mapping):
        left = {k: v for k, v in value.items() if k not in ("ledger", "verbose", "random_state")}
        pairs = [[_canonical(k), _canonical(v)] for k, v in left.items()]
        return sorted(pairs, key=lambda pair: json.dumps(pair[0]))  # no key is there twice
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_canonical(item) for item in value), key=json.dumps)
    if isinstance(value, np.ndarray):
        return _canonical(value.tolist())
    if isinstance(value, np.generic):
        return _canonical(value.item())
    if isinstance(value, (int, float, Fraction)):
        return str(Fraction(value)) if math.isfinite(value) else str(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        return [kind, _canonical(value.get_params(deep=False))]
    if is_dataclass(value) and not isinstance(value, type):
        return [kind, _canonical({part.name: getattr(value, part.name) for part in fields(value)})]
    if isinstance(value, (FunctionType, type)):
        return f"{value.__module__}.{value.__qualname__}"
    # The memory address of an object differs between processes.
    return [kind, re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))]


def _same_neighbours(file: LedgerFile, plan: FitPlan, unit: str | None) -> None:
    """Refuse a ledger with another relation or unit: its budget is for another guarantee."""
    own = plan.budget
    if file.relation != own.relation:
        raise InputError(
            f"The ledger {file.path.name} is about {file.relation} neighbours, the fit about "
            f"{own.relation} ones."
        )
    if (file.unit, file.rows_per_unit) != (unit, own.rows_per_unit):
        raise InputError(
            f"The ledger {file.path.name} protects {_whom(file.unit, file.rows_per_unit)}, the fit "
            f"{_whom(unit, own.rows_per_unit)}."
        )


def _whom(unit: str | None, rows: int) -> str:
    return "every record" if unit is None else f"every person in {unit!r} with {rows} records"
