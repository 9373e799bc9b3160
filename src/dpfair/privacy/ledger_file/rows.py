"""The rows of a ledger file: their content, and the chain of hashes that links them.

Every row is one line of canonical JSON (sorted keys, no blanks, ASCII) and the SHA-256 of the
hash before it followed by that line. A later hash shows whether any earlier row was changed, left
out or moved; no key is needed. Amounts are exact rational numbers, as text.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from dpfair.errors import InputError, LedgerFileError, LedgerTamperedError

if TYPE_CHECKING:
    from dpfair.privacy.events import DpEvent

__all__ = [
    "BEFORE_ALL",
    "Charge",
    "Content",
    "Declared",
    "Kept",
    "Opening",
    "Row",
    "amount_spent",
    "chained",
    "checked_text",
    "read_row",
]

# In the first format, a charge declared its scope.
FORMAT = 2
MAX_TEXT = 1000
# The hash before the first row.
BEFORE_ALL = "0" * 64

_RATIONAL = re.compile(r"\d{1,2000}(/\d{1,2000})?", re.ASCII)


class Row(NamedTuple):
    """One row as it is stored."""

    seq: int
    body: str
    hash: str


def timestamp() -> str:
    """Now, in UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, kw_only=True)
class Written:
    """When a row was written, and with which SQLite.

    SQLite also writes its version to the header of the file, where no hash protects it.
    """

    time: str = field(default_factory=timestamp)
    sqlite: str = sqlite3.sqlite_version


@dataclass(frozen=True)
class Opening(Written):
    """The first row: whose budget this is, and how much."""

    name: str
    epsilon: Fraction
    delta: Fraction
    relation: str
    composition: str
    unit: str | None
    rows_per_unit: int


@dataclass(frozen=True)
class Declared(Written):
    """A part of the data set that may be charged from now on."""

    scope: str


@dataclass(frozen=True)
class Charge(Written):
    """A payment: for one record, its own epsilon and delta; for a person, what is spent so far.

    ``job`` is a digest of what was asked for, such as the settings of a fit; or empty.
    """

    scope: str
    purpose: str
    key: str | None
    job: str
    event: DpEvent
    epsilon: Fraction
    delta: Fraction
    spent: Fraction


@dataclass(frozen=True)
class Kept(Written):
    """The released result of a charged job, by its digest."""

    key: str
    sha256: str
    size: int


Content = Opening | Declared | Charge | Kept

KINDS: dict[str, type[Content]] = {
    "open": Opening,
    "scope": Declared,
    "charge": Charge,
    "result": Kept,
}


def checked_text(what: str, text: str) -> str:
    """The text, if it is allowed in a row."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise InputError(f"Expected {what} to be a text of at most {MAX_TEXT} characters.")
    return text


def chained(previous: Row | None, content: Content) -> Row:
    """The row that follows another."""
    [kind] = [name for name, of in KINDS.items() if isinstance(content, of)]
    data: dict[str, Any] = {"kind": kind}
    if kind == "open":
        data["format"] = FORMAT
    for each in fields(content):
        value = getattr(content, each.name)
        if isinstance(value, Fraction):
            value = str(value)
        elif each.type == "DpEvent":
            value = _event_data(value)
        data[each.name] = value
    body = _canonical(data)
    if previous is None:
        return Row(0, body, _link(BEFORE_ALL, body))
    return Row(previous.seq + 1, body, _link(previous.hash, body))


def read_row(previous: Row | None, row: Row) -> Content:
    """The content of a row, if it follows the other row and was not changed."""
    data = _data(previous, row)
    with _readable(row):
        return _content(row.seq, data)


def amount_spent(previous: Row | None, row: Row) -> Fraction | None:
    """What is spent after a charge, or None for another row; its event is not read."""
    data = _data(previous, row)
    with _readable(row):
        return _rational(data["spent"]) if data["kind"] == "charge" else None


def _data(previous: Row | None, row: Row) -> dict[str, Any]:
    expected = (0, BEFORE_ALL) if previous is None else (previous.seq + 1, previous.hash)
    if row.seq != expected[0] or row.hash != _link(expected[1], row.body):
        raise LedgerTamperedError(
            f"Row {row.seq} of the ledger does not follow from the row before it: it was changed."
        )
    with _readable(row):
        data = json.loads(row.body)
        if not isinstance(data, dict) or row.body != _canonical(data):
            raise ValueError
        return data


@contextmanager
def _readable(row: Row) -> Iterator[None]:
    try:
        yield
    except LedgerFileError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise LedgerTamperedError(f"Row {row.seq} of the ledger cannot be read.") from error


def _content(seq: int, data: dict[str, Any]) -> Content:
    kind = KINDS[data.pop("kind")]
    if (kind is Opening) != (seq == 0):
        raise ValueError
    if kind is Opening and (found := _whole(data.pop("format"))) != FORMAT:
        raise LedgerFileError(
            f"The ledger is of format {found}, and this version of dpfair needs format {FORMAT}, "
            "which declares its scopes. Make a new one by 'dpfair ledger init', with the budget "
            "that the old one has left; the version that made it can show that."
        )
    read: dict[str, Callable[[Any], Any]] = {
        "str": _text,
        "str | None": lambda value: None if value is None else _text(value),
        "int": _whole,
        "Fraction": _rational,
        "DpEvent": lambda value: _event(_canonical(value)),
    }
    if data.keys() != {each.name for each in fields(kind)}:
        raise ValueError
    return kind(**{each.name: read[str(each.type)](data[each.name]) for each in fields(kind)})


def _canonical(data: Any) -> str:
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def _link(previous: str, body: str) -> str:
    return hashlib.sha256((previous + body).encode()).hexdigest()


def _event_data(event: DpEvent) -> dict[str, Any]:
    from dpfair.privacy.event_json import event_to_json  # needs the packages of the accountants

    return event_to_json(event)


@lru_cache(maxsize=1024)
def _event(text: str) -> DpEvent:
    from dpfair.privacy.event_json import event_from_json

    return event_from_json(json.loads(text))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _rational(value: object) -> Fraction:
    # Exponents are refused: "1e999999999" would be a huge number.
    if not _RATIONAL.fullmatch(_text(value)):
        raise ValueError
    return Fraction(str(value))
