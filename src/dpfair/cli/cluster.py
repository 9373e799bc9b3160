"""The option ``--dask``: the workers of a Dask cluster read and train, or make many runs."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfair.cli.progress import working
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

        with parallel_config(backend=DaskBackend(client=client)):
            yield


@contextmanager
def workers(address: str | None, *, if_lost: str = "") -> Iterator[Any]:
    """The client of a cluster while it is needed; None without an address.

    ``if_lost`` says what to do if the cluster is lost.
    """
    if address is None:
        yield None
        return
    try:
        from dask.distributed import CancelledError
    except ImportError:
        raise InputError("--dask needs an additional package: pip install 'dpfair[dask]'") from None
    with _quiet(), _client(address) as client:
        try:
            yield client
        except (Exception, CancelledError) as error:
            if not isinstance(error, CancelledError) and not _of_dask(error):
                raise
            raise InputError(
                "The Dask cluster gave up: its scheduler ended, or too many workers did, perhaps "
                "for want of memory. Smaller pieces of a table need less of it (fit --memory). "
                f"{if_lost}"
            ) from None


def _of_dask(error: BaseException) -> bool:
    return type(error).__module__.split(".")[0] == "distributed"


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what Dask logs about a lost connection: the error is raised here, too."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    from dask.distributed import Client

    from dpfair.data.dask_parts import PATIENCE, check_workers

    if address == LOCAL:
        client = local_workers()
        with client.cluster, client:
            yield client
        return
    try:
        with working(f"connecting to {address}"):
            client = Client(address, timeout=PATIENCE)
    except Exception:  # OSError, and others that depend on the form of the address
        tls = "; tls:// needs certificates in the configuration of Dask (distributed.comm.tls)"
        raise InputError(
            f"No Dask scheduler answers at {address!r}: expected local, or an address such as "
            f"tls://scheduler:8786{tls if address.startswith('tls:') else ''}."
        ) from None
    with client:
        check_workers(client)
        yield client


def local_workers(count: int | None = None) -> Any:
    """The client of a cluster on this computer: so many workers, or one per processor."""
    from dask import config
    from dask.distributed import Client, LocalCluster

    settings = {
        "distributed.nanny.pre-spawn-environ.POLARS_MAX_THREADS": 1,  # a worker reads by one thread
        # As Dask starts workers, they give all memory back at once, and have to get it again for
        # every array.
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
        # Everybody on this computer could open their pages. Dask starts its servers all the same;
        # these have no page.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with config.set(settings), _without_interrupts():
        cluster = LocalCluster(
            n_workers=count,
            processes=True,
            threads_per_worker=1,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,  # errors are raised here, too
        )
    return Client(cluster)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: it would end them with tracebacks before we close them.

    Until they are started, this process ignores it, too.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
