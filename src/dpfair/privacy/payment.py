"""How a fit is paid from a ledger file: checked before records are read, charged before noise."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfair.errors import InputError
from dpfair.privacy.events import DpEvent, OneOfDpEvent, path_events
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.room import Kind

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file.file import LedgerFile

__all__ = ["ChargeTo", "Payment", "job_digest", "whole_event"]

Charges = list[tuple[str, str, DpEvent]]


@dataclass(frozen=True)
class ChargeTo:
    """Who pays for a fit.

    Parameters
    ----------
    path
        The ledger file of the data set.
    scope
        The part of the data set that the fit is about, by a public criterion, such as
        ``"2025/north"``; empty for all of it. Parts that do not contain one another must have no
        person in common. Under ``replace_one``, to which part a record belongs is taken as public.
    key
        A name for the job: what is asked, about which records. A job that is tried again under
        its key is not charged again, and draws no noise again. Other settings under the same key
        are refused; that the records are the same is for you to know, since nothing about them
        is noted.
    new_scope
        Declare the scope with the charge, if the ledger does not know it. A scope that looks like
        a declared one is refused nevertheless.

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
    """The whole cost of one fit, on its way to a ledger file (or to nobody).

    Making one checks that the file has room, that it is about the same neighbours, and that the
    fit is private at all; nothing is charged yet. :meth:`pay` charges everything at once, and from
    then on the fit's own ledger accepts what was paid for and nothing else.

    ``settings`` are what the job is asked to do, all of them public. ``plan_at`` is the plan of the
    same job at another epsilon, or a :class:`Kind` of job: a refusal names the largest epsilon that
    would be granted.
    """

    def __init__(
        self,
        to: ChargeTo | str | Path | None,
        own: Ledger,
        plan: Callable[[], Charges],
        *,
        purpose: str,
        settings: Mapping[str, object],
        unit: str | None = None,
        leak: str = "",
        plan_at: Callable[[float], Charges] | Kind | None = None,
    ) -> None:
        self._own = own
        self._file: LedgerFile | None = None
        if to is None:
            return
        self._to = to if isinstance(to, ChargeTo) else ChargeTo(to)
        if not own.private:
            leak = "a fit with a seed is not private"
        if leak:
            raise InputError(f"A ledger file pays for private work only: {leak}.")
        from dpfair.privacy.ledger_file.file import LedgerFile

        self._file = LedgerFile(self._to.path)
        _same_neighbours(self._file, own, unit)
        self._charges = [(scope, event) for scope, _, event in plan()]
        self._event = whole_event(self._charges)
        self._how: dict[str, Any] = {
            "scope": self._to.scope,
            "purpose": purpose,
            "key": self._to.key,
            "job": job_digest(purpose, settings),
            "new_scope": self._to.new_scope,
            "kind": _kind(plan_at, own.epsilon),
        }
        self._file.check(self._event, **self._how)

    def pay(self) -> None:
        """Charge the file, once, before any noise is drawn; it is never refunded."""
        if self._file is None:
            return
        receipt = self._file.charge(self._event, **self._how)
        self._own.restrict(self._charges)
        self._own.row = receipt.row


def _kind(plan_at: Callable[[float], Charges] | Kind | None, asked: float) -> Kind | None:
    if plan_at is None or isinstance(plan_at, Kind):
        return plan_at

    def event(epsilon: float) -> DpEvent:
        return whole_event([(scope, event) for scope, _, event in plan_at(epsilon)])

    return Kind("this job", event, asked)


def job_digest(purpose: str, settings: Mapping[str, object]) -> str:
    """The same for jobs that are asked to do the same.

    ``settings`` are parameters as ``get_params(deep=False)`` gives them. Who pays, seeds and what
    is printed are left out.

    >>> job_digest("fit", {"clip": 1}) == job_digest("fit", {"clip": 1.0, "verbose": True})
    True
    """
    text = json.dumps([purpose, _said(settings)])
    return hashlib.sha256(text.encode()).hexdigest()


def _said(value: Any) -> Any:
    """A value in the one form that equal values share, in every process and on every machine."""
    if isinstance(value, Mapping):
        left = {k: v for k, v in value.items() if k not in ("ledger", "verbose", "random_state")}
        return sorted(([_said(k), _said(v)] for k, v in left.items()), key=json.dumps)
    if isinstance(value, (list, tuple)):
        return [_said(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_said(item) for item in value), key=json.dumps)
    if isinstance(value, np.ndarray):
        return _said(value.tolist())
    if isinstance(value, np.generic):
        return _said(value.item())
    if isinstance(value, (int, float, Fraction)):
        return str(Fraction(value)) if math.isfinite(value) else str(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "get_params") and not isinstance(value, type):
        return [kind, _said(value.get_params(deep=False))]
    if is_dataclass(value) and not isinstance(value, type):
        return [kind, _said({part.name: getattr(value, part.name) for part in fields(value)})]
    if isinstance(value, (FunctionType, type)):
        return f"{value.__module__}.{value.__qualname__}"
    # Where an object lies in the memory is another place in every process.
    return [kind, re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))]


def whole_event(charges: list[tuple[str, DpEvent]]) -> DpEvent:
    """All that a fit costs one record: one of its scopes' costs, chosen by a coin.

    Scopes of different fits overlap, since every fit tosses its own coins. As alternatives of one
    event, what a record pays in two fits is composed whichever scopes it was in.

    >>> from dpfair.privacy.events import noisy_table
    >>> one, two = noisy_table(1, "add_remove"), noisy_table(2, "add_remove")
    >>> event = whole_event([("a", one), ("b", two)])
    >>> [alternative.noise_parameter for alternative in event.events]
    [1.0, 2.0]
    """
    alternatives: list[DpEvent] = []
    for event in path_events(charges):
        if event not in alternatives:
            alternatives.append(event)
    return alternatives[0] if len(alternatives) == 1 else OneOfDpEvent(tuple(alternatives))


def _same_neighbours(file: LedgerFile, own: Ledger, unit: str | None) -> None:
    """A budget per person does not pay for a guarantee per record, nor the other way round."""
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
