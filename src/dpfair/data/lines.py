"""CSV files in which one line is one record, whatever the line contains.

A line ends at a newline, the byte ``\\n``, and nowhere else; a newline at the very end of the file
starts no further line. The first line is the header. Every other line is one record, also if it is
empty. A record depends on its own line and on the header alone, so adding, removing or replacing
a line does the same to one record: what has sensitivity 1 in records has it in lines.

Within a line, commas separate cells. A cell in quotes may contain commas, and quotes that are
doubled. Any other cell with a quote in it is malformed, and a missing value; a quote never reaches
beyond its line, and a malformed cell not beyond the next comma. Empty cells are missing, and so are
those that a short line lacks; surplus cells are ignored. One carriage return is dropped from the
end of a line and of a cell without quotes. All other bytes are text: NUL, other carriage returns
and the line separators of Unicode end no line, and what is not UTF-8 becomes U+FFFD. A byte order
mark at the start of the file is dropped. A line must be shorter than 4 GiB.

A file without quotes is read as it is. Otherwise malformed cells are cut out first, in time that
is linear in the size of the file, so that the reader finds every quote closed within its line.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dpfair.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["count_lines", "read_lines"]

_CELL = r'(?:"(?:[^"\n]|"")*"|[^",\n]*)'
_WELL_FORMED = rf"\A(?:{_CELL}(?:,|\r?\n))*\z"
# Every match is one cell and what ends it. Of a malformed cell, only the end is kept.
_CELL_AND_END = rf"({_CELL})(,|\r?\n)|[^,\n]*(,|\n)"
# Bytes that are checked at once, and those that are rewritten at once if a cell is malformed.
_PIECES = (1 << 20, 1 << 15)


def read_lines(path: Path) -> pl.DataFrame:
    """One row of text for every line after the first.

    No error depends on anything but the first line and whether there is a second.
    """
    import polars as pl

    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if not content:
        raise InputError(f"The file {path} is empty.")
    lines = count_lines(content) - 1
    if lines == 0:
        raise InputError(f"The file {path} has no rows.")
    names = _names(content[: content.find(b"\n") + 1])
    if not names:
        raise InputError(f"The first line of {path} is not the header of a table.")
    quoted = b'"' in content
    if quoted:
        # With its newline, the last line remains one if nothing else remains of it.
        content = content if content.endswith(b"\n") else content + b"\n"
        content = _well_formed(content, _PIECES)
    frame = pl.read_csv(
        content,
        infer_schema=False,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        quote_char='"' if quoted else None,
    )
    if frame.shape != (lines, len(names)):
        raise InputError(f"The file {path} is not a readable table.")
    frame.columns = names
    return frame


def count_lines(content: bytes) -> int:
    """The number of lines; the last one need not end with a newline."""
    return content.count(b"\n") + (content[-1:] not in (b"", b"\n"))


def _names(header: bytes) -> list[str]:
    """The names of the columns, if there are any; repeated ones are numbered."""
    if _well_formed(header, _PIECES) != header:
        return []
    text = header.removesuffix(b"\n").removesuffix(b"\r").decode(errors="replace")
    try:
        cells = next(csv.reader([text]), [])
    except csv.Error:
        return []
    names, seen = [], Counter[str]()
    for cell in cells:
        names.append(f"{cell}_duplicated_{seen[cell] - 1}" if seen[cell] else cell)
        seen[cell] += 1
    return names


def _well_formed(content: bytes, sizes: tuple[int, ...]) -> bytes:
    """The same lines, with nothing in the place of malformed cells."""
    return b"".join(_well_formed_piece(piece, sizes[1:]) for piece in _pieces(content, sizes[0]))


def _well_formed_piece(piece: bytes, sizes: tuple[int, ...]) -> bytes:
    import polars as pl

    if b'"' not in piece:
        return piece
    # Latin-1 has one character for every byte, so all other cells stay as they are.
    text = pl.Series([piece.decode("latin-1")])
    if text.str.contains(_WELL_FORMED).item():
        return piece
    if sizes:
        return _well_formed(piece, sizes)
    return str(text.str.replace_all(_CELL_AND_END, "${1}${2}${3}").item()).encode("latin-1")


def _pieces(content: bytes, size: int) -> Iterator[bytes]:
    """The same bytes in pieces of whole lines."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start + size) + 1 or len(content)
        yield content[start:end]
        start = end
