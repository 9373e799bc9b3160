"""A cluster, a table and the model of it that was fitted in memory."""

from __future__ import annotations

import polars as pl
import pytest
from data.cluster.fitting import FEW, model


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("dask.distributed")
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def table(loans):
    X, y = loans
    frame = X.with_columns(repaid=pl.Series(y)).head(FEW)
    # Values that no schema declares have a place of their own.
    some = pl.int_range(pl.len())
    return frame.with_columns(
        job=pl.when(some % 50 != 0).then("job"),
        sex=pl.when(some % 70 != 1).then("sex").otherwise(pl.lit("?")),
        repaid=pl.when(some % 90 != 2).then("repaid").otherwise(pl.lit("?")),
    )


@pytest.fixture(scope="module")
def in_memory(table):
    return model().fit(table.drop("repaid"), table["repaid"])
