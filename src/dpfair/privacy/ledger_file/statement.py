"""What the rows of a ledger file state: its budget, and what is spent.

The chain of hashes is checked, but the events of the charges are not read. So no accountant is
imported, which takes longer than anything else that a short command does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from dpfair.errors import LedgerTamperedError
from dpfair.privacy.ledger_file.connection import LedgerConnection
from dpfair.privacy.ledger_file.rows import Declared, Opening, amount_spent, read_row
from dpfair.privacy.ledger_file.store import rows_from

__all__ = ["Statement", "read_statement"]


@dataclass(frozen=True)
class Statement:
    """The state of a ledger file at its ``head``, the hash of its last row.

    ``spent`` is the epsilon per person by all ``charges``, and ``scopes`` are the declared parts.
    """

    path: Path
    opening: Opening
    scopes: tuple[str, ...]
    charges: int
    spent: float
    head: str


def read_statement(path: str | Path) -> Statement:
    """Read all rows; one that was changed, or does not follow from the row before it, is refused.

    >>> import tempfile
    >>> from dpfair.privacy.ledger_file import LedgerFile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = LedgerFile.create(f"{folder.name}/loans.ledger", 3, 1e-5)
    >>> stated = read_statement(ledger.path)
    >>> stated.charges, stated.spent, stated.head == ledger.head
    (0, 0.0, True)
    >>> ledger.close(); folder.cleanup()
    """
    file = LedgerConnection(path)
    with file.transaction() as connection:
        found = list(rows_from(connection, 0))
    if not found:
        raise LedgerTamperedError(f"{file.path} is damaged, or no ledger file.")
    opening = read_row(None, found[0])
    assert isinstance(opening, Opening)
    scopes, amounts = [], [Fraction(0)]
    for before, row in pairwise(found):
        amount = amount_spent(before, row)
        if amount is not None:
            amounts.append(amount)
        elif isinstance(content := read_row(before, row), Declared):
            scopes.append(content.scope)
    charges, spent = len(amounts) - 1, float(max(amounts))
    return Statement(file.path, opening, tuple(scopes), charges, spent, found[-1].hash)
