"""Tables of Dask, and parts of records on the workers of a cluster.

A partition is encoded once, where it was computed, and its records stay there. A measure is sent to
all of them, and only its sums come back. If a worker is lost, Dask computes its partitions again
from their source, so a source has to give the same rows in the same order every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import Any, Self

from dpfair.data.containers import missing_column
from dpfair.data.in_parts import added
from dpfair.data.records import Addends, Records
from dpfair.errors import InputError

__all__ = ["OnWorkers", "current_client", "frame_tables", "is_dask_frame"]


class OnWorkers:
    """The records of a table in parts, each of them on a worker.

    Parameters
    ----------
    client
        The connection to the cluster.
    parts
        The futures of the records of every part, in the order of the table.
    """

    # A person may have records in several parts; nobody looks for them.
    units: None = None

    def __init__(self, client: Any, parts: Sequence[Any]) -> None:
        self._client, self._parts = client, parts

    @classmethod
    def encoded(
        cls,
        client: Any,
        tables: Iterable[tuple[Any, Any]],
        encode: Callable[[Any, Any], Records],
    ) -> Self:
        """Records of tables, each with its labels or None, that Dask computes later."""
        from dask.delayed import delayed

        encode = delayed(encode, pure=False)
        found = cls(client, client.compute([encode(*table) for table in tables]))
        lengths = found._each(len)
        firsts = [*accumulate(lengths, initial=0)][:-1]
        return cls(client, client.map(_placed, found._parts, firsts, lengths, pure=False))

    def __len__(self) -> int:
        return sum(self._each(len))

    def total(self, measure: Callable[[Records], Addends]) -> Addends:
        """Sums over all records."""
        sums: Addends = added(self._each(_total, measure=measure))
        return sums

    def map(self, change: Callable[[Records], Records]) -> Self:
        """The records after a change of each of them alone."""
        changed = self._client.map(_changed, self._parts, change=change, pure=False)
        return type(self)(self._client, changed)

    def declared(self) -> Self:
        """The records of a declared group and label."""
        return self.map(Records.declared)

    def forget(self) -> None:
        """Drop what was kept."""
        self._each(Records.forget)

    def close(self) -> None:
        """Let the workers forget the records."""
        self._parts = ()

    def _each(self, question: Callable[..., Any], **how: Any) -> list[Any]:
        """An answer for every part, in their order."""
        # With pure=True, an answer would be looked up by a digest of the whole question.
        asked = self._client.map(question, self._parts, pure=False, **how)
        answers: list[Any] = self._client.gather(asked)
        return answers


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
    tables = frame[[*names]].to_delayed()
    if labels is None:
        return [(table, None) for table in tables]
    if getattr(labels, "npartitions", None) != frame.npartitions:
        raise InputError(
            "Expected y to be a Dask series with the partitions of X, or None: labels are then "
            "read from the column of the schema."
        )
    return [*zip(tables, labels.to_delayed(), strict=True)]


def current_client() -> Any:
    """The client of a cluster that is in use, or None."""
    with suppress(ImportError, ValueError):
        from dask.distributed import get_client

        return get_client()
    return None


def _placed(records: Records, first: int, length: int) -> Records:
    """The same records, behind those of earlier parts."""
    if len(records) != length:  # it was computed again
        raise InputError("A partition has other rows than when it was first computed.")
    return replace(records, first=first)


def _total(records: Records, measure: Callable[[Records], Addends]) -> Addends:
    # A task that was given up may still run on another thread.
    with records.kept.lock:
        return records.total(measure)


def _changed(records: Records, change: Callable[[Records], Records]) -> Records:
    return records.map(change)
