"""The option ``--dask``: the workers of a Dask cluster read and train, or make many runs."""

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

__all__ = [
    "DaskAddress",
    "DaskForRuns",
    "files_on_workers",
    "local_workers",
    "runs_on",
    "workers",
]

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
DaskForRuns = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Make the runs on all workers of the Dask scheduler at this address, whatever --jobs "
        "is, or local: one worker per processor, for this command. The results are the same.",
    ),
]


@contextmanager
def runs_on(address: str | None) -> Iterator[None]:
    """Joblib makes its calls on the workers of a cluster; without an address, as otherwise."""
    with workers(address) as client:
        if client is None:
            yield
            return
        from joblib import parallel_config

        from dpfair.experiments.dask_backend import DaskBackend

        try:
            with parallel_config(backend=DaskBackend(client)):
                yield
        except TimeoutError:
            raise InputError("The Dask scheduler has no workers to make the runs.") from None


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
                "The Dask cluster gave up: its scheduler ended, or too many workers did, perhaps "
                "for want of memory. Smaller pieces of a table need less of it (fit --memory)."
            ) from None


@contextmanager
def _client(address: str) -> Iterator[Any]:
    from dask.distributed import Client

    if address == LOCAL:
        client = local_workers()
        with client.cluster, client:
            yield client
        return
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError):
        raise InputError(f"No Dask scheduler answers at {address}.") from None
    with client:
        yield client


def local_workers(count: int | None = None) -> Any:
    """The client of a cluster on this computer: so many workers, or one per processor."""
    from dask import config
    from dask.distributed import Client, LocalCluster

    settings = {
        "distributed.nanny.pre-spawn-environ.POLARS_MAX_THREADS": 1,  # a worker reads by one thread
        # Everybody on this computer could open their pages. Dask starts its servers all the same;
        # these have no page.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with config.set(settings):
        cluster = LocalCluster(
            n_workers=count,
            processes=True,
            threads_per_worker=1,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,  # errors are raised here, too
        )
    return Client(cluster)


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
