"""Bounds of placements are alike, and shrink with the records."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from fairness.bounds.placement.worlds import PARITY, implied, lumps, releases, smooth
from fairness.tables import discrete_laplace

from dpfair.fairness.bounds.placement import placement_bound
from dpfair.fairness.dither import placement_grid
from dpfair.fairness.goal import Goal
from dpfair.fairness.planning import planned_rates
from dpfair.fairness.release import Release, score_grid


def plan_of(trial, sizes, epsilon, seed) -> Release:
    """A planning table: other records, wide bins, scores that are not dithered."""
    rng, k = np.random.default_rng(1000 + seed), len(sizes)
    edges = np.tile(score_grid(epsilon), (k, 1))
    bins = np.searchsorted(edges[0], trial.scores, side="right")
    counts = np.zeros((k, 2, edges.shape[1] + 1), dtype=np.int64)
    for table, n, weight in zip(counts, sizes, trial.weights, strict=True):
        both = np.stack([weight * (1 - trial.positive), weight * trial.positive])
        drawn = rng.multinomial(n, both.ravel() / both.sum()).reshape(both.shape)
        for row, part in zip(table, drawn, strict=True):
            np.add.at(row, bins, part)
    noise = discrete_laplace(rng, epsilon, counts.shape)
    return Release(tuple("abcdef"[:k]), edges, counts + noise, (epsilon,) * k, None, "")


def planned_bounds(trial, n, count, *, wrong=0.0, plans=2) -> list[float]:
    """Bounds of placements from plan to release, half of n records in each."""
    sizes, bounds = (n // 6, n // 3), []
    for seed in range(plans):
        plan = plan_of(trial, sizes, 0.3, seed)
        target = planned_rates(plan, Goal(PARITY), smallest=50, ratio=1.0)
        windows = [
            replace(w, ends=tuple(min(1.0, e + wrong) for e in w.ends)) for w in target.windows
        ]
        edges = placement_grid(windows, 3.0)
        for release in releases(trial, sizes, edges, 3.0, count // plans, seed):
            bound = placement_bound(release, PARITY, target.rates, 0.95)
            assert bound.bound <= implied(bound) + 1e-12
            bounds.append(bound.bound)
    return bounds


def check_scaling(count, sizes=(10**4, 10**6)):
    medians = []
    for n in sizes:
        bounds = planned_bounds(smooth(2), n, count)
        assert max(bounds) <= 1.5 * np.median(bounds)
        medians.append(float(np.median(bounds)) * math.sqrt(n))
    assert max(medians) <= 1.5 * min(medians)  # like 1 / sqrt(n)


def check_hard_cases(count, plans, sizes=(10**4, 10**5)):
    """Few scores, or a window that misses: no bound far from the others, and no worse with n."""
    for trial, wrong in ((lumps(2), 0.0), (smooth(2), 0.25)):
        medians = []
        for n in sizes:
            bounds = planned_bounds(trial, n, count, wrong=wrong, plans=plans)
            assert max(bounds) <= 1.5 * np.median(bounds)
            medians.append(np.median(bounds))
        assert medians == sorted(medians, reverse=True)


def test_bounds_of_placements_are_alike_and_shrink_with_the_records():
    check_scaling(6)


def test_bounds_of_hard_placements_are_alike():
    check_hard_cases(4, plans=1)


@pytest.mark.slow
def test_bounds_of_many_placements_are_alike():
    check_scaling(20, (10**4, 10**5, 10**6))
    check_hard_cases(20, 4, (10**4, 10**5, 10**6))


def test_the_bound_of_a_table_like_adult():
    """What the module is for: 17,000 counted records, epsilon 3, a rate of 0.2."""
    trial = smooth(2)
    edges = placement_grid(trial.windows((0.2, 0.2), PARITY, (5500, 11500)), 3.0)
    [release] = releases(trial, (5500, 11500), edges, 3.0, 1)
    assert placement_bound(release, PARITY, [0.2, 0.2], 0.95).bound < 0.0155
