"""The first line of a CSV file: the names of the columns, and what separates them.

Names of columns are public. The delimiter is found here and nowhere else, because a delimiter that
depended on records would make every record depend on all others.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from dpfair.data.file_form import DELIMITERS
from dpfair.errors import InputError

__all__ = ["find_delimiter", "read_header"]


def find_delimiter(header: str) -> str:
    """The usual delimiter that occurs most often outside quotes; a comma if none does.

    >>> find_delimiter('"income, net";age;sex'), find_delimiter("income"), find_delimiter("a|b")
    (';', ',', '|')
    """
    outside = Counter("".join(header.split('"')[::2]))
    return max(DELIMITERS, key=lambda mark: outside[mark])  # the first one, if several do


def read_header(header: str, delimiter: str, path: Path) -> list[str]:
    """The names of the columns, each of them once; columns without a name are numbered."""
    text = header.removesuffix("\r")
    problem = _problem(text, delimiter)
    if problem:
        raise InputError(f"The first line of {path} is not the header of a table: {problem}.")
    names = next(csv.reader([text], delimiter=delimiter), [])
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise InputError(f"The header of {path} has the name {twice[0]!r} twice: rename one.")
    blank = iter(["", *(f"_duplicated_{i}" for i in range(len(names)))])
    return [name or next(blank) for name in names]


def _problem(text: str, delimiter: str) -> str:
    """Why a line is no header; empty if it is one."""
    if not text:
        return "it is empty"
    if "\r" in text:
        place = text.index("\r") + 1
        return f"character {place} is a carriage return; lines must end with a newline"
    if len(text) > csv.field_size_limit():
        return "it is too long"
    for start, cell in _cells(text, delimiter):
        if not cell.startswith('"') and '"' in cell:
            place = start + cell.index('"') + 1
            return (
                f"the quote at character {place} is inside a name that does not begin with one; "
                "put the name in quotes and double those within it"
            )
        if cell.startswith('"'):
            inner = cell[1:].replace('""', "xx")
            if '"' not in inner:
                return f"the quote at character {start + 1} is not closed"
            if not inner.endswith('"') or inner.index('"') < len(inner) - 1:
                place = start + inner.index('"') + 2
                return f"the quote at character {place} is closed before the name ends"
    return ""


def _cells(text: str, delimiter: str) -> Iterator[tuple[int, str]]:
    """Where cells begin, and their text with quotes; delimiters in quotes do not count."""
    start, quoted = 0, False
    for place, character in enumerate(text):
        if (character == '"' and (quoted or place == start)) or (
            character == '"' and text[start] == '"'
        ):
            quoted = not quoted
        elif character == delimiter and not quoted:
            yield start, text[start:place]
            start = place + 1
    yield start, text[start:]
