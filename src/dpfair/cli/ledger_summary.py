"""What ``dpfair ledger show`` says: the budget, what is spent, and what a next job may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpfair.cli.looks import print_facts, print_table
from dpfair.cli.output import amount, print_json

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file import LedgerFile
    from dpfair.privacy.room import Kind

__all__ = ["print_scopes", "print_summary", "printable"]


def print_summary(file: LedgerFile, scope: str = "", *, as_json: bool) -> None:
    """The state of a ledger file, and what the next job on a scope may cost."""
    pure, fit = file.largest(scope=scope), file.largest(_default_fit(file), scope=scope)
    naming = None
    if fit is not None:
        naming = file.largest(_default_fit(file, most=fit, declared=False), scope=scope)
    charges, spent = len(file.entries), file.spent
    if as_json:
        summary: dict[str, Any] = {
            "file": str(file.path),
            "name": file.name,
            "epsilon": file.epsilon,
            "delta": file.delta,
            "relation": file.relation,
            "planned": file.composition == "tight",
            "unit": file.unit,
            "rows_per_unit": file.rows_per_unit,
            "spent": spent,
            "next": {
                "scope": scope,
                "pure": pure or 0.0,
                "fit": fit or 0.0,
                "fit_that_names_values": naming or 0.0,
            },
            "charges": charges,
            "scopes": _scopes(file),
            "head": file.head,
        }
        print_json(summary)
        return
    whom = "every record"
    if file.unit is not None:
        whom = f"every person (column {printable(file.unit)}, {file.rows_per_unit} records)"
    when = "beforehand" if file.composition == "tight" else "as results come in"
    on = f" on {printable(scope)}" if scope else ""
    rows = [
        ("budget", f"epsilon {file.epsilon:g} at delta {file.delta:g}, {file.relation}, {whom}"),
        ("jobs", f"chosen {when}"),
        ("spent", f"epsilon {amount(spent)} by {charges} charges"),
        ("next", f"epsilon {_most(pure)} for a pure job{on} (delta 0, such as an evaluation)"),
        ("", f"epsilon {_most(fit)} for a fit{on} (default settings, delta {file.delta:g})"),
    ]
    if naming != fit:
        rows.append(("", f"epsilon {_most(naming)} for a fit{on} that finds categories or bounds"))
    if naming is None and fit is not None:
        rows.append(("", "(a smaller --delta helps, or facts that dpfair schema export writes)"))
    for name, paid in list(file.scopes.items())[1:]:
        rows.append(("scope", f"{printable(name)}: epsilon {amount(paid)} spent"))
    rows.append(("head", file.head))
    title = f"{printable(file.name) or 'Ledger'}: {file.path}"
    print_facts(rows, [title, *(f"  {name:<8} {text}" for name, text in rows)], title=title)


def print_scopes(file: LedgerFile, *, as_json: bool) -> None:
    """The declared scopes."""
    if as_json:
        print_json({"scopes": _scopes(file), "head": file.head})
        return
    rows = [(printable(name) or "all", amount(paid)) for name, paid in file.scopes.items()]
    print_table(
        ("scope", "epsilon spent"), rows, [f"{name}: epsilon {paid} spent" for name, paid in rows]
    )


def printable(text: str) -> str:
    """A text from the file, without characters that could steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _scopes(file: LedgerFile) -> list[dict[str, Any]]:
    return [{"scope": scope, "spent": paid} for scope, paid in file.scopes.items()]


def _most(epsilon: float | None) -> str:
    return "0" if epsilon is None else f"{epsilon:g} at most"


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
