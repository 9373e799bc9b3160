"""Decisions about a table of any size: some rows at a time, kept in temporary files."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpfair.cli.decisions import are_plain, check_ids, id_type
from dpfair.data.unread import Unread
from dpfair.data.workspace import Workspace, writing_temporary
from dpfair.errors import InputError
from dpfair.methods.undecided import REASONS, Undecided

if TYPE_CHECKING:
    import polars as pl

    from dpfair.data.records import Records

__all__ = ["Decisions", "Piece", "in_background"]

_Item = TypeVar("_Item")

_WHY = "__why"


@dataclass(frozen=True)
class Piece:
    """Some rows to decide about.

    Parameters
    ----------
    known
        Which rows can be decided; None for all.
    reasons
        Why the others cannot, by their codes.
    """

    table: pl.DataFrame
    records: Records
    known: NDArray[np.bool_] | None
    reasons: NDArray[np.uint8] | None
    ids: pl.Series | None

    @property
    def decidable(self) -> NDArray[np.intp]:
        """The places of the rows that can be decided."""
        return np.arange(len(self.records)) if self.known is None else np.flatnonzero(self.known)


class Decisions:
    """The decisions about the rows of a table, and what has to be said about all of it.

    Parameters
    ----------
    names
        The columns that the model reads.
    id_column
        A column that becomes the first one of the output.
    """

    def __init__(self, fitted: Any, names: list[str], id_column: str | None) -> None:
        self.fitted, self.names, self.id_column = fitted, names, id_column
        self.unread = Unread(fitted.schema_)
        self.undecided = Undecided(fitted.schema_.sensitive)
        self._id_types: set[pl.DataType] = set()
        self._plain, self._workspace = True, Workspace()
        self._kept: list[pl.LazyFrame] = []

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return self.unread.rows

    def look(self, frame: pl.DataFrame) -> Piece:
        """Encode the rows that follow, and count what has to be said about them."""
        import polars as pl

        table = frame.select(self.names)
        records = self.fitted.records_of(table)
        self.unread.add(table, records)
        ids = None if self.id_column is None else frame[self.id_column]
        if ids is not None:
            check_ids(ids)
            if ids.dtype != pl.Null:
                self._id_types.add(ids.dtype)
            if ids.dtype == pl.String:
                self._plain = self._plain and are_plain(ids)
        unknown = records.groups < 0
        if not (self.fitted.needs_groups and unknown.any()):
            self.undecided.rows += len(records)
            return Piece(table, records, None, None, ids)
        reasons = self.undecided.add(table, unknown)
        return Piece(table, records, ~unknown, reasons, ids)

    def refuse(self) -> None:
        """Raise ``InputError`` if there is something strange about the rows."""
        self.undecided.refuse()
        if unread := self.unread.sentences():
            raise InputError(" ".join(unread))

    def decide(self, piece: Piece) -> None:
        """Decide every row by itself."""
        rows = piece.records if piece.known is None else piece.records.take(piece.decidable)
        accepted, chances = self.fitted.decide_records(rows) if len(rows) else ([], [])
        name = "score" if self.fitted.rule_ is None else "acceptance_probability"
        self.keep(piece, {"accepted": np.asarray(accepted) == 1, name: np.asarray(chances, float)})

    def keep(self, piece: Piece, found: dict[str, NDArray[Any]]) -> None:
        """Keep what was found for the rows that can be decided."""
        import polars as pl

        columns = {} if piece.ids is None else {piece.ids.name: piece.ids}
        columns |= {name: _spread(values, piece.known) for name, values in found.items()}
        none = np.zeros(len(piece.records), np.uint8)
        columns[_WHY] = pl.Series(none if piece.reasons is None else piece.reasons)
        path = self._workspace.folder / f"{len(self._kept)}.arrow"
        with writing_temporary(path):
            pl.DataFrame(columns).write_ipc(path)
        self._kept.append(pl.scan_ipc(path))

    def pieces(self) -> list[pl.LazyFrame]:
        """The output: ids first; a decision is a value of the label; reasons last."""
        import polars as pl

        classes, accepted = pl.Series(self.fitted.classes_), pl.col("accepted")
        no, yes = (pl.lit(value, dtype=classes.dtype) for value in classes)
        decision = pl.when(accepted).then(yes).when(~accepted).then(no)
        ids = [] if self.id_column is None else [pl.col(self.id_column)]
        if (common := id_type(self._id_types, plain=self._plain)) is not None:
            ids = [one.cast(common) for one in ids]
        reason = pl.col(_WHY).replace_strict(
            dict(enumerate(REASONS)) | {0: None}, return_dtype=pl.String
        )
        reasons = [reason.alias("reason")] if self.undecided.count else []
        found = pl.exclude(_WHY, *([] if self.id_column is None else [self.id_column]))
        columns = (*ids, decision.alias("decision"), found, *reasons)
        return [kept.select(*columns) for kept in self._kept]


def _spread(values: NDArray[Any], known: NDArray[np.bool_] | None) -> pl.Series:
    """The values of the known rows, and none for the others."""
    import polars as pl

    if known is None:
        return pl.Series(values)
    everywhere = np.zeros(len(known), values.dtype)
    everywhere[known] = values
    return pl.select(pl.when(pl.Series(known)).then(pl.Series(everywhere))).to_series()


def in_background(work: Callable[[_Item], None], items: Iterable[_Item]) -> None:
    """Do the work for every item in order, while the next one is read."""
    waiting: deque[Future[None]] = deque()
    with ThreadPoolExecutor(1) as other:
        for item in items:
            waiting.append(other.submit(work, item))
            if len(waiting) > 1:  # one is worked at, and one waits
                waiting.popleft().result()
        for work_left in waiting:
            work_left.result()
