"""Fits of tables on a cluster, and what has to be the same in memory."""

from __future__ import annotations

import numpy as np
from sample_tables import LOANS

from dpfair import BlockLearner, PrivateFairClassifier, Schema

__all__ = ["FEW", "SCHEMA", "assert_same", "in_dask", "model"]

SCHEMA = Schema.from_dict(LOANS)
FEW = 600


def model(**settings):
    # Without evidence, blocks are always visited.
    learner = BlockLearner(**BlockLearner.quick)
    settings = {"schema": SCHEMA, "learner": learner, "random_state": 5, **settings}
    return PrivateFairClassifier(2, **settings)


def in_dask(table, partitions):
    import dask.dataframe as dd

    return dd.from_pandas(table.to_pandas(), npartitions=partitions)


def assert_same(one, two):
    tensors = [fit.scorer_.tensors() for fit in (one, two)]
    assert tensors[0].keys() == tensors[1].keys()
    assert all((tensors[0][name] == tensors[1][name]).all() for name in tensors[0])
    assert one.fitted_.releases.keys() == two.fitted_.releases.keys()
    for name, release in one.fitted_.releases.items():
        assert (np.asarray(release.counts) == two.fitted_.releases[name].counts).all()
    assert str(one.certificate_) == str(two.certificate_)
    assert str(one.ledger_) == str(two.ledger_)
