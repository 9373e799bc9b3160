"""The noise of a placed threshold is never taken for smaller than it is."""

import math

import numpy as np
import pytest
from fairness.tables import discrete_laplace

from dpfair.fairness.bounds.deviations import Deviation, lift, shortfalls, sum_quantiles
from dpfair.fairness.laplace_sums import noise_masses


def survival(noise, law=0):
    order = np.argsort(noise.places)
    places, masses = noise.places[order], noise.masses[order, law]
    return lambda z: masses[places >= z].sum()


@pytest.mark.parametrize(("t", "target"), [(0.3, 0.2), (2.0, 0.5), (1.0, 0.0), (1.0, 0.9)])
def test_the_lift_is_above_the_maximum_of_the_walk(t, target):
    rng = np.random.default_rng(0)
    walks = np.cumsum(discrete_laplace(rng, t, (100_000, 12)), axis=1)
    lifts = np.maximum(walks.max(axis=1), 0) - target * walks[:, -1]
    law = survival(lift(t, 12, target))
    for z in np.quantile(lifts, [0.5, 0.9, 0.99, 0.999]):
        seen = (lifts >= z).mean()
        assert law(z) >= seen - 4 * math.sqrt(seen / 100_000)
        assert law(z) <= 2 * seen + 0.01  # not by much


def test_a_lift_of_one_step_is_nearly_exact():
    exact = noise_masses(0.5, 1)
    ends = np.arange(len(exact)) - len(exact) // 2
    law = survival(lift(0.5, 1, 0.25))
    for z in (0.5, 1.0, 3.0, 8.0):
        true = exact[np.maximum(ends, 0) - 0.25 * ends >= z].sum()
        assert true <= law(z) <= 3 * true


@pytest.mark.parametrize("t", [0.3, 2.0])
def test_shortfalls_are_the_noise_of_each_edge(t):
    rng = np.random.default_rng(0)
    cells = discrete_laplace(rng, t, (100_000, 3, 2)).sum(axis=2)  # three bins of two rows
    laws = shortfalls(t, 2, 3, 0.3)
    assert laws.masses.sum(axis=0) == pytest.approx(1)
    for above in range(4):
        seen = 0.7 * cells[:, :above].sum(axis=1) + 0.3 * cells[:, above:].sum(axis=1)
        for z in np.quantile(seen, [0.2, 0.5, 0.9, 0.99]) - 1e-6:
            share = (seen >= z).mean()
            assert survival(laws, above)(z) >= share - 4 * math.sqrt(share / 100_000)
            assert survival(laws, above)(z) <= (seen >= z - 0.5 / t).mean() + 0.01


def test_exact_counts_have_no_noise():
    assert lift(math.inf, 10, 0.2).places.tolist() == [0]
    laws = shortfalls(math.inf, 2, 5, 0.2)
    assert laws.places == pytest.approx([0], abs=1e-9)
    assert laws.masses.tolist() == [[1.0] * 6]


def test_a_deviation_has_quantiles_and_a_largest_value():
    points = np.linspace(0, 1, 11)
    deviation = Deviation(points, 1 - points)
    assert deviation.quantile(0.35) == pytest.approx(0.7)
    assert Deviation(points, np.ones(11)).quantile(0.5) == 1
    assert deviation.at_most(0.5).quantile(0.01) == 0.5


def test_a_sum_of_two_deviations_against_all_pairs_of_points():
    rng = np.random.default_rng(0)
    points = np.linspace(0, 1, 21)
    above, below = (
        [Deviation(points, np.sort(rng.random(21))[::-1] * (points < 0.9)) for _ in range(2)]
        for _ in range(2)
    )
    found = sum_quantiles(above, below, 0.2)
    for i, j in np.ndindex(2, 2):
        first, second = (-np.diff(d.above, prepend=1.0) for d in (above[i], below[j]))
        exceeds = np.outer(first, second)[np.add.outer(points, points) > found[i, j]].sum()
        assert exceeds <= 0.2
        closer = np.add.outer(points, points) > found[i, j] - 0.06
        assert np.outer(first, second)[closer].sum() > 0.2
