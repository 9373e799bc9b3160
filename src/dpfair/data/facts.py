"""The public facts of a schema: how one is read, written, shown and documented.

Every kind of column, and the schema itself, has a table of facts in its attribute ``facts``.
Schema files, certificates, reports and docs/schema.md follow from these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass
from typing import Any

from dpfair.data.dates import read_date
from dpfair.data.text import text_of
from dpfair.errors import SchemaError
from dpfair.validate import did_you_mean

__all__ = [
    "Day",
    "Fact",
    "TableFact",
    "column_name",
    "flag",
    "items",
    "known_entries",
    "listing",
    "number",
    "number_text",
    "numbers",
    "plain",
    "text",
    "words",
]


def plain(value: Any) -> Any:
    """Tuples as lists, as in a JSON or TOML file."""
    return [plain(v) for v in value] if isinstance(value, (tuple, list)) else value


class Day(float):
    """A number that a file states as a date."""


@dataclass(frozen=True)
class Fact:
    """One public fact about a column.

    Parameters
    ----------
    name
        The entry of a schema file, and the attribute of the column.
    read
        Turns an entry of a file into the value; raises ``SchemaError`` with the entry's name.
    show
        The value as text, for the report.
    form, doc
        What an entry looks like and what it means, for the documentation.
    phrase
        What the certificate calls such facts; empty if it does not name them.
    used_by
        The encodings that use the fact; empty if every model does.
    derived
        The value that counts if none is declared, computed from the other facts.
    write
        Turns a value into an entry of a file.
    express
        The value in the words of its owner, for files and reports: a day as a date.
    """

    name: str
    _: KW_ONLY
    read: Callable[[Any, str], Any]
    show: Callable[[Any], str]
    form: str
    doc: str
    phrase: str = ""
    used_by: tuple[str, ...] = ()
    derived: Callable[[Any], Any] | None = None
    write: Callable[[Any], Any] = plain
    express: Callable[[Any, Any], Any] = lambda owner, value: value

    def default(self, kind: Any) -> Any:
        """The default value, ``MISSING`` if the fact is required; ``kind`` is a dataclass."""
        return kind.__dataclass_fields__[self.name].default

    def required(self, kind: Any) -> bool:
        """Whether every schema must state the fact."""
        return self.default(kind) is MISSING

    def declared(self, owner: Any) -> bool:
        """Whether a column or a schema states the fact."""
        default = self.default(owner)
        return default is MISSING or self.entry(owner) != self.write(default)

    def entry(self, owner: Any) -> Any:
        """The fact as an entry of a file."""
        return self.write(self.express(owner, getattr(owner, self.name)))

    def value(self, owner: Any) -> Any:
        """What counts: the declared value or the derived one."""
        value = getattr(owner, self.name) if self.derived is None else self.derived(owner)
        return self.express(owner, value)


@dataclass(frozen=True)
class TableFact(Fact):
    """One public fact about the whole table.

    ``kind`` is what the report calls it. ``parts`` lists the columns that it is about, each with
    the part of the value that ``show`` turns into text.
    """

    kind: str
    parts: Callable[[Any], Iterable[tuple[str, Any]]] = lambda value: [("all columns", value)]


def number(value: object, name: str) -> float:
    """Read a number; a date, also one as ISO text, is the number of its day."""
    if (day := read_date(value)) is not None:
        return Day(day)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SchemaError(f"Expected a number in the entry {name!r}.")
    return float(value)


def numbers(value: object, name: str) -> tuple[float, ...]:
    """Read a list of numbers."""
    return tuple(number(v, name) for v in items(value, name))


def words(value: object, name: str) -> tuple[str, ...]:
    """Read a list of values that are compared as text."""
    return tuple(text_of(v) for v in items(value, name))


def text(value: object, name: str) -> str:
    """Read text."""
    if not isinstance(value, str):
        raise SchemaError(f"The entry {name!r} must be text.")
    return value


def flag(value: object, name: str) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise SchemaError(f"The entry {name!r} must be true or false.")
    return value


def items(value: object, name: str) -> Sequence[Any]:
    """Read a list of anything."""
    if not isinstance(value, (list, tuple)):
        raise SchemaError(f"Expected a list in the entry {name!r}.")
    return value


def column_name(value: object) -> str:
    """Read the name of a column."""
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise SchemaError("The name of a column must be text.")


def known_entries(data: dict[str, Any], known: Iterable[str], where: str) -> None:
    """Refuse entries that have no meaning, and name the entry that was probably meant."""
    names = sorted(known)
    unknown = sorted(set(data) - set(names))
    if unknown:
        guess = did_you_mean(unknown[0], names)
        raise SchemaError(f"Unknown entry {unknown[0]!r} in {where}{guess}.")


def number_text(value: float | str) -> str:
    """A number as text; a date is one already.

    >>> number_text(1234.5)
    '1,234.5'
    """
    return value if isinstance(value, str) else f"{value:,.10g}"


def listing(values: Sequence[str], most: int = 1000) -> str:
    """The first values of a list, and how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most:,} more"
