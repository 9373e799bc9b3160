"""Text files of any usual encoding as UTF-8, line by line."""

from __future__ import annotations

import codecs

__all__ = ["as_utf8", "is_utf8"]

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def as_utf8(content: bytes, encoding: str) -> bytes:
    """The content as UTF-8 without a byte order mark, if it has one that fits the encoding.

    Every line is decoded separately, so an invalid byte spoils no other line. UTF-8 stays as it
    is: the reader replaces invalid bytes. In UTF-16 a line ends at the code unit of a newline, and
    an unpaired surrogate spoils itself only.
    """
    for mark, marked in _MARKS.items():
        # UTF-8 is the default, so it may be corrected by the mark of UTF-16.
        fits = marked == encoding or encoding == "utf-8" or marked.startswith(encoding)
        if content.startswith(mark) and fits:
            content, encoding = content[len(mark) :], marked
            break
    if is_utf8(encoding):
        return content
    if encoding.startswith("utf-16"):
        wide = "utf-16-le" if encoding == "utf-16" else encoding
        return content.decode(wide, errors="replace").encode()
    lines = content.split(b"\n")
    return b"\n".join(line.decode(encoding, errors="replace").encode() for line in lines)


def is_utf8(encoding: str) -> bool:
    """Whether text in an encoding is read as UTF-8."""
    return encoding in ("utf-8", "ascii")
