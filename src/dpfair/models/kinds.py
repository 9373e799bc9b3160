"""What kind of file was given instead of a model file, by its first bytes and its name."""

from __future__ import annotations

from pathlib import Path

__all__ = ["kind_of_file"]

START = 2000
"""So many bytes are looked at."""

_MARKS = (
    (b"SQLite format 3\x00", "a ledger file or another SQLite database"),
    (b"PAR1", "a Parquet table"),
    (b"PK\x03\x04", "a zip archive, such as an Excel or PyTorch file"),
    (b"\x1f\x8b", "a compressed file"),
    (b"\x80", "a saved Python object"),
    (b"%PDF", "a PDF document"),
)
"""How files of other kinds begin."""


def kind_of_file(path: Path) -> str:
    """A phrase for a file that is no model; nothing of its content is repeated."""
    with path.open("rb") as file:
        start = file.read(START)
    if not start:
        return "an empty file"
    for mark, phrase in _MARKS:
        if start.startswith(mark):
            return phrase
    try:
        # The last character may be cut in the middle.
        text = start.decode("utf-8-sig", errors="strict" if len(start) < START else "ignore")
    except UnicodeDecodeError:
        return "binary data of another program"
    return "binary data of another program" if "\x00" in text else _kind_of_text(path, text)


def _kind_of_text(path: Path, text: str) -> str:
    first = text.lstrip()[:1]
    if first == "<":
        return "an HTML or XML page"
    if first == "{":
        return "JSON text"
    if path.suffix.lower() == ".toml" or "[[columns]]" in text:
        return "a schema file"
    lines = text.splitlines()
    cells = [line.count(",") for line in lines[:2]]
    if path.suffix.lower() == ".csv" or (len(cells) == 2 and cells[0] == cells[1] > 0):
        return "a CSV table"
    return "plain text"
