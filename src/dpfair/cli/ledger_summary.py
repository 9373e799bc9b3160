"""What ``dpfair ledger show`` says: the budget, what is spent, and what a next job may cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfair.cli.looks import print_facts, print_table
from dpfair.cli.output import amount, charges, print_json

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file import LedgerFile

__all__ = ["print_scopes", "print_summary", "printable"]


def print_summary(path: Path, scope: str = "", *, as_json: bool) -> None:
    """The state of a ledger file, and what the next job on a scope may cost."""
    from dpfair.cli.ledger_room import room_of
    from dpfair.privacy.ledger_file.statement import read_statement

    file = read_statement(path)
    while (room := room_of(file, scope)).head != file.head:  # another job was charged meanwhile
        file = read_statement(path)
    own, scopes = file.opening, {"": file.spent} | room.scopes
    epsilon, delta, planned = float(own.epsilon), float(own.delta), own.composition == "tight"
    if as_json:
        summary: dict[str, Any] = {
            "file": str(file.path),
            "name": own.name,
            "epsilon": epsilon,
            "delta": delta,
            "relation": own.relation,
            "planned": planned,
            "unit": own.unit,
            "rows_per_unit": own.rows_per_unit,
            "spent": file.spent,
            "next": {
                "scope": scope,
                "pure": room.pure or 0.0,
                "fit": room.fit or 0.0,
                "fit_that_names_values": room.naming or 0.0,
            },
            "charges": file.charges,
            "scopes": _scopes(scopes),
            "head": file.head,
        }
        print_json(summary)
        return
    whom = "every record"
    if own.unit is not None:
        whom = f"every person (column {printable(own.unit)}, {own.rows_per_unit} records)"
    when = "beforehand" if planned else "as results come in"
    on = f" on {printable(scope)}" if scope else ""
    rows = [
        ("budget", f"epsilon {epsilon:g} at delta {delta:g}, {own.relation}, {whom}"),
        ("jobs", f"chosen {when}"),
        ("spent", f"epsilon {amount(file.spent)} by {charges(file.charges)}"),
        ("next", f"epsilon {_most(room.pure)} for a pure job{on} (delta 0, such as an evaluation)"),
        ("", f"epsilon {_most(room.fit)} for a fit{on} (default settings, delta {delta:g})"),
    ]
    if room.naming != room.fit:
        rows.append(
            ("", f"epsilon {_most(room.naming)} for a fit{on} that finds categories or bounds")
        )
    if room.naming is None and room.fit is not None:
        rows.append(("", "(a smaller --delta helps, or facts that dpfair schema export writes)"))
    for name, paid in room.scopes.items():
        rows.append(("scope", f"{printable(name)}: epsilon {amount(paid)} spent"))
    rows.append(("head", file.head))
    title = f"{printable(own.name) or 'Ledger'}: {file.path}"
    print_facts(rows, [title, *(f"  {name:<8} {text}" for name, text in rows)], title=title)


def print_scopes(file: LedgerFile, *, as_json: bool) -> None:
    """The declared scopes."""
    if as_json:
        print_json({"scopes": _scopes(file.scopes), "head": file.head})
        return
    rows = [(printable(name) or "all", amount(paid)) for name, paid in file.scopes.items()]
    print_table(
        ("scope", "epsilon spent"), rows, [f"{name}: epsilon {paid} spent" for name, paid in rows]
    )


def printable(text: str) -> str:
    """A text from the file, without characters that could steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _scopes(paid: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"scope": scope, "spent": spent} for scope, spent in paid.items()]


def _most(epsilon: float | None) -> str:
    return "0" if epsilon is None else f"{epsilon:g} at most"
