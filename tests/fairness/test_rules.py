"""Algorithm 1 and 2 as tables, and the identities that the certificates rest on."""

import numpy as np
import pytest

from dpfair.errors import InputError
from dpfair.fairness.rules import (
    Rule,
    exact_gap,
    group_acceptance,
    minimal_changes,
    parity_rule,
    prediction_changes,
)


def paper_rule(alpha, beta):
    """The formulas of Algorithm 2, both orderings, as printed."""
    if alpha >= beta:
        keep = (alpha + beta) / (2 * alpha)
        lift = (alpha - beta) / (2 * (1 - beta))
        return [[0, keep], [lift, 1]]
    keep = (alpha + beta) / (2 * beta)
    lift = (beta - alpha) / (2 * (1 - alpha))
    return [[lift, 1], [0, keep]]


def random_rates(seed, count, width=2):
    return np.random.default_rng(seed).uniform(size=(count, width))


@pytest.mark.parametrize("rates", [(0.5, 0.25), (0.25, 0.5), (1.0, 0.0), (0.0, 1.0), (0.3, 0.3)])
def test_equals_the_paper(rates):
    assert parity_rule(rates).accept == pytest.approx(np.array(paper_rule(*rates)), abs=1e-15)


def test_equals_the_paper_on_random_rates():
    for rates in random_rates(1, 2000):
        assert np.allclose(parity_rule(rates).accept, paper_rule(*rates), atol=1e-12, rtol=0)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("groups", [1, 2, 5])
def test_equal_rates_give_the_identity(rate, groups):
    assert parity_rule([rate] * groups).accept.tolist() == [[0.0, 1.0]] * groups


def test_algorithm_1_has_no_gap_and_attains_proposition_1():
    for rates in random_rates(2, 1000):
        rule = parity_rule(rates)
        assert exact_gap(rule, rates) == pytest.approx(0, abs=1e-15)
        changes = prediction_changes(rule, rates).sum()
        assert changes == pytest.approx(minimal_changes(rates, 0), abs=1e-15)


def test_many_groups_reach_the_same_rate():
    for rates in random_rates(3, 300, width=6):
        after = group_acceptance(parity_rule(rates), rates)
        assert np.ptp(after) < 1e-14
        assert after[0] == pytest.approx((rates.max() + rates.min()) / 2)


def test_gap_and_change_identities_on_random_search():
    """G = k(alpha-a) - (1-l)(beta-b); D0 + D1 = (alpha-beta) - G; excess <= 2|G|."""
    for alpha, beta, a, b in random_rates(4, 4000, width=4):
        if a < b:
            a, b = b, a
        rule = parity_rule([a, b])
        keep, lift = rule.accept[0, 1], rule.accept[1, 0]
        assert 0.5 <= keep <= 1
        assert 0.5 <= 1 - lift <= 1
        gap = exact_gap(rule, [alpha, beta])
        assert gap == pytest.approx(keep * (alpha - a) - (1 - lift) * (beta - b), abs=1e-14)
        changes = prediction_changes(rule, [alpha, beta]).sum()
        assert changes == pytest.approx(alpha - beta - gap, abs=1e-14)
        excess = changes - minimal_changes([alpha, beta], abs(gap))
        assert -1e-14 <= excess <= 2 * abs(gap) + 1e-14


def test_no_rule_beats_proposition_1():
    rng = np.random.default_rng(5)
    for _ in range(2000):
        rule, rates = Rule(rng.uniform(size=(2, 2))), rng.uniform(size=2)
        gap = abs(exact_gap(rule, rates))
        assert prediction_changes(rule, rates).sum() >= minimal_changes(rates, gap) - 1e-14


def test_decisions_follow_the_probabilities():
    rng = np.random.default_rng(6)
    rule = parity_rule([0.6, 0.2])
    groups, cells = rng.integers(0, 2, size=(2, 200_000))
    chances = rule.probabilities(groups, cells)
    decisions = rule.decide(groups, cells, rng.uniform(size=len(groups)))
    assert set(np.unique(decisions)) == {0, 1}
    for group in (0, 1):
        for cell in (0, 1):
            rows = (groups == group) & (cells == cell)
            assert chances[rows] == pytest.approx(rule.accept[group, cell])
            assert decisions[rows].mean() == pytest.approx(rule.accept[group, cell], abs=0.01)


def test_impossible_and_certain_events_ignore_extreme_coins():
    rule = Rule([[0.0, 1.0]])
    assert rule.decide([0, 0], [0, 0], [0.0, 1.0]).tolist() == [0, 0]
    assert rule.decide([0, 0], [1, 1], [0.0, 1.0]).tolist() == [1, 1]


def test_a_rule_is_a_value():
    table = np.array([[0.0, 0.5], [0.1, 1.0]])
    rule = Rule(table)
    table[0, 0] = 1
    assert rule == Rule([[0.0, 0.5], [0.1, 1.0]])
    assert rule != parity_rule([0.5, 0.5])
    with pytest.raises(ValueError, match="read-only"):
        rule.accept[0, 0] = 1


@pytest.mark.parametrize("table", [[0.0, 1.0], [[0.0, 1.1]], [[np.nan, 1.0]], [[-0.1, 0.5]], [[]]])
def test_impossible_tables_are_refused(table):
    with pytest.raises(InputError, match="Expected"):
        Rule(table)


@pytest.mark.parametrize("rates", [[], [0.5, 1.2], [0.5, np.nan], [-0.1, 0.5]])
def test_impossible_rates_are_refused(rates):
    with pytest.raises(InputError, match="Expected"):
        parity_rule(rates)


def test_formulas_for_two_cells_refuse_other_rules():
    with pytest.raises(InputError, match="2 cells"):
        group_acceptance(Rule([[0.0, 0.5, 1.0]] * 2, [[0.3, 0.6]] * 2), [0.1, 0.2])


def test_steps_of_the_score():
    """A score that reaches i cuts has the i-th level; groups may have fewer steps."""
    rule = Rule(
        [[0.0, 0.25, 1.0], [0.5, 0.75, 0.75], [1.0, 1.0, 1.0]],
        cuts=[[0.2, 0.6], [0.4, np.inf], [-np.inf, np.inf]],
    )
    scores = [-np.inf, 0.0, 0.2, 0.4, 0.6, 1.0, np.inf]
    expected = [
        [0, 0, 0.25, 0.25, 1, 1, 1],
        [0.5, 0.5, 0.5, 0.75, 0.75, 0.75, 0.75],
        [1, 1, 1, 1, 1, 1, 1],
    ]
    for group, row in enumerate(expected):
        assert rule.probabilities([group] * 7, scores).tolist() == row


def test_a_cut_at_minus_infinity_is_reached_by_everybody():
    rule = Rule([[0.0, 1.0], [0.0, 1.0]], cuts=[[-np.inf], [np.inf]])
    scores = [-1e300, 0.0, 1e300]
    assert rule.probabilities([0] * 3, scores).tolist() == [1, 1, 1]
    assert rule.probabilities([1] * 3, scores).tolist() == [0, 0, 0]


def test_one_cut_at_one_half_is_the_default():
    assert Rule([[0.1, 0.9]]).cuts.tolist() == [[0.5]]
    assert Rule([[0.1, 0.9]]).probabilities([0, 0], [0.4999, 0.5]).tolist() == [0.1, 0.9]


def test_rules_are_equal_if_cuts_and_levels_are():
    levels = [[0, 1], [0, 1]]
    rule = Rule(levels, cuts=[[0.4], [np.inf]])
    assert rule == Rule(levels, cuts=[[0.4], [np.inf]])
    assert rule != Rule(levels, cuts=[[0.5], [np.inf]])
    assert rule != Rule([[0, 1], [0, 0.5]], cuts=[[0.4], [np.inf]])
    assert rule != "a rule"
    with pytest.raises(ValueError, match="read-only"):
        rule.cuts[0, 0] = 1


@pytest.mark.parametrize(
    "cuts",
    [[[0.5]], [[0.5, 0.4]] * 2, [[np.nan, 0.5]] * 2, [0.3, 0.4], [[0.1, 0.2, 0.3]] * 2, None],
)
def test_impossible_cuts_are_refused(cuts):
    with pytest.raises(InputError, match=r"cuts"):
        Rule([[0, 0.5, 1]] * 2, cuts=cuts)


@pytest.mark.parametrize(
    ("target", "goal"),
    [
        ("midpoint", 0.4),
        ("lower", 0.2),
        ("upper", 0.6),
        ("majority", 0.3),
        (0.0, 0),
        (1.0, 1),
        (0.5, 0.5),
    ],
)
def test_every_target_is_reached_by_all_groups(target, goal):
    rates = [0.6, 0.2, 0.3]
    rule = parity_rule(rates, target, sizes=[10, 20, 30])
    assert group_acceptance(rule, rates) == pytest.approx([goal] * 3)


def test_the_first_group_is_the_majority_without_sizes():
    rates = [0.6, 0.2]
    assert group_acceptance(parity_rule(rates, "majority"), rates) == pytest.approx([0.6, 0.6])


@pytest.mark.parametrize("target", ["middle", -0.1, 1.1, float("nan")])
def test_unknown_targets_are_refused(target):
    with pytest.raises(InputError, match="Expected target"):
        parity_rule([0.5, 0.2], target)
