"""Check that a ledger file is what dpfair wrote, byte by byte."""

from __future__ import annotations

import hashlib
import math
import re
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from dpfair.errors import InputError, LedgerTamperedError
from dpfair.privacy.accountants import cost
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.ledger_file import store as ledger_store
from dpfair.privacy.ledger_file.connection import LedgerConnection
from dpfair.privacy.ledger_file.rows import Charge, Content, Declared, Kept, Opening, Row, read_row
from dpfair.privacy.ledger_file.scopes import Scopes
from dpfair.privacy.tally import Amount, Tally

__all__ = ["Verified", "verify"]

# The accountant's answers on another machine may differ in the last digits.
TOLERANCE = 1e-6

# In the header of an SQLite file: the counter of changes, its copy, and the version that wrote
# the header last, as a number (3045001 is 3.45.1).
_COUNTER, _COPY, _VERSION = slice(24, 28), slice(92, 96), slice(96, 100)
_LOG_MODE = slice(18, 20)


@dataclass(frozen=True)
class Verified:
    """The result of a verification without errors.

    ``image`` is False if another version of SQLite wrote some of the rows and lays its pages out
    differently: then unused bytes between the rows were not compared.
    """

    rows: int
    charges: int
    spent: float
    head: str
    image: bool


def verify(path: Path, head: str | None = None) -> Verified:
    """Check pages, schema, chain, amounts, results, and the bytes between them.

    ``head`` is a hash that the chain must contain.
    """
    if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
        raise InputError("Expected head to be the hash of a row, 64 hexadecimal digits.")
    file = LedgerConnection(path)
    try:
        with file.transaction() as connection:
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise LedgerTamperedError(f"{path} is damaged.")
            rows = list(ledger_store.rows_from(connection, 0))
            contents = ledger_store.all_contents(connection)
            seen = ledger_store.seen_image(connection)
            size = path.stat().st_size
    finally:
        file.close()
    # A reader blocks charges, so the amounts are checked after the transaction.
    said = _chained(rows)
    found = _replay(said, contents)
    versions = {content.sqlite for content in said}
    image = _same_image(bytearray(seen), size, path, rows, contents, versions)
    if head is not None and head not in {row.hash for row in rows}:
        raise LedgerTamperedError(
            f"{path} has no row with this hash: rows are missing, or it is another ledger."
        )
    return Verified(len(rows), found.charges, found.spent, rows[-1].hash, image)


class _Replay:
    """Every row once more, each with its own checks."""

    def __init__(self, opening: Opening) -> None:
        self._k = opening.rows_per_unit
        self._ledger = Ledger(
            opening.epsilon,
            float(opening.delta),
            relation=opening.relation,
            composition=opening.composition,
            rows_per_unit=opening.rows_per_unit,
        )
        self._tally = Tally(*self._ledger.row_budget, opening.relation, opening.composition)
        self._scopes = Scopes()
        self._exact = True
        self._keys: set[str] = set()
        self.kept: dict[str, int] = {}
        self.charges = 0

    @property
    def spent(self) -> float:
        return float(self._tally.spent * self._k)

    def declare(self, scope: str) -> None:
        """Check that it is new, a part of a declared scope, and does not look like another."""
        if scope in self._scopes:
            raise ValueError("declares a scope for the second time")
        self._scopes.check(scope, new=True)
        self._scopes.add(scope)

    def charge(self, content: Charge) -> None:
        """Check that its amounts follow from its event and the earlier charges."""
        if content.scope not in self._scopes:
            raise ValueError("charges a scope that was not declared before")
        row_epsilon, row_delta = self._ledger.row_budget
        amount = Amount.of(content.event)
        pure, stated = amount.pure is not None, content.spent / self._k
        self._exact &= pure
        own = cost(content.event, row_delta, self._ledger.relation)
        total = self._tally.total(content.scope, amount)
        if (
            not _same(content.epsilon, own, exact=pure)
            or not _same(content.delta, Fraction(0 if pure else row_delta), exact=pure)
            or not _same(stated, total, exact=self._exact)
            or stated > row_epsilon
        ):
            raise ValueError("states amounts that do not follow from its event")
        if content.key in self._keys:
            raise ValueError("charges a job for the second time")
        if content.key is not None:
            self._keys.add(content.key)
        self._tally.add(content.scope, amount, stated)
        self.charges += 1

    def keep(self, content: Kept, seq: int, kept: bytes) -> None:
        """Check that it is the first result of a charged job, with the digest of the row."""
        if content.key not in self._keys or content.key in self.kept:
            raise ValueError("keeps a result for no job")
        if (len(kept), hashlib.sha256(kept).hexdigest()) != (content.size, content.sha256):
            raise ValueError("has another result than it says")
        self.kept[content.key] = seq


def _chained(rows: list[Row]) -> list[Content]:
    """The content of the rows, if each follows from the one before it."""
    return [read_row(before, row) for before, row in zip([None, *rows], rows, strict=False)]


def _replay(said: list[Content], contents: dict[int, bytes]) -> _Replay:
    replay: _Replay | None = None
    for seq, content in enumerate(said):
        try:
            if isinstance(content, Opening):
                replay = _Replay(content)
            elif isinstance(content, Charge):
                assert replay is not None
                replay.charge(content)
            elif isinstance(content, Declared):
                assert replay is not None
                replay.declare(content.scope)
            else:
                assert replay is not None
                replay.keep(content, seq, contents[seq])
        except (ValueError, KeyError) as error:
            what = error.args[0] if type(error) is ValueError else "is not one that dpfair writes"
            raise LedgerTamperedError(f"Row {seq} of the ledger {what}.") from error
    if replay is None or contents.keys() != set(replay.kept.values()):
        raise LedgerTamperedError("The ledger has results without a row, or no rows.")
    return replay


def _same(stated: Fraction, found: Fraction, *, exact: bool) -> bool:
    return stated == found or (
        not exact and math.isclose(float(stated), float(found), rel_tol=TOLERANCE)
    )


def _same_image(
    seen: bytearray,
    size: int,
    path: Path,
    rows: list[Row],
    contents: dict[int, bytes],
    versions: set[str],
) -> bool:
    """Compare all bytes with those that the same rows make in a new file.

    The pages of a file that only grows are a function of its rows, so a difference was not written
    by dpfair. False if the difference may be due to another version of SQLite; a row must name this
    version.
    """
    expected = bytearray(ledger_store.expected_image(rows, contents))
    major_minor, patch = divmod(int.from_bytes(seen[_VERSION], "big"), 1000)
    version = ".".join(map(str, (*divmod(major_minor, 1000), patch)))
    if seen[_COUNTER] != seen[_COPY] or version not in versions:
        raise LedgerTamperedError(f"The header of {path} was changed.")
    expected[_LOG_MODE] = b"\x02\x02"  # in memory there is no log
    for ignored in (_COUNTER, _COPY, _VERSION):
        seen[ignored] = expected[ignored] = bytes(4)
    if seen == expected and size <= len(seen):
        return True
    if versions != {sqlite3.sqlite_version}:
        return False
    raise LedgerTamperedError(f"{path} has bytes that belong to no row.")
