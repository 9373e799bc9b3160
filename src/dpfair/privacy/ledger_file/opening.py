"""A new ledger file: its budget is checked and becomes the first row."""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational
from pathlib import Path

from dpfair.errors import InputError, LedgerTamperedError
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.ledger_file import filesystem
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.rows import Opening, chained, checked_text, read_row

__all__ = ["checked_opening", "write_ledger"]


def write_ledger(path: Path, opening: Opening) -> None:
    """Create the file with its first row; an existing file is never overwritten."""
    first = chained(None, opening)
    try:
        read_row(None, first)
    except LedgerTamperedError as error:
        raise InputError("Expected epsilon and delta of at most 2000 digits.") from error
    filesystem.create_once(path.resolve(), lambda draft: ledger_store.write_new(draft, first))


def checked_opening(
    epsilon: float | Fraction | str,
    delta: float | Fraction | str,
    *,
    name: str,
    relation: str,
    planned: bool,
    unit: str | None,
    rows_per_unit: int,
) -> Opening:
    """The first row of a ledger with this budget; an impossible budget is an error."""
    exact = exact_delta(delta)
    budget = Ledger(
        epsilon,
        float(exact),
        relation=relation,
        composition="tight" if planned else "adaptive",
        rows_per_unit=rows_per_unit,
    )
    if unit is None and rows_per_unit != 1:
        raise InputError("rows_per_unit needs unit, the column that identifies a person.")
    return Opening(
        name=checked_text("name", name),
        epsilon=budget.budget_epsilon,
        delta=exact,
        relation=relation,
        composition=budget.composition,
        unit=None if unit is None else checked_text("unit", unit),
        rows_per_unit=budget.rows_per_unit,
    )


def exact_delta(delta: float | Fraction | str) -> Fraction:
    """A delta as it was written.

    >>> exact_delta(1e-5)
    Fraction(1, 100000)
    """
    try:
        exact = Fraction(delta) if isinstance(delta, Rational) else _rational(str(delta))
        if 0 < float(exact) < 1:
            return exact
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        pass
    raise InputError(f"Expected 0 < delta < 1, got {delta}.")


def _rational(text: str) -> Fraction:
    # A short text may be a number that does not fit into memory.
    return Fraction(text) if "/" in text or 0 < float(text) < 1 else Fraction(0)
