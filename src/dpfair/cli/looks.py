"""How results look: tables and colour on a terminal, plain text in a pipe or with NO_COLOR."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["decorated", "print_facts", "print_styled", "print_table"]

STYLES = {
    "ok": "green",
    "passed": "green",
    "verified": "green",
    "failed": "bold red",
    "not ": "bold red",
    "refuted": "bold red",
    "dpfair: warning": "yellow",
    "dpfair:": "cyan",
}
"""The colour of a text, by how it begins; the first one that fits."""


def decorated(stream: TextIO | None = None) -> bool:
    """Whether a stream, standard output by default, is a terminal that wants colour."""
    stream = sys.stdout if stream is None else stream
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and stream.isatty()


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    plain: Iterable[str],
    *,
    title: str = "",
    last_is_total: bool = False,
) -> None:
    """A table for a terminal, or the plain lines. A column of numbers is aligned to the right."""
    if not decorated():
        for line in plain:
            print(line)
        return
    from rich import box
    from rich.table import Table

    cells = [list(row) for row in rows]
    table = Table(
        title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    for i, heading in enumerate(headings):
        numeric = all(_is_number(row[i]) for row in cells)
        table.add_column(
            heading, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric
        )
    for i, row in enumerate(cells):
        if last_is_total and i == len(cells) - 1:
            table.add_section()
        table.add_row(*map(_coloured, row))
    _console().print(table)


def print_facts(facts: Iterable[tuple[str, str]], plain: Iterable[str], *, title: str = "") -> None:
    """Names with a text each: two columns on a terminal, or else the plain lines."""
    if not decorated():
        for line in plain:
            print(line)
        return
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(_coloured(name), _coloured(text))
    if title:
        print_styled(title)
    _console().print(table)


def print_styled(text: str, *, file: TextIO | None = None, style: str = "") -> None:
    """A line in a style, or else in the colour that follows from how it begins."""
    file = sys.stdout if file is None else file
    if not decorated(file):
        print(text, file=file)
        return
    _console(file).print(_coloured(text, style), soft_wrap=True)


def _coloured(text: str, style: str = "") -> Text:
    # Never as markup: a text may come from a file, and contain brackets.
    from rich.text import Text

    start = text.lower()
    found = next((style for word, style in STYLES.items() if start.startswith(word)), "")
    return Text(text, style=style or found)


def _console(file: TextIO | None = None) -> Console:
    from rich.console import Console

    return Console(file=file or sys.stdout, highlight=False)


def _is_number(text: str) -> bool:
    """Whether a cell is a number, perhaps with a sign of comparison; an empty one may be.

    >>> [_is_number(text) for text in ("0.5", ">= 0.5", "", "none", "1e-05", "of 3")]
    [True, True, True, False, True, False]
    """
    try:
        float(text.removeprefix(">= ").removeprefix("<= ").replace(",", "") or 0)
    except ValueError:
        return False
    return True
