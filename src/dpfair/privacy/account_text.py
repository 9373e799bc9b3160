"""Charges as a table for people: what printing a plan or a ledger shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpfair.privacy.ledger import Ledger

__all__ = ["account_rows", "account_text", "amount"]


def account_text(ledger: Ledger, heading: str, steps: Sequence[str] = ()) -> str:
    """The charges of a ledger, one line each, and their total; ``steps`` names each charge."""
    rows: list[tuple[str, ...]] = [("scope", "purpose", "epsilon", "delta"), *account_rows(ledger)]
    if steps:
        rows = [(name, *row) for name, row in zip(("step", *steps, ""), rows, strict=True)]
    budget = f"epsilon {ledger.epsilon:g}, delta {ledger.delta:g}, {ledger.relation}"
    if ledger.rows_per_unit > 1:
        budget += f", up to {ledger.rows_per_unit} records of a person"
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"{heading} ({budget})"]
    for row in rows:
        *words, epsilon, delta = row
        cells = [word.ljust(width) for word, width in zip(words, widths, strict=False)]
        lines.append("  ".join(["", *cells, epsilon.rjust(widths[-2]), delta]).rstrip())
    return "\n".join(lines)


def account_rows(ledger: Ledger) -> list[tuple[str, str, str, str]]:
    """Scope, purpose, epsilon and delta of every charge, and how the total is formed."""
    rows = [
        (entry.scope or "all", entry.purpose, amount(entry.epsilon), f"{entry.delta:g}")
        for entry in ledger.entries
    ]
    how = "worst scope" if len({entry.scope for entry in ledger.entries}) > 1 else "together"
    how = how if ledger.composition != "basic" else "sum"
    return [*rows, ("total", how, amount(ledger.spent), f"of {ledger.epsilon:g}")]


def amount(epsilon: float) -> str:
    """An amount of privacy in print: four decimals, unless it is astronomical.

    >>> amount(0.5), amount(1e300)
    ('0.5000', '1e+300')
    """
    return f"{epsilon:.4f}" if abs(epsilon) < 1e6 else f"{epsilon:g}"
