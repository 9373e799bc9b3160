"""Tables of Dask, and parts of records on the workers of a cluster.

A partition is encoded once, where it was computed. Then the partitions are dealt to shares of about
as many records, one for each thread of the workers, and stay there. A measure is sent to every
share, and only its sums come back: a question has as many tasks as the cluster has threads, or a
few more for very many records, however many partitions there are. If a worker is lost, Dask
computes its partitions again from their source, so a source has to give the same rows in the same
order every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import Any, Self

from dpfair.data.containers import missing_column
from dpfair.data.dask_shares import equal_shares
from dpfair.data.in_parts import InParts, added
from dpfair.data.records import Addends, Records
from dpfair.data.threads import one_thread
from dpfair.errors import InputError

__all__ = ["OnWorkers", "current_client", "frame_tables", "is_dask_frame", "same_columns"]


class OnWorkers:
    """The records of a table, on the workers of a cluster.

    Parameters
    ----------
    client
        The connection to the cluster.
    shares
        The futures of some of the records each (:class:`~dpfair.data.in_parts.InParts`), by the
        worker that holds them.
    """

    # A person may have records in several parts; nobody looks for them.
    units: None = None

    def __init__(self, client: Any, shares: Mapping[str, Sequence[Any]]) -> None:
        self._client, self._shares = client, shares

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
        read = client.compute([encode(*table) for table in tables])
        try:
            with same_columns():
                lengths = client.gather(client.map(len, read, pure=False))
            firsts = [*accumulate(lengths, initial=0)][:-1]
            parts = client.map(_placed, read, firsts, lengths, pure=False)
            return cls(client, equal_shares(client, dict(zip(parts, lengths, strict=True))))
        except BaseException:
            _cancel(client, read)
            raise

    def __len__(self) -> int:
        return sum(self._each(len))

    def total(self, measure: Callable[[Records], Addends]) -> Addends:
        """Sums over all records."""
        sums: Addends = added(self._each(_total, measure=measure))
        return sums

    def map(self, change: Callable[[Records], Records]) -> Self:
        """The records after a change of each of them alone."""
        from dask.distributed import wait

        changed = self._sent(_changed, change=change)
        # A worker that has nothing to do takes tasks that wait for another one, and their records.
        wait([*chain(*changed.values())])
        return type(self)(self._client, changed)

    def declared(self) -> Self:
        """The records of a declared group and label."""
        return self.map(Records.declared)

    def forget(self) -> None:
        """Drop what was kept."""
        self._each(InParts.forget)

    def check_room(self, each: int) -> None:
        """Nothing is written here."""

    def close(self) -> None:
        """Let the workers forget the records, and what was made of them."""
        _cancel(self._client, [*chain(*self._shares.values())])
        self._shares = {}

    def _each(self, question: Callable[..., Any], **how: Any) -> list[Any]:
        """An answer for every share."""
        sent = self._sent(question, **how).values()
        answers: list[Any] = self._client.gather([*chain(*sent)])
        return answers

    def _sent(self, question: Callable[..., Any], **how: Any) -> dict[str, list[Any]]:
        """The future of an answer for every share, made where the share is.

        Otherwise Dask, which knows little about a question, may let one worker take the shares of
        another one. A worker that is lost is replaced by any other.
        """
        # With pure=True, an answer would be looked up by a digest of the whole question.
        how |= {"pure": False, "allow_other_workers": True}
        return {
            worker: self._client.map(question, shares, workers=[worker], **how)
            for worker, shares in self._shares.items()
        }


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
    tables = frame[[frame.columns[known.index(name)] for name in names]].to_delayed()
    if labels is None:
        return [(table, None) for table in tables]
    if getattr(labels, "npartitions", None) != frame.npartitions:
        raise InputError(
            "Expected y to be a Dask series with the partitions of X, or None: labels are then "
            "read from the column of the schema."
        )
    return [*zip(tables, labels.to_delayed(), strict=True)]


@contextmanager
def same_columns() -> Iterator[None]:
    """Refuse a partition without a column that the frame has, where partitions are computed."""
    try:
        yield
    except KeyError:
        raise InputError(
            "A partition of the table lacks a column: all of them need those that the frame has."
        ) from None


def current_client() -> Any:
    """The client of a cluster that is in use, or None."""
    with suppress(ImportError, ValueError):
        from dask.distributed import get_client

        return get_client()
    return None


def _cancel(client: Any, futures: Sequence[Any]) -> None:
    """Have the results forgotten, although an error that is kept may still refer to them."""
    with suppress(Exception):  # a cluster that has ended has forgotten them
        client.cancel(futures)


def _placed(records: Records, first: int, length: int) -> Records:
    """The same records, behind those of earlier parts."""
    if len(records) != length:  # it was computed again
        raise InputError("A partition has other rows than when it was first computed.")
    return replace(records, first=first)


def _total(share: InParts, measure: Callable[[Records], Addends]) -> Addends:
    with one_thread():  # the worker's other threads have shares of their own
        return share.total(partial(_alone, measure))


def _alone(measure: Callable[[Records], Addends], records: Records) -> Addends:
    # A task that was given up may still run on another thread.
    with records.kept.lock:
        return measure(records)


def _changed(share: InParts, change: Callable[[Records], Records]) -> InParts:
    return share.map(change)
