"""The parts of a table on a cluster, dealt to the threads of its workers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpfair.data.in_parts import InParts

__all__ = ["equal_shares"]

# The records of a share, at most: a worker that is short of memory writes whole shares to files.
_MOST = 1 << 25


@dataclass
class _Share:
    """What one thread looks at."""

    worker: str
    parts: list[Any] = field(default_factory=list)
    rows: int = 0

    def add(self, part: Any, rows: int) -> None:
        self.parts.append(part)
        self.rows += rows

    def divided(self) -> Iterator[list[Any]]:
        """All parts at once, unless they have too many records."""
        count = min(len(self.parts), max(1, math.ceil(self.rows / _MOST)))
        return (self.parts[i::count] for i in range(count))


def equal_shares(client: Any, rows: Mapping[Any, int]) -> dict[str, list[Any]]:
    """Futures of the parts, together for a thread (:class:`~dpfair.data.in_parts.InParts`).

    The result has the shares of every worker.

    ``rows`` has the numbers of records by the futures of the parts. Every question waits for the
    largest share, so parts are moved to where there are fewer records, but no more than needed:
    that a worker encoded more parts than others may be an accident.
    """
    from dask.distributed import wait

    wait([*rows])
    client.wait_for_workers(1)
    threads = [_Share(worker) for worker, count in client.nthreads().items() for _ in range(count)]
    places, fair = client.who_has([*rows]), sum(rows.values()) / len(threads)
    moved = []
    for part, length in rows.items():
        near = [share for share in threads if share.worker in places[part.key]]
        share = min(near, key=lambda share: share.rows, default=None)
        if share is None or share.rows + length / 2 > fair:
            moved.append(part)
        else:
            share.add(part, rows[part])
    for part in moved:
        min(threads, key=lambda share: share.rows).add(part, rows[part])
    made: dict[str, list[Any]] = {}
    for share in threads:
        where: dict[str, Any] = {"workers": [share.worker], "allow_other_workers": True}
        for parts in share.divided():
            future = client.submit(InParts, parts, **where, pure=False)
            made.setdefault(share.worker, []).append(future)
    return made
