"""Which records a contender is fitted to and tested on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpfair.experiments.benchmark import TEST_SHARE, split
from dpfair.privacy.noise import Noise

__all__ = ["split_clusters"]

# The coins of clusters, far from those of other splits, models and ties.
_CLUSTER_SEED = 4 * 10**9


def split_clusters(
    clusters: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the records to fit and to test on: three quarters and one, or nearly so.

    Records of one cluster stay together. If every record is a cluster of its own, this is the split
    of the other experiments.

    >>> rest, test = split_clusters(np.array([0, 0, 1, 1, 2, 2, 3, 3]), 0)
    >>> test.tolist()
    [4, 5]
    """
    sizes = np.bincount(clusters)
    if sizes.max() == 1:
        return split(len(clusters), seed)
    order = np.argsort(Noise(_CLUSTER_SEED + seed).uniforms(len(sizes)), kind="stable")
    tested = order[np.cumsum(sizes[order]) <= TEST_SHARE * len(clusters)]
    is_test = np.isin(clusters, tested)
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)
