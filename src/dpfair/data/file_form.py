"""How a file writes a table: delimiter, encoding, and the marks within numbers."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from dpfair.data.facts import Fact, known_entries, text
from dpfair.errors import SchemaError

__all__ = ["DELIMITERS", "ENCODINGS", "USUAL_FILE", "FileForm"]

DELIMITERS = (",", ";", "\t", "|")
"""What may separate cells without being stated; the header decides which of them does."""

_NAMES = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar", "": "nothing"}
_THOUSANDS = ("", ",", ".", " ", "'", "_")

ENCODINGS = frozenset(
    [
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "mac-roman", "koi8-r", "koi8-u"),
        *(f"iso8859-{i}" for i in range(1, 17) if i != 12),
        *(f"cp{i}" for i in (437, 850, 852, 855, 857, 858, 866, 874, *range(1250, 1259))),
        *("shift_jis", "cp932", "euc_jp", "euc_kr", "cp949", "gb2312", "gbk", "gb18030", "big5"),
    ]
)
"""Encodings of text in which no error depends on the text, by Python's names for them."""


def _named(mark: str) -> str:
    return _NAMES.get(mark, repr(mark))


@dataclass(frozen=True)
class FileForm:
    """The form of a CSV file, and of numbers that are written as text.

    A delimiter that is not stated is found in the header alone, so that no record can change
    how another one is read. ``decimal`` and ``thousands`` hold for every numeric column.

    >>> FileForm(delimiter=";", decimal=",").to_dict()
    {'delimiter': ';', 'decimal': ','}
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""

    facts: ClassVar[tuple[Fact, ...]] = (
        Fact(
            "delimiter",
            read=text,
            show=lambda mark: f"cells are separated by {_named(mark)}",
            form="one character",
            doc="What separates the cells of a line. Default: comma, semicolon, tab or bar, "
            "whichever the header has most of.",
        ),
        Fact(
            "encoding",
            read=text,
            show=lambda name: f"encoding {name}",
            form="a name such as `cp1252`",
            doc="How the text is encoded. Default: UTF-8, or UTF-16 if the file begins with its "
            "byte order mark.",
        ),
        Fact(
            "decimal",
            read=text,
            show=lambda mark: f"decimals after {_named(mark)}",
            form='`"."` or `","`',
            doc="What stands before the decimals of a number.",
        ),
        Fact(
            "thousands",
            read=text,
            show=lambda mark: f"thousands are separated by {_named(mark)}",
            form="one of `, . ' _` or a space",
            doc="What separates groups of three digits. Default: nothing.",
        ),
    )

    def __post_init__(self) -> None:
        mark = self.delimiter
        if mark is not None and not (
            isinstance(mark, str) and len(mark) == 1 and _may_separate(mark)
        ):
            raise SchemaError(
                "Expected the delimiter of the file to be one character such as ';', and no "
                "letter, digit, quote or point."
            )
        object.__setattr__(self, "encoding", _known_encoding(self.encoding))
        if self.decimal not in (".", ","):
            raise SchemaError("Expected the decimal mark of the file to be '.' or ','.")
        if self.thousands not in _THOUSANDS or self.thousands == self.decimal:
            raise SchemaError(
                "Expected the thousands separator of the file to be one of , . ' _ or a space, "
                "and not the decimal mark."
            )

    @classmethod
    def from_dict(cls, data: dict[str, Any], where: str) -> FileForm:
        """Read the table of a schema file."""
        if not isinstance(data, dict):
            raise SchemaError(f"Expected a table in the entry {where!r}.")
        known_entries(data, (fact.name for fact in cls.facts), where)
        return cls(**{f.name: f.read(data[f.name], f.name) for f in cls.facts if f.name in data})

    def to_dict(self) -> dict[str, Any]:
        """What differs from the default, for a schema file."""
        return {f.name: getattr(self, f.name) for f in fields(self) if self._stated(f.name)}

    def phrases(self) -> list[str]:
        """What differs from the default, in words."""
        return [f.show(getattr(self, f.name)) for f in self.facts if self._stated(f.name)]

    def _stated(self, name: str) -> bool:
        return bool(getattr(self, name) != type(self).__dataclass_fields__[name].default)


def _may_separate(mark: str) -> bool:
    printable = mark.isascii() and (mark.isprintable() or mark == "\t")
    return printable and not mark.isalnum() and mark not in "\"'.-+_"


def _known_encoding(name: str) -> str:
    """Python's name of an encoding.

    >>> _known_encoding("Windows-1252"), _known_encoding("latin1"), _known_encoding("UTF8")
    ('cp1252', 'iso8859-1', 'utf-8')
    """
    try:
        found = codecs.lookup(name).name
    except (LookupError, TypeError, ValueError):
        found = ""
    found = "utf-8" if found == "utf-8-sig" else found
    if found not in ENCODINGS:
        raise SchemaError(
            "Expected the encoding of the file to be one such as utf-8, utf-16, cp1252 or "
            "iso8859-1; save the file as UTF-8 if it has another one."
        )
    return found


USUAL_FILE = FileForm()
"""The form of a file that states nothing."""
