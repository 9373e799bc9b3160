"""Which tables choose the defaults and which report on them: a rule that looks at no result."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.panel.prepare import PanelTable

__all__ = ["HALVES", "LARGE", "half_of", "halves"]

HALVES = ("choosing", "reporting")
LARGE = 5000
"""Tables with more records are marked on the page."""


def halves(tables: Sequence[PanelTable]) -> dict[str, str]:
    """The half of every table, by its name.

    The tables are taken in alphabetical order and go to the two halves in turns. A table with a
    relative that has a half goes to the same one, without a turn: the same records must not choose
    and report.
    """
    found: dict[str, str] = {}
    turns = 0
    for table in sorted(tables, key=lambda t: t.name.lower()):
        known = [found[name] for name in table.relatives if name in found]
        found[table.name] = known[0] if known else HALVES[turns % 2]
        turns += not known
    return found


def half_of(tables: Sequence[PanelTable], half: str) -> list[PanelTable]:
    """The tables of one half."""
    found = halves(tables)
    return [table for table in tables if found[table.name] == half]
