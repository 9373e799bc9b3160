"""``dpfair fit --dask``: DATA is read, and trained on, by the workers of a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair.cli.tables import data_files
from dpfair.errors import InputError

if TYPE_CHECKING:
    from dpfair.data.file_form import FileForm
    from dpfair.data.worker_files import FilesOnWorkers

__all__ = ["DaskAddress", "files_on_workers", "workers"]

LOCAL = "local"
"""The address of a cluster that is started for one command."""

PIECE = 1 << 27
"""How many bytes the rows of a piece may take, unless --memory states it."""

_PATIENCE = "20s"

DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Read DATA and train on the workers of the Dask scheduler at this address, or local: "
        "one worker per processor, for this command. Workers must find the files under the same "
        "names. See docs/large_tables.md.",
    ),
]


@contextmanager
def workers(address: str | None) -> Iterator[Any]:
    """The client of a cluster while it is needed; None without an address."""
    if address is None:
        yield None
        return
    try:
        from dask.distributed import CancelledError, KilledWorker
    except ImportError:
        raise InputError("--dask needs an additional package: pip install 'dpfair[dask]'") from None
    with _client(address) as client:
        try:
            yield client
        except (CancelledError, KilledWorker):
            raise InputError(
                "The Dask cluster gave up: its scheduler ended, or too many workers did. Pieces of "
                "DATA that take less memory may help (--memory)."
            ) from None


@contextmanager
def _client(address: str) -> Iterator[Any]:
    from dask.distributed import Client, LocalCluster

    if address == LOCAL:
        with (
            LocalCluster(
                processes=True,
                threads_per_worker=1,
                dashboard_address=None,  # which everybody on this computer could open
                silence_logs=logging.CRITICAL,  # errors are raised here, too
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError):
        raise InputError(f"No Dask scheduler answers at {address}.") from None
    with client:
        yield client


def files_on_workers(
    client: Any, data: str, memory: int | None, file: FileForm, *, why_whole: str
) -> FilesOnWorkers:
    """The files of DATA, to be read by workers in pieces of about ``memory`` bytes."""
    from dpfair.data.table_files import TableFiles
    from dpfair.data.worker_files import FilesOnWorkers

    if why_whole:
        raise InputError(f"{why_whole}: give one file, and leave out --dask.")
    paths = tuple(path.absolute() for path in data_files(data))
    if not paths:
        raise InputError(f"--dask is for files, and {data} is none: leave it out.")
    return FilesOnWorkers(TableFiles(paths, file, PIECE if memory is None else memory), client)
