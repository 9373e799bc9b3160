"""The privacy account, entry by entry and scope by scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dpfair.methods.base import PrivateClassifier
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.events import compose
from dpfair.privacy.ledger import Entry
from dpfair.report import wording
from dpfair.report.svg import bar

__all__ = ["Account", "Charge", "ScopeCost", "privacy_account", "scope_costs"]

COMPOSED = {
    "single": "All costs are on the same records. Together they are at most their sum, and usually "
    "less.",
    "tight": "The total is not the sum of the lines: each record is in one scope only, chosen by a "
    "coin, so the worst scope counts. Inside a scope the costs together are at most their sum, and "
    "usually less (tight composition).",
    "basic": "Basic composition: the costs of all entries are added up, as in the paper, although "
    "no record is in two scopes.",
}


@dataclass(frozen=True)
class Charge:
    """One entry of the ledger in words."""

    scope: str
    purpose: str
    mechanism: str
    epsilon: str
    delta: str


@dataclass(frozen=True)
class ScopeCost:
    """What one scope costs in all, with its bar against the budget."""

    name: str
    epsilon: float
    purposes: str
    plot: Markup


@dataclass(frozen=True)
class Account:
    """All charges, what they cost together, and why."""

    charges: tuple[Charge, ...]
    scopes: tuple[ScopeCost, ...]
    budget: float
    spent: float
    delta: float
    composed: str
    per_person: str


def privacy_account(model: PrivateClassifier) -> Account | None:
    """The account of a fitted model; None if it paid for nothing, as Algorithm 1."""
    ledger = model.ledger_
    if not ledger.entries:
        return None
    claim = model.certificate_.privacy
    rows = int(getattr(ledger, "rows_per_unit", 1))
    tight = claim.composition == "tight"
    composed = "tight" if tight else "basic"
    costs = scope_costs(ledger.entries, claim.relation, tight=tight)
    return Account(
        charges=tuple(_charge(entry) for entry in ledger.entries),
        scopes=tuple(
            ScopeCost(
                _scope(scope),
                rows * epsilon,
                "; ".join(dict.fromkeys(e.purpose for e in ledger.entries if e.scope == scope)),
                bar(rows * epsilon, claim.epsilon, f"Scope {_scope(scope)} against the budget"),
            )
            for scope, epsilon in costs.items()
        ),
        budget=claim.epsilon,
        spent=claim.spent,
        delta=claim.delta,
        composed=COMPOSED[composed if len(costs) > 1 else "single"],
        per_person=""
        if rows == 1
        else f"The entries are per record. A person has up to {rows} records, so the scopes and "
        f"the total count {rows} times as much (group privacy).",
    )


def scope_costs(entries: Sequence[Entry], relation: str, *, tight: bool) -> dict[str, float]:
    """The epsilon of every scope: with tight composition, of all that touches its records.

    Examples
    --------
    >>> from dpfair.privacy.events import noisy_table
    >>> table = noisy_table(1, "add_remove")
    >>> paid = [Entry(scope, "count", table, 1.0, 0.0) for scope in ("", "a", "a", "b")]
    >>> scope_costs(paid, "add_remove", tight=True)
    {'': 1.0, 'a': 3.0, 'b': 2.0}
    >>> scope_costs(paid, "add_remove", tight=False)
    {'': 1.0, 'a': 2.0, 'b': 1.0}
    """
    scopes = dict.fromkeys(entry.scope for entry in entries)
    return {
        scope: _together([e for e in entries if _touches(e.scope, scope, tight)], relation, tight)
        for scope in scopes
    }


def _together(entries: Sequence[Entry], relation: str, tight: bool) -> float:
    delta = max(entry.delta for entry in entries)
    if len(entries) > 1 and delta > 0 and tight:
        return float(epsilon_of(compose([entry.event for entry in entries]), delta, relation))
    return sum(entry.epsilon for entry in entries)


def _touches(charged: str, scope: str, tight: bool) -> bool:
    """Whether a charge counts for a scope: its own and, if tight, those of the sets around it."""
    if charged == scope or not tight:
        return charged == scope
    return charged == "" or scope.startswith(charged + "/")


def _charge(entry: Entry) -> Charge:
    return Charge(
        scope=_scope(entry.scope),
        purpose=entry.purpose,
        mechanism=wording.mechanism(entry.event),
        epsilon=f"{entry.epsilon:.4f}",
        delta=f"{entry.delta:g}",
    )


def _scope(scope: str) -> str:
    return scope or "everybody"
