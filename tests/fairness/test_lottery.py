"""Rules accept what the lotteries that they come from accept."""

from __future__ import annotations

import numpy as np
import pytest
from fairness.tables import counts_of, edges_of

from dpfair.fairness.lottery import Choice, interpolated_lottery
from dpfair.fairness.notions import NOTIONS, Statistic

ACCEPTED = NOTIONS["demographic_parity"].statistics[0]


@pytest.mark.parametrize("grain", [None, 100])
def test_a_rule_accepts_what_the_lottery_accepts(grain):
    """P(accept | bin) is the chance of a threshold at or below the bin."""
    rng = np.random.default_rng(0)
    counts = counts_of(0, 3, 5)
    edges = edges_of(counts)
    for _ in range(20):
        lottery = rng.dirichlet(np.ones(6), 3) * (rng.random((3, 6)) < 0.6)
        lottery[:, 3] += 1e-3
        lottery /= lottery.sum(axis=1, keepdims=True)
        rule = Choice(lottery, counts, counts, edges, grain).rule()
        middles = (np.arange(5) + 0.5) / 5
        for a in range(3):
            accept = rule.probabilities(np.full(5, a), middles)
            np.testing.assert_allclose(accept, np.cumsum(lottery[a])[:5], atol=1e-12)
            at_edges = rule.probabilities(np.full(4, a), edges[a])  # an edge belongs above
            np.testing.assert_allclose(at_edges, np.cumsum(lottery[a])[1:5], atol=1e-12)


def test_rules_of_extreme_lotteries():
    counts = counts_of(0, 3, 2)
    lottery = np.array([[1.0, 0, 0], [0, 0, 1], [0.25, 0.5, 0.25]])
    rule = Choice(lottery, counts, counts, edges_of(counts)).rule()
    scores = [-1e9, 0.0, 0.5, 1e9]
    got = [rule.probabilities([a] * 4, scores).tolist() for a in range(3)]
    assert got == [[1] * 4, [0] * 4, [0.25, 0.25, 0.75, 0.75]]


def test_a_cut_inside_a_grain_is_a_lottery_between_its_ends():
    lottery = np.array([[0, 1.0, 0]])
    counts = counts_of(0, 1, 2)
    rule = Choice(lottery, counts, counts, np.array([[0.5025]]), 100).rule()
    assert rule.cuts.tolist() == [[0.5, 0.51]]
    assert rule.accept[0].tolist() == pytest.approx([0, 0.75, 1])
    plain = Choice(lottery, counts, counts, np.array([[0.5025]])).rule()
    assert plain.cuts.tolist() == [[0.5025]]


@pytest.mark.parametrize("labels", [(0, 1), (1,), (0,)])
def test_a_rule_reaches_the_rates_of_its_lottery(labels):
    """Exactly on the counted records, wherever in their bins they are, and by coins only."""
    statistic = Statistic("rate", labels)
    counts = counts_of(1, 3, 20)
    edges = edges_of(counts)
    for rate in (0.05, 0.31, 0.5, 0.97):
        choice = interpolated_lottery(counts, counts, edges, statistic, [rate] * 3)
        assert choice.values(statistic) == pytest.approx([rate] * 3)
        for inside in (0.0, 0.5, 0.999):  # all records of a bin share one score
            scores = (np.arange(20) + inside) / 20
            for a in range(3):
                part = counts[a, list(labels)].sum(axis=0)
                accept = choice.rule().probabilities(np.full(20, a), scores)
                assert accept @ part / part.sum() == pytest.approx(rate)
                assert ((accept > 0) & (accept < 1)).sum() <= 1


def test_rules_of_nobody_and_everybody():
    counts = counts_of(0, 2, 4)
    choice = interpolated_lottery(counts, counts, edges_of(counts), ACCEPTED, [0.0, 1.0])
    rule = choice.rule()
    assert rule.probabilities([0, 0], [0.0, 1.0]).tolist() == [0, 0]
    assert rule.probabilities([1, 1], [0.0, 1.0]).tolist() == [1, 1]


@pytest.mark.parametrize("statistic", [s for n in NOTIONS.values() for s in n.statistics])
def test_a_group_without_records_is_like_the_others(statistic):
    """A rule that treats everybody alike has the same value in it, and no gap."""
    counts = counts_of(2, 3, 4)
    counts[1] = 0
    for j in range(5):
        lottery = np.tile(np.eye(5)[j], (3, 1))
        values = Choice(lottery, counts, counts, edges_of(counts)).values(statistic)
        assert min(values[[0, 2]]) - 1e-9 <= values[1] <= max(values[[0, 2]]) + 1e-9
        if not statistic.correct and j in (0, 4):
            assert values.tolist() == [float(j == 0)] * 3
    nothing = np.zeros((2, 2, 3))
    for j, value in ((0, 1.0), (3, 0.0)):
        constant = Choice(np.eye(4)[[j, j]], nothing, nothing, edges_of(nothing))
        if not statistic.correct:
            assert constant.values(statistic).tolist() == [value] * 2


@pytest.mark.parametrize(
    ("counts", "value", "lottery"),
    [
        ([4, 4, 4, 4], 0.25, [0, 0, 0, 1, 0]),
        ([4, 4, 4, 4], 0.375, [0, 0, 0.5, 0.5, 0]),
        ([4, 4, 4, 4], 0.0, [0, 0, 0, 0, 1]),
        ([4, 4, 4, 4], 1.0, [1, 0, 0, 0, 0]),
        ([0, 8, 8, 0], 1.0, [0, 1, 0, 0, 0]),  # an empty bin below: the highest threshold
        ([0, 8, 8, 0], 0.0, [0, 0, 0, 0, 1]),
        ([8, 0, 0, 8], 0.5, [0, 0, 0, 1, 0]),  # a flat stretch
        ([8, 0, 0, 8], 0.75, [0.5, 0.5, 0, 0, 0]),
        ([0, 0, 0, 0], 0.0, [0, 0, 0, 0, 1]),
        ([0, 0, 0, 0], 0.5, [0.5, 0.5, 0, 0, 0]),  # everybody is accepted, or none of the counted
        ([4, 4, 4, 4], 1.5, [1, 0, 0, 0, 0]),
    ],
)
def test_two_neighbours_reach_any_rate(counts, value, lottery):
    table = np.array([[counts, counts]], dtype=float)
    choice = interpolated_lottery(table, table, edges_of(table), ACCEPTED, [value])
    assert choice.lottery[0].tolist() == pytest.approx(lottery)


def test_accuracy_is_read_from_the_masses_and_rates_from_the_counts():
    masses = np.array([[[8.0, 2], [2, 8]]])
    counts = np.array([[[5.0, 5], [0, 10]]])
    choice = Choice(np.array([[0, 1.0, 0]]), masses, counts, np.array([[0.5]]))
    assert choice.accuracy == pytest.approx(0.8)
    assert choice.acceptance.tolist() == [0.75]
    assert choice.values(Statistic("tpr", (1,))).tolist() == [1.0]
    assert choice.values(Statistic("accuracy", correct=True)).tolist() == [0.75]
