"""Many small tables at once: how the audit samples discrete Laplace noise on counts.

The cells of a table have independent noise, so one table contains many *trials*. A trial is two
neighbouring cells, and a pair of neighbours is the two exact counts before and after one record is
added or removed. A table contains only a few trials, so that noise which repeats from release to
release is detected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from dpfair.audit.distinguish import Listening, Mechanism, Sampler

__all__ = [
    "ADDED",
    "OF_A_PERSON",
    "REPLACED",
    "Cells",
    "Release",
    "count_statistics",
    "counted",
    "noisy_counts",
]

Floats = NDArray[np.float64]
Cells = tuple[int, ...]
Release = Callable[[list[int], Listening], list[int]]
"""From the exact counts of all trials to the noisy ones, by one run of the real code."""

_TRIALS = 20

ADDED: Mapping[str, tuple[Cells, Cells]] = {
    "nobody / one record": ((0, 0), (1, 0)),
    "one record / two": ((1, 0), (2, 0)),
    "many records / one more": ((40, 3), (41, 3)),
    "an empty cell beside a full one": ((0, 40), (1, 40)),
    "the other cell": ((3, 0), (3, 1)),
    "the last record leaves": ((1, 7), (0, 7)),
}
REPLACED: Mapping[str, tuple[Cells, Cells]] = {
    "the only record changes its cell": ((1, 0), (0, 1)),
    "one of two changes its cell": ((2, 0), (1, 1)),
    "one of many changes its cell": ((40, 3), (39, 4)),
    "into a full cell": ((1, 40), (0, 41)),
    "out of a full cell": ((41, 0), (40, 1)),
    "back again": ((0, 1), (1, 0)),
}
OF_A_PERSON: Mapping[str, tuple[Cells, Cells]] = {
    "two records in an empty cell": ((0, 0), (2, 0)),
    "two records in a full cell": ((40, 3), (42, 3)),
    "one record in each cell": ((0, 0), (1, 1)),
    "one record only": ((5, 5), (6, 5)),
    "one in each of two full cells": ((30, 40), (31, 41)),
    "two records leave": ((2, 7), (0, 7)),
}


def counted(
    name: str,
    release: Release,
    *,
    epsilon: float,
    pairs: Mapping[str, tuple[Cells, Cells]] = ADDED,
    trials: int = _TRIALS,
    tables: int = 1,
    share: float = 1.0,
) -> Mechanism:
    """A release of noisy counts as a mechanism to test; each run releases ``tables`` tables."""

    def sampler(first: Cells, second: Cells) -> Sampler:
        def sample(samples: int, noise: Listening) -> tuple[Floats, Floats]:
            runs = [
                noisy_counts(release, trial, samples, noise, trials, tables)
                for trial in (first, second)
            ]
            exact = first * tables, second * tables
            return count_statistics(runs[0], *exact), count_statistics(runs[1], *exact)

        return sample

    samplers = {name: sampler(*pair) for name, pair in pairs.items()}
    return Mechanism(name, epsilon, 0.0, samplers, share)


def noisy_counts(
    release: Release,
    trial: Cells,
    samples: int,
    noise: Listening,
    trials: int = _TRIALS,
    tables: int = 1,
) -> NDArray[np.int64]:
    """Noisy counts [sample, cell] of a trial, from as many releases as it takes."""
    rows: list[NDArray[np.int64]] = []
    for _ in range(-(-samples // trials)):
        noisy = np.array(release(list(trial) * trials, noise), dtype=np.int64)
        shape = (tables, trials, len(trial))
        rows.append(noisy.reshape(shape).transpose(1, 0, 2).reshape(trials, -1))
    return np.concatenate(rows)[:samples]


def count_statistics(noisy: NDArray[np.int64], first: Cells, second: Cells) -> Floats:
    """The best statistics: likelihood ratio, changed cells, and their difference from others.

    With noise proportional to exp(-t |z|), the log-likelihood ratio of a count b against a < b is
    t (|x - a| - |x - b|): linear between a and b, constant outside. Comparing cells finds
    noise that they share.
    """
    moved = [j for j, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    ratio = np.zeros(len(noisy))
    for j in moved:
        low, high = sorted((first[j], second[j]))
        ratio += np.clip(noisy[:, j], low, high) * (1 if second[j] > first[j] else -1)
    columns = [ratio, *(noisy[:, j] for j in moved)]
    still = [j for j in range(noisy.shape[1]) if j not in moved]
    columns += [noisy[:, j] - noisy[:, k] for j in moved for k in [*still, *moved] if k != j]
    return np.stack(columns, axis=1).astype(np.float64)
