"""Our fit of Parquet files by workers on this computer, each with one thread."""

from __future__ import annotations

from benchmarks.bench.contenders.dpfair_fit import MEMORY, WARM_ROWS
from benchmarks.bench.inputs import DELTA, EPSILON, Inputs
from benchmarks.bench.task import Call
from dpfair import PrivateFairClassifier, TableFiles
from dpfair.cli.cluster import local_workers
from dpfair.data.worker_files import FilesOnWorkers


def one_worker(inputs: Inputs) -> Call:
    """All work of the records on one."""
    return fit_by(1, inputs)


def two_workers(inputs: Inputs) -> Call:
    """The same on two."""
    return fit_by(2, inputs)


def fit_by(workers: int, inputs: Inputs) -> Call:
    """A fit, after a small one on the same workers; they end with this process."""
    client = local_workers(workers)
    schema = inputs.schema
    small = TableFiles((inputs.with_rows(WARM_ROWS).parquet,), memory=1 << 16)
    warm = PrivateFairClassifier(EPSILON / 2, DELTA, schema=schema, random_state=0)
    warm.fit(FilesOnWorkers(small, client))
    files = TableFiles.named(inputs.parquet_files, memory=MEMORY)
    model = PrivateFairClassifier(EPSILON, DELTA, schema=schema, random_state=1)
    return Call(lambda: model.fit(FilesOnWorkers(files, client)), inputs.rows)
