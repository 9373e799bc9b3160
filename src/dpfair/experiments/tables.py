"""The paper's twelve result tables, read from one declarative file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

from dpfair.errors import InputError

__all__ = ["PublishedRow", "Table", "published_tables", "select_tables"]


@dataclass(frozen=True)
class PublishedRow:
    """One row of a table, as published."""

    method: str
    weight: float
    accuracy: float
    gap: float


@dataclass(frozen=True)
class Table:
    """One table: its data set, its budget, the noise that was used, and its rows."""

    name: str
    dataset: str
    epsilon: float
    accountant: str
    noise_std: float
    epochs: int
    release_epsilon: float
    rows: tuple[PublishedRow, ...]


def published_tables() -> tuple[Table, ...]:
    """All twelve tables.

    Examples
    --------
    >>> tables = published_tables()
    >>> len(tables), sum(len(table.rows) for table in tables)
    (12, 72)
    """
    text = resources.files("dpfair.experiments").joinpath("tables.toml").read_text("utf-8")
    return tuple(
        Table(**{**entry, "rows": tuple(PublishedRow(*row) for row in entry["rows"])})
        for entry in tomllib.loads(text)["tables"]
    )


def select_tables(name: str | None = None, dataset: str | None = None) -> tuple[Table, ...]:
    """The tables of a name and of a data set; an unknown choice is refused."""
    chosen = [
        table
        for table in published_tables()
        if name in (None, table.name) and dataset in (None, table.dataset)
    ]
    if not chosen:
        names = ", ".join(table.name for table in published_tables())
        raise InputError(f"There is no such table; the tables are {names}.")
    return tuple(chosen)
