"""Data frames of Dask as partitions, to be computed later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dpfair.data.containers import missing_column
from dpfair.errors import InputError

__all__ = ["frame_tables", "is_dask_frame", "same_columns"]


def is_dask_frame(table: Any) -> bool:
    """Whether a table is a data frame of Dask, without an import of Dask."""
    kind = type(table)
    return kind.__module__.split(".")[0] in ("dask", "dask_expr") and kind.__name__ == "DataFrame"


def frame_tables(frame: Any, labels: Any, names: Sequence[str]) -> list[tuple[Any, Any]]:
    """The partitions of a frame, with these columns, and of its labels: to be computed later."""
    known = [str(name) for name in frame.columns]
    for name in names:
        if name not in known:
            raise missing_column(name, known)
    # Names are compared as text, and selected as they are: numbers, for instance.
    tables = frame[[frame.columns[known.index(name)] for name in names]]
    if labels is None:
        return [(table, None) for table in tables.to_delayed()]
    if getattr(labels, "npartitions", None) != frame.npartitions:
        raise InputError(
            "Expected y to be a Dask series with the partitions of X, or None: labels are then "
            "read from the column of the schema."
        )
    # Otherwise, Dask may read several files as one partition of the one, and not of the other.
    each = (some.to_delayed(optimize_graph=False) for some in (tables, labels))
    return [*zip(*each, strict=True)]


@contextmanager
def same_columns() -> Iterator[None]:
    """Refuse a partition without a column that the frame has, where partitions are computed."""
    try:
        yield
    except KeyError:
        raise InputError(
            "A partition of the table lacks a column: all of them need those that the frame has."
        ) from None
