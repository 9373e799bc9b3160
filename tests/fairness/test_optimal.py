"""The linear program against brute force, and rules against the lotteries they come from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from fairness.tables import counts_of, edges_of
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.errors import InputError
from dpfair.fairness.goal import Goal
from dpfair.fairness.lottery import Choice, interpolated_lottery
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.optimal import optimal_choice

PARITY = NOTIONS["demographic_parity"]
ACCEPTED = PARITY.statistics[0]


def solve(counts, goal) -> Choice:
    return optimal_choice(counts, counts, edges_of(counts), goal)


def value_of(counts, lottery, goal) -> tuple[float, float, float]:
    """Gain, gap and acceptance of a lottery, written out bin by bin."""
    groups, _, bins = counts.shape
    accept = np.cumsum(lottery, axis=1)[:, :bins]  # P(accept | bin)
    right_accepted = (counts[:, 1] * accept).sum()
    wrong_accepted = (counts[:, 0] * accept).sum()
    total = counts.sum()
    gain = (goal.costs[1] * right_accepted - goal.costs[0] * wrong_accepted) / total
    rows = []
    for statistic in goal.notion.statistics:
        row = []
        for a in range(groups):
            if statistic.correct:
                hits = (counts[a, 1] * accept[a] + counts[a, 0] * (1 - accept[a])).sum()
                row.append(hits / counts[a].sum())
            else:
                part = counts[a, list(statistic.labels)].sum(axis=0)
                row.append((part * accept[a]).sum() / part.sum())
        rows.append(row)
    gap = goal.notion.gap(rows) if groups > 1 else 0.0
    return gain, gap, (right_accepted + wrong_accepted) / total


def lotteries(thresholds: int, steps: int) -> np.ndarray:
    """All lotteries with weights in multiples of 1 / steps."""
    parts = [p for p in itertools.product(range(steps + 1), repeat=thresholds) if sum(p) == steps]
    return np.array(parts) / steps


AIMS = [
    {},
    {"tolerance": 0.1},
    {"costs": (3.0, 1.0), "tolerance": 0.05},
    {"capacity": 0.3, "tolerance": 0.02},
    {"costs": (0.1, 1.0), "capacity": 0.25, "tolerance": 0.2},
]
RIVALS = np.array(list(itertools.product(lotteries(4, 5), repeat=2)))


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
@pytest.mark.parametrize("options", AIMS, ids=str)
def test_no_lottery_is_better(notion, options):
    """Against all pairs of lotteries with weights in fifths; a grid needs a little more room."""
    for seed in range(3):
        counts = counts_of(seed)
        goal = Goal(notion, **options)
        choice = solve(counts, goal)
        _, gap, acceptance = value_of(counts, choice.lottery, goal)
        assert gap <= goal.tolerance + 1e-7
        assert choice.gap(notion) == pytest.approx(gap, abs=1e-9)
        if goal.capacity is not None:
            assert acceptance <= goal.capacity + 1e-7
        wider = Goal(notion, **{**options, "tolerance": goal.tolerance + 0.03})
        gain, _, _ = value_of(counts, solve(counts, wider).lottery, wider)
        fits = 0
        for rival in RIVALS[seed::7]:
            found = value_of(counts, rival, wider)
            if found[1] <= wider.tolerance and found[2] <= (goal.capacity or 1.0):
                fits += 1
                assert found[0] <= gain + 1e-7
        assert fits > 0


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_a_share_to_accept_is_met_exactly(notion):
    """Any lottery is matched by the program that must accept as many."""
    rng = np.random.default_rng(0)
    counts = counts_of(5)
    for rival in rng.choice(RIVALS, 12):
        goal = Goal(notion, tolerance=0.0)
        gain, gap, acceptance = value_of(counts, rival, goal)
        goal = Goal(notion, tolerance=min(1.0, gap), acceptance=acceptance)
        best, reached, accepted = value_of(counts, solve(counts, goal).lottery, goal)
        assert accepted == pytest.approx(acceptance, abs=1e-7)
        assert reached <= gap + 1e-7
        assert best >= gain - 1e-7


@pytest.mark.parametrize("name", ["demographic_parity", "parity_ratio", "equal_opportunity"])
def test_monotone_notions_are_solved_by_a_search_over_rates(name):
    """At tolerance 0 all groups share one rate: the best of a fine grid of rates is no better."""
    notion = NOTIONS[name]
    for seed, groups in ((0, 2), (1, 3), (2, 5)):
        counts = counts_of(seed, groups, bins=6)
        choice = solve(counts, Goal(notion))
        statistic = notion.statistics[0]
        assert np.ptp(choice.values(statistic)) < 1e-7
        rivals = [
            interpolated_lottery(
                counts, counts, edges_of(counts), statistic, [rate] * groups
            ).accuracy
            for rate in np.linspace(0, 1, 401)
        ]
        assert choice.accuracy >= max(rivals) - 1e-9
        assert choice.accuracy <= max(rivals) + 0.003


def test_without_a_constraint_every_group_has_its_own_best_threshold():
    counts = counts_of(3, groups=4, bins=8)
    choice = solve(counts, Goal(PARITY, tolerance=1.0))
    best = np.maximum(counts[:, 0], counts[:, 1]).sum() / counts.sum()
    assert choice.accuracy == pytest.approx(best)


def test_one_group_is_bound_by_no_notion():
    counts = counts_of(4, groups=1, bins=5)
    for notion in NOTIONS.values():
        choice = solve(counts, Goal(notion))
        assert choice.accuracy == pytest.approx(counts.max(axis=1).sum() / counts.sum())
        assert choice.gap(notion) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 12), st.floats(0, 0.3))
def test_monotone_notions_mix_at_most_two_neighbours(seed, groups, bins, tolerance):
    counts = counts_of(seed, groups, bins)
    for name in ("demographic_parity", "equal_opportunity", "parity_ratio"):
        lottery = solve(counts, Goal(NOTIONS[name], tolerance)).lottery
        np.testing.assert_allclose(lottery.sum(axis=1), 1)
        for row in lottery:
            used = np.flatnonzero(row)
            assert len(used) <= 2
            assert np.ptp(used) <= 1


def test_contradictions_are_refused():
    with pytest.raises(InputError, match="exceeds the capacity"):
        Goal(PARITY, acceptance=0.6, capacity=0.3)


def test_equal_accuracy_may_be_out_of_reach():
    """One group is right by accident only, the other always: half the lotteries do not exist."""
    counts = np.array([[[100.0, 0], [0, 100]], [[50, 50], [50, 50]]])
    choice = solve(counts, Goal(NOTIONS["accuracy_parity"]))
    assert choice.gap(NOTIONS["accuracy_parity"]) < 1e-7
    with pytest.raises(InputError, match="No rule fits"):
        solve(
            np.array([[[100.0, 0], [0, 0]], [[0, 0], [0, 100.0]]]),
            Goal(NOTIONS["accuracy_parity"], acceptance=0.75),
        )


def test_an_empty_group_binds_nobody():
    """Its rate would be read as zero and everybody would be rejected."""
    counts = counts_of(0, groups=3, bins=4)
    counts[1] = 0
    for notion in NOTIONS.values():
        choice = solve(counts, Goal(notion))
        others = solve(counts[[0, 2]], Goal(notion))
        assert choice.accuracy == pytest.approx(others.accuracy)
        assert choice.lottery[1].tolist() == [0, 0, 1, 0, 0]  # scores from one half on
    costly = solve(counts, Goal(PARITY, costs=(3.0, 1.0)))
    assert costly.lottery[1].tolist() == [0, 0, 0, 1, 0]


def test_a_group_without_counted_positives_does_not_stop_equal_opportunity():
    masses = counts_of(0, groups=3, bins=4)
    counts = masses.copy()
    counts[1, 1] = 0
    goal = Goal(NOTIONS["equal_opportunity"])
    choice = optimal_choice(masses, counts, edges_of(counts), goal)
    rates = choice.values(goal.notion.statistics[0])
    assert rates[0] == pytest.approx(rates[2])
    assert rates[0] > 0.1
    best = int(np.argmax(masses[1, 1] > masses[1, 0]))
    assert choice.lottery[1, best] == 1
