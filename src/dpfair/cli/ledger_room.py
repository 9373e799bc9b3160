"""What a next job may cost, as ``dpfair ledger show`` says it: computed once for a head.

The hash of the last row stands for all rows. So the answers are kept in the user's cache, and only
the first ``show`` after a charge waits for the accountants.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpfair.cache import kept

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file import LedgerFile
    from dpfair.privacy.ledger_file.statement import Statement
    from dpfair.privacy.room import Kind

__all__ = ["Room", "room_of"]


@dataclass(frozen=True)
class Room:
    """The largest epsilon of a next job at a head, and what a person has spent in every scope.

    ``pure``, ``fit`` and ``naming`` are a pure job, a default fit, and one that finds categories or
    bounds; None if no such job would be granted.
    """

    head: str
    pure: float | None
    fit: float | None
    naming: float | None
    scopes: dict[str, float]


def room_of(file: Statement, scope: str) -> Room:
    """The room for a job on a scope; if the file has changed meanwhile, with its new head."""

    def valid(found: Any) -> bool:
        try:
            room = Room(**found)
            epsilons = [room.pure, room.fit, room.naming, *room.scopes.values()]
            same = (room.head, list(room.scopes)) == (file.head, list(file.scopes))
        except (TypeError, AttributeError):
            return False
        return same and all(each is None or isinstance(each, float) for each in epsilons)

    inputs = {"head": file.head, "scope": scope}
    return Room(**kept("room of a ledger", inputs, lambda: asdict(_room(file, scope)), valid))


def _room(file: Statement, scope: str) -> Room:
    from dpfair.privacy.ledger_file import LedgerFile

    ledger = LedgerFile(file.path)
    pure = ledger.largest(scope=scope)
    fit, naming = ledger.largest(_default_fit(ledger), scope=scope), None
    if fit is not None:
        naming = ledger.largest(_default_fit(ledger, most=fit, declared=False), scope=scope)
    scopes = {name: paid for name, paid in ledger.scopes.items() if name}
    return Room(ledger.head, pure, fit, naming, scopes)


def _default_fit(file: LedgerFile, most: float | None = None, *, declared: bool = True) -> Kind:
    """The default fit between two groups, with the ledger's delta, neighbours and unit.

    Its cost does not depend on the columns of the schema, but for those that are not ``declared``:
    to name their values takes a part of the delta.
    """
    from dpfair.data.schema import Schema
    from dpfair.methods.fair_classifier import PrivateFairClassifier
    from dpfair.methods.limits import check_plan
    from dpfair.privacy.accountants import MAX_EPSILON
    from dpfair.privacy.events import DpEvent
    from dpfair.privacy.room import Kind

    schema = Schema.from_dict(
        {
            "label": {"name": "label", "values": ["0", "1"]},
            "sensitive": {"name": "group", "values": ["0", "1"]},
            "columns": [{"name": "x", "kind": "numeric", "bounds": [0, 1]}],
        }
    )
    if not declared:
        schema = schema.kinds_only()

    def event(epsilon: float) -> DpEvent:
        model = PrivateFairClassifier(
            epsilon,
            file.delta,
            schema=schema,
            relation=file.relation,
            unit=file.unit,
            rows_per_unit=file.rows_per_unit,
        )
        plan = model.plan(schema)
        check_plan(plan, schema, labelled=model.counts_labels)
        return plan.event

    return Kind("a default fit", event, min(most or file.epsilon, MAX_EPSILON))
