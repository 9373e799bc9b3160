"""CSV files in which one line is one record, whatever the line contains.

A line ends at a newline, the byte ``\\n``, and nowhere else; a newline at the very end of the file
starts no further line. The first line is the header. Every other line is one record, also if it is
empty. A record depends on its own line and on the header alone, so adding, removing or replacing
a line does the same to one record: what has sensitivity 1 in records has it in lines.

Within a line, a delimiter separates cells; the header decides which one, unless it is stated. A
cell in quotes may contain delimiters, and quotes that are doubled. Any other cell with a quote in
it is malformed, and a missing value; a quote never reaches beyond its line, and a malformed cell
not beyond the next delimiter. Empty cells are missing, and so are those that a short line lacks;
surplus cells are ignored. One carriage return is dropped from the end of a line and of a cell
without quotes. All other bytes are text: NUL, other carriage returns and the line separators of
Unicode end no line, and what is not in the file's encoding becomes U+FFFD. A byte order mark at
the start of the file is dropped. A line must be shorter than 4 GiB.

A file without quotes is read as it is. Otherwise malformed cells are cut out first, in time that
is linear in the size of the file, so that the reader finds every quote closed within its line.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from dpfair.data.encodings import as_utf8, is_utf8
from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.header import find_delimiter, read_header
from dpfair.errors import InputError
from dpfair.files import reading

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "count_lines",
    "header_names",
    "line_pieces",
    "line_ranges",
    "line_widths",
    "lines_between",
    "read_lines",
]

# Bytes that are checked at once, and those that are rewritten at once if a cell is malformed.
_PIECES = (1 << 20, 1 << 15)

# Bytes of which the newlines are counted at once: few enough to stay in the cache.
_COUNTED, _NEWLINE = 1 << 16, ord("\n")

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_lines(path: Path, file: FileForm = USUAL_FILE) -> pl.DataFrame:
    """One row of text for every line after the first.

    No error depends on anything but the first line.
    """
    content, header = _content(path, file)
    delimiter = file.delimiter or find_delimiter(header)
    return _parsed(content, delimiter, read_header(header, delimiter, path), path)


def line_pieces(path: Path, file: FileForm, size: int) -> Iterator[pl.DataFrame]:
    """The same, about ``size`` bytes at a time, of a file that need not fit into memory.

    A file without rows has no pieces. UTF-16 is read whole.
    """
    with _opened(path) as source:
        header, delimiter, names = _start(source, path, file)
        if header is None:
            if (frame := read_lines(path, file)).height:
                yield frame
            return
        while block := source.read(size):
            rest = b"" if block.endswith(b"\n") else source.readline()
            yield _parsed(_joined(header, [block, rest], file), delimiter, names, path)


def line_ranges(path: Path, file: FileForm, size: int) -> list[tuple[int, int]] | None:
    """Ranges of about ``size`` bytes for :func:`lines_between`; None for a file to be read whole.

    A file without rows has no ranges. Compressed files and UTF-16 are read whole.
    """
    if path.suffix.lower() == ".gz":
        return None
    with _opened(path) as source:
        header, *_ = _start(source, path, file)
        start, end = source.tell(), path.stat().st_size
    if header is None:
        return None
    return [(at, min(at + size, end)) for at in range(start, end, size)]


def lines_between(path: Path, file: FileForm, start: int, stop: int) -> pl.DataFrame:
    """One row of text for every line that starts at one of these bytes, behind the header."""
    with _opened(path) as source:
        header, delimiter, names = _start(source, path, file)
        if header is None:
            raise InputError(f"The file {path} was changed while it was read.")
        source.seek(start - 1)
        source.readline()  # the end of a line that starts before the range
        block = source.read(max(stop - source.tell(), 0))
        rest = b"" if block[-1:] in (b"", b"\n") else source.readline()
    return _parsed(_joined(header, [block, rest], file), delimiter, names, path)


def _joined(header: bytes, lines: Sequence[bytes], file: FileForm) -> bytes:
    """The header and some lines as UTF-8; behind a newline, nothing is a byte order mark."""
    if is_utf8(file.encoding):
        return b"".join((header, b"\n", *lines))  # copied once
    return header + as_utf8(b"".join((b"\n", *lines)), file.encoding)


def header_names(path: Path, file: FileForm = USUAL_FILE) -> list[str]:
    """The names of the columns; no other line is looked at."""
    with _opened(path) as source:
        return _start(source, path, file)[2]


def _start(source: IO[bytes], path: Path, file: FileForm) -> tuple[bytes | None, str, list[str]]:
    """The first line as UTF-8 without its newline, the delimiter, and the names of the columns.

    The line is None in UTF-16, whose newlines are no single bytes.
    """
    first = source.readline()
    wide = file.encoding.startswith("utf-16") or first.startswith(_WIDE)
    if wide:
        first += source.read()
    if not first:
        raise InputError(f"The file {path} is empty.")
    header = as_utf8(first, file.encoding).partition(b"\n")[0]
    text = header.decode(errors="replace")
    delimiter = file.delimiter or find_delimiter(text)
    return None if wide else header, delimiter, read_header(text, delimiter, path)


def _parsed(content: bytes, delimiter: str, names: list[str], path: Path) -> pl.DataFrame:
    """Every line but the first, as a row of text."""
    import polars as pl

    lines, quoted = count_lines(content) - 1, b'"' in content
    if quoted:
        # With its newline, the last line remains one if nothing else remains of it.
        content = content if content.endswith(b"\n") else content + b"\n"
        content = _well_formed(content, delimiter, _PIECES)
    unreadable = InputError(f"The file {path} is not a readable table.")
    read = partial(
        pl.read_csv,
        content,
        separator=delimiter,
        infer_schema=False,
        truncate_ragged_lines=True,
        quote_char='"' if quoted else None,
    )
    try:
        try:
            frame = read(encoding="utf8")  # a quarter faster, and refuses invalid bytes
        except pl.exceptions.ComputeError:
            frame = read(encoding="utf8-lossy")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise unreadable from None  # without its cause, which may quote a record
    if frame.shape != (lines, len(names)):
        raise unreadable
    frame.columns = names
    return frame


def line_widths(path: Path, file: FileForm = USUAL_FILE) -> tuple[int, list[int]]:
    """The number of cells of the header, and that of every line. This is not private."""
    content, header = _content(path, file)
    delimiter = file.delimiter or find_delimiter(header)
    mark, widths = delimiter.encode(), []
    for line in content.split(b"\n")[1 : count_lines(content)]:
        line = line.removesuffix(b"\r")
        if b'"' in line:
            line = _well_formed(line + b"\n", delimiter, _PIECES).removesuffix(b"\n")
            widths.append(len(next(csv.reader([line.decode("latin-1")], delimiter=delimiter), [])))
        else:
            widths.append(line.count(mark) + 1)
    return len(read_header(header, delimiter, path)), widths


def count_lines(content: bytes) -> int:
    """The number of lines; the last one need not end with a newline."""
    # NumPy compares many bytes at once; the count of bytes stops at every newline.
    characters = np.frombuffer(content, np.uint8)
    newlines = sum(
        np.count_nonzero(characters[at : at + _COUNTED] == _NEWLINE)
        for at in range(0, len(characters), _COUNTED)
    )
    return int(newlines) + (content[-1:] not in (b"", b"\n"))


def _content(path: Path, file: FileForm) -> tuple[bytes, str]:
    """The file as UTF-8, and its first line without the newline."""
    with _opened(path) as source:
        content = source.read()
    content = as_utf8(content, file.encoding)
    if not content:
        raise InputError(f"The file {path} is empty.")
    first = content[: content.find(b"\n")] if b"\n" in content else content
    return content, first.decode(errors="replace")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed."""
    with reading(path), path.open("rb") as plain:
        if path.suffix.lower() != ".gz":
            yield plain
            return
        try:
            with gzip.open(plain) as compressed:
                yield cast(IO[bytes], compressed)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise InputError(f"The file {path} is not a readable gzip file.") from None


def _cell(delimiter: str) -> str:
    return rf'(?:"(?:[^"\n]|"")*"|[^"{_escaped(delimiter)}\n]*)'


def _escaped(delimiter: str) -> str:
    return rf"\x{ord(delimiter):02x}"


def _well_formed(content: bytes, delimiter: str, sizes: tuple[int, ...]) -> bytes:
    """The same lines, with nothing in the place of malformed cells."""
    pieces = _pieces(content, sizes[0])
    return b"".join(_well_formed_piece(piece, delimiter, sizes[1:]) for piece in pieces)


def _well_formed_piece(piece: bytes, delimiter: str, sizes: tuple[int, ...]) -> bytes:
    import polars as pl

    if b'"' not in piece:
        return piece
    cell, mark = _cell(delimiter), _escaped(delimiter)
    # Latin-1 has one character for every byte, so all other cells stay as they are.
    text = pl.Series([piece.decode("latin-1")])
    if text.str.contains(rf"\A(?:{cell}(?:{mark}|\r?\n))*\z").item():
        return piece
    if sizes:
        return _well_formed(piece, delimiter, sizes)
    # Every match is one cell and what ends it. Of a malformed cell, only the end is kept.
    cell_and_end = rf"({cell})({mark}|\r?\n)|[^{mark}\n]*({mark}|\n)"
    return str(text.str.replace_all(cell_and_end, "${1}${2}${3}").item()).encode("latin-1")


def _pieces(content: bytes, size: int) -> Iterator[bytes]:
    """The same bytes in pieces of whole lines."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start + size) + 1 or len(content)
        yield content[start:end]
        start = end
