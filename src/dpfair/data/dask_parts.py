"""Parts of records on the workers of a Dask cluster.

A partition is encoded once, where it was computed. Then the partitions are dealt to shares of about
as many records, one for each thread of the workers, and stay there. A measure is sent to every
worker, and only sums come back. A worker is asked directly, which is faster than a task of Dask. If
it is lost, or has lost or moved a share, Dask finds the share or computes it again from its source,
so a source has to give the same rows in the same order every time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import Any, Self

from dpfair.data.dask_frames import same_columns
from dpfair.data.dask_shares import equal_shares
from dpfair.data.in_parts import InParts, added
from dpfair.data.records import Addends, Records
from dpfair.data.threads import one_thread
from dpfair.errors import InputError, warn

__all__ = ["PATIENCE", "OnWorkers", "check_workers", "current_client"]

PATIENCE = "20s"
"""How long to wait for a cluster, and for its workers."""


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

        check_workers(client)
        encode = delayed(encode, pure=False)
        read = client.compute([encode(*table) for table in tables])
        try:
            with same_columns():
                lengths = client.gather(client.map(len, read, pure=False))
            firsts = [*accumulate(lengths, initial=0)][:-1]
            parts = client.map(_placed, read, firsts, lengths, pure=False)
            shares = equal_shares(client, dict(zip(parts, lengths, strict=True)))
            _wait(shares)
            return cls(client, shares)
        except BaseException:
            _cancel(client, read)
            raise

    def __len__(self) -> int:
        return sum(self._each(len))

    def total(self, measure: Callable[[Records], Addends]) -> Addends:
        """Sums over all records."""
        sums: Addends = added(self._each(partial(_total, measure)))
        return sums

    def map(self, change: Callable[[Records], Records]) -> Self:
        """The records after a change of each of them alone."""
        changed = self._tasks(partial(_changed, change), self._shares)
        # A worker that has nothing to do takes tasks that wait for another one, and their records.
        _wait(changed)
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

    def _each(self, question: Callable[[InParts], Any]) -> list[Any]:
        """An answer for every share."""
        keys = [share.key for share in chain(*self._shares.values())]
        # Dask tries for long to reach a worker that is gone, unless it is told that it is.
        there = [worker for worker in self._client.nthreads() if worker in self._shares]
        found = self._client.run(_answers, question, keys, workers=there, on_error="return")
        answers: dict[str, Any] = {}
        for some in found.values():
            answers |= some if isinstance(some, dict) else {}
        if len(answers) < len(keys):
            if not self._client.nthreads():
                address = self._client.scheduler.address
                warn(
                    "All Dask workers are gone: the fit waits for new ones (dask worker "
                    f"{address}), without an end.",
                    UserWarning,
                )
            left = {
                worker: [share for share in shares if share.key not in answers]
                for worker, shares in self._shares.items()
            }
            lacking = [share.key for share in chain(*left.values())]
            asked = [*chain(*self._tasks(question, left).values())]
            answers |= zip(lacking, self._client.gather(asked), strict=True)
            self._shares = self._found()
        return [answers[key] for key in keys]

    def _tasks(
        self, task: Callable[[InParts], Any], shares: Mapping[str, Sequence[Any]]
    ) -> dict[str, list[Any]]:
        """The future of a task for every share, done where the share is.

        Otherwise Dask, which knows little about a task, may let one worker take the shares of
        another one. A worker that is lost is replaced by any other.
        """
        # With pure=True, a result would be looked up by a digest of the whole task.
        how = {"pure": False, "allow_other_workers": True}
        return {
            worker: self._client.map(task, some, workers=[worker], **how)
            for worker, some in shares.items()
        }

    def _found(self) -> dict[str, list[Any]]:
        """The shares by the workers that hold them now."""
        shares: dict[str, list[Any]] = {}
        places = self._client.who_has([*chain(*self._shares.values())])
        for before, some in self._shares.items():
            for share in some:
                holders = places[share.key] or (before,)
                fewest = min(holders, key=lambda worker: len(shares.get(worker, ())))
                shares.setdefault(before if before in holders else fewest, []).append(share)
        return shares


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, which would let a fit wait for ever."""
    if client.nthreads():
        return
    try:
        # A cluster that adapts to its tasks starts workers when there is one.
        client.submit(int, pure=False).result(timeout=PATIENCE)
    except TimeoutError:
        address = client.scheduler.address
        raise InputError(
            f"The Dask scheduler at {address!r} has no workers: start some (dask worker {address})."
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


async def _answers(
    question: Callable[[InParts], Any], keys: Sequence[str], dask_worker: Any
) -> dict[str, Any]:
    """The answers for those shares that a worker holds, by their keys."""
    answers, threads = dict[str, Any](), dask_worker.executors["default"]
    # A share may have to be read from a file: as many are in memory as are looked at.
    room = asyncio.Semaphore(dask_worker.state.nthreads)

    async def answer(key: str) -> None:
        async with room:
            if (share := dask_worker.data.get(key)) is not None:
                run = asyncio.get_running_loop().run_in_executor
                answers[key] = await run(threads, question, share)

    await asyncio.gather(*map(answer, keys))
    return answers


def _wait(shares: Mapping[str, Sequence[Any]]) -> None:
    from dask.distributed import wait

    wait([*chain(*shares.values())])


def _total(measure: Callable[[Records], Addends], share: InParts) -> Addends:
    with one_thread():  # the worker's other threads have shares of their own
        return share.total(partial(_alone, measure))


def _alone(measure: Callable[[Records], Addends], records: Records) -> Addends:
    # A task that was given up may still run on another thread.
    with records.kept.lock:
        return measure(records)


def _changed(change: Callable[[Records], Records], share: InParts) -> InParts:
    return share.map(change)
