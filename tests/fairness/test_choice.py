"""From a release to a rule: small groups, targets, dithered tables, corrections, constants."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from fairness.tables import EDGES, table, window

from dpfair.errors import FairnessWarning
from dpfair.fairness.choice import best_rule, corrected_rule, placed_rule, planned_rule
from dpfair.fairness.counting import exact_counts
from dpfair.fairness.dither import GRAIN, placement_grid
from dpfair.fairness.estimate import estimated_masses, labelled_counts
from dpfair.fairness.goal import Goal
from dpfair.fairness.lottery import Choice
from dpfair.fairness.metrics import group_values
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import HALF, Release, grid_of
from dpfair.fairness.rules import Rule

PARITY = Goal(NOTIONS["demographic_parity"])


def decided(release, goal=PARITY, *, smallest=50, small_groups="merge", families=None):
    return best_rule(release, goal, smallest=smallest, small_groups=small_groups, families=families)


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_the_rule_is_fair_by_the_counts(notion):
    release = table((3000, 4000))
    found = decided(release, Goal(notion, 0.02))
    assert notion.gap(found.values) <= 0.02 + 1e-7
    assert found.targets is None
    middles = (np.arange(20) + 0.5) / 20
    for a in (0, 1):
        accept = found.rule.probabilities(np.full(20, a), middles)
        np.testing.assert_allclose(accept, np.cumsum(found.lottery[a])[:20], atol=1e-12)
    assert found.accuracy > 0.6


def records(rng):
    """Few distinct scores, many of them at 0, 1 or an edge; sometimes a group is missing."""
    k, n = int(rng.integers(1, 5)), int(rng.integers(5, 200))
    values = rng.choice([0.0, 1.0, 0.5, 0.25, 0.999, *rng.random(3)], int(rng.integers(1, 6)))
    scores, groups = rng.choice(values, n), rng.integers(0, k, n)
    labels = (rng.random(n) < 0.2 + 0.6 * scores).astype(int)
    return k, scores, groups, labels


@pytest.mark.parametrize("noise", [math.inf, 2.0])
def test_what_is_decided_is_what_was_counted(noise):
    """Where many records share a score, too: the estimates are the rule's rates on the records."""
    rng = np.random.default_rng(0)
    kept = 0
    for _ in range(200):
        k, scores, groups, labels = records(rng)
        exact = exact_counts(scores, groups, labels, k, EDGES)
        added = np.zeros_like(exact)
        if math.isfinite(noise):
            p = -math.expm1(-noise)
            added = rng.geometric(p, exact.shape) - rng.geometric(p, exact.shape)
        names = tuple("abcd"[:k])
        release = Release(names, grid_of(EDGES, k), exact + added, (noise,) * k, None, "")
        notion = list(NOTIONS.values())[int(rng.integers(5))]
        found = decided(release, Goal(notion, float(rng.choice([0, 0.1, 1.0]))), smallest=0)
        decisions = found.rule.probabilities(groups, scores)
        true = group_values(notion, decisions, groups, labels, k)
        sizes = np.array(
            [
                [np.isin(labels[groups == a], s.labels).sum() for a in range(k)]
                for s in notion.statistics
            ]
        )
        off = np.abs(found.values - true)[sizes > 0]
        room = np.broadcast_to(4 * np.abs(added).sum(axis=(1, 2)), sizes.shape) / np.maximum(
            sizes, 1
        )
        assert (off <= room[sizes > 0] + 1e-9).all()
        right = np.where(labels == 1, decisions, 1 - decisions).mean()
        assert abs(found.accuracy - right) <= 2 * np.abs(added).sum() / len(labels) + 1e-9
        kept += len(set(found.acceptance.tolist()) - {0.0, 1.0}) > 0
    assert kept > 40  # not only constant rules


def test_a_dithered_table_gives_a_dithered_rule():
    """A cut inside a grain of a dithered table is a lottery; of any other table it is a cut."""
    edges = placement_grid([window(0.3, 0.5), window(0.4, 0.6)], 3.0)
    rules = [decided(table((3000, 4000), edges=edges, grain=g)).rule for g in (GRAIN, None)]
    grains = [r.cuts[np.isfinite(r.cuts)] * GRAIN for r in rules]
    np.testing.assert_allclose(grains[0], np.round(grains[0]), atol=1e-9)
    assert np.abs(grains[1] - np.round(grains[1])).max() > 0.01
    placed = placed_rule(table((3000, 4000), edges=edges, grain=GRAIN), PARITY, (0.2, 0.2)).rule
    cuts = placed.cuts[np.isfinite(placed.cuts)] * GRAIN
    np.testing.assert_allclose(cuts, np.round(cuts), atol=1e-9)


def test_placed_rules_keep_the_targets():
    release = table((3000, 4000), grain=GRAIN)
    found = placed_rule(release, PARITY, (0.3, 0.2))
    assert found.targets == (0.3, 0.2)
    assert (found.lottery.max(axis=1) == 1).all()
    # Below the target by less than one cell.
    for rate, target, counts in zip(found.values[0], (0.3, 0.2), release.counts, strict=True):
        assert target - counts.sum(axis=0).max() / counts.sum() <= rate <= target


def test_a_planned_rule_pools_small_groups_without_a_word():
    plan = table((3000, 40, 4000, 45))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FairnessWarning)
        rule = planned_rule(plan, PARITY, smallest=50)
    assert rule == decided(plan).rule
    assert (rule.cuts[1] == rule.cuts[3]).all()


def decisions_of(rule, sizes, seed=1, noise=math.inf):
    """What a rule decides about new records of the groups in ``table``."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((len(sizes), 2, 2), dtype=np.int64)
    for a, n in enumerate(sizes):
        scores = rng.beta(1.5 + 0.5 * a, 3, n)
        labels = (rng.random(n) < scores).astype(int)
        accepted = rule.decide(np.full(n, a), scores, rng.random(n)).astype(int)
        np.add.at(counts[a], (labels, accepted), 1)
    if math.isfinite(noise):
        p = -math.expm1(-noise)
        counts += rng.geometric(p, counts.shape) - rng.geometric(p, counts.shape)
    names = tuple("abcdef"[: len(sizes)])
    return Release(names, HALF, counts, (noise,) * len(sizes), None, "")


def corrected(rule, release, goal=PARITY):
    return corrected_rule(rule, release, goal, smallest=50, small_groups="merge")


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_a_corrected_rule_is_fair_by_its_counted_decisions(notion):
    goal = Goal(notion, 0.01)
    planned = planned_rule(table((3000, 4000), seed=3), goal, smallest=50)
    decisions = decisions_of(planned, (3000, 4000))
    found = corrected(planned, decisions, goal)
    assert found.planned == planned
    assert found.lottery.shape == (2, 3)
    assert notion.gap(found.values) <= 0.01 + 1e-7
    # The rule flips what the planned rule decides, with the chances of the lottery.
    groups, scores = np.repeat([0, 1], 500), np.tile(np.linspace(0, 1, 500), 2)
    before = planned.probabilities(groups, scores)
    everybody, as_planned = found.lottery[groups, 0], found.lottery[groups, 1]
    after = found.rule.probabilities(groups, scores)
    np.testing.assert_allclose(after, everybody + as_planned * before, atol=1e-12)
    # And its rates are those of the flipped counts.
    flips = np.stack([found.lottery[:, 0], found.lottery[:, :2].sum(axis=1)], axis=1)
    for s, statistic in enumerate(notion.statistics):
        for a in (0, 1):
            accepted = decisions.counts[a] * flips[a]
            right = accepted[1].sum() + (decisions.counts[a, 0] - accepted[0]).sum()
            hits = right if statistic.correct else accepted[list(statistic.labels)].sum()
            size = decisions.counts[a, list(statistic.labels)].sum()
            assert found.values[s, a] == pytest.approx(hits / size)


def test_a_correction_accepts_what_was_rejected_where_too_few_were_accepted():
    counts = [[[700, 50], [100, 150]], [[1000, 300], [200, 500]]]
    decisions = Release(("a", "b"), HALF, counts, (math.inf,) * 2, None, "")
    planned = Rule(np.array([[0.0, 0.5, 1.0]] * 2), np.array([[0.3, 0.6]] * 2))
    found = corrected(planned, decisions, Goal(PARITY.notion, acceptance=0.5))
    assert (found.lottery[:, 0] > 0.05).all()
    everybody, as_planned = found.lottery[:, 0], found.lottery[:, 1]
    expected = everybody[:, None] + as_planned[:, None] * planned.accept
    np.testing.assert_allclose(found.rule.accept, expected)
    assert found.acceptance == pytest.approx([0.5, 0.5])


def test_a_planned_rule_that_is_fair_is_left_alone():
    counts = [[[600, 100], [100, 200]], [[1200, 200], [200, 400]]]
    decisions = Release(("a", "b"), HALF, counts, (math.inf,) * 2, None, "")
    planned = Rule(np.array([[0.0, 0.5, 1.0]] * 2), np.array([[0.3, 0.6]] * 2))
    found = corrected(planned, decisions)
    assert found.lottery[:, 1].tolist() == pytest.approx([1, 1])
    np.testing.assert_allclose(found.rule.accept, planned.accept)


def test_estimated_accuracy_counts_undeclared_records_as_wrong():
    release = table((3000, 4000))
    more = replace(release, undeclared={"group": 400, "label": 300})
    plain, fewer = decided(release), decided(more)
    assert fewer.accuracy == pytest.approx(plain.accuracy * 7000 / 7700)
    assert fewer.values.tolist() == plain.values.tolist()


def advantage(release, found, goal):
    """What a rule gains over the better constant one, with its standard error, and its own gap."""
    costs, counts, masses = np.array(goal.costs), release.counts, estimated_masses(release)
    worth = costs[1] * counts[:, 1] - costs[0] * counts[:, 0]
    accepts = np.cumsum(found.lottery, axis=1)[:, :-1]
    everybody = worth.sum() > 0
    differs = accepts - everybody
    squares = (costs[::-1, None] ** 2 * masses[:, ::-1]).sum(axis=1)
    noise = np.array([0 if math.isinf(t) else 2 / t**2 for t in release.noise])
    variance = (np.abs(differs) * squares).sum()
    variance += (differs**2 * noise[:, None]).sum() * (costs**2).sum()
    lottery = np.zeros_like(found.lottery)
    lottery[:, 0 if everybody else -1] = 1
    constant = Choice(lottery, masses, labelled_counts(release), release.edges)
    rule = replace(constant, lottery=found.lottery)
    notion = goal.notion
    gaps = (rule.gap(notion), constant.gap(notion)) if len(counts) > 1 else (0.0, 0.0)
    return (differs * worth).sum(), math.sqrt(variance), *gaps


def hopeless(rng, k, bins):
    """A release whose scores often say little or nothing about the labels."""
    rate, use = rng.choice([0.003, 0.3, 0.5, 0.5, 0.97]), rng.choice([0.0, 0.2, 0.9])
    share = np.clip(rate + use * (np.arange(bins) / bins - 0.5), 0, 1)
    sizes = rng.integers(3, 1000, k)
    mass = rng.dirichlet(np.ones(bins), k)
    exact = rng.poisson(sizes[:, None, None] * np.stack([mass * (1 - share), mass * share], axis=1))
    noise = float(rng.choice([0.5, 3.0, math.inf]))
    if math.isfinite(noise):
        p = -math.expm1(-noise)
        exact = exact + rng.geometric(p, exact.shape) - rng.geometric(p, exact.shape)
    edges = grid_of(np.arange(1, bins) / bins, k)
    return Release(tuple("abcdefgh"[:k]), edges, exact, (noise,) * k, None, "", GRAIN)


@pytest.mark.parametrize("how", ["best", "placed", "corrected"])
def test_no_rule_is_kept_that_is_hardly_better_than_a_constant_one(how):
    """Two standard errors of the counts, unless it is fairer, which it never is for rates."""
    rng = np.random.default_rng(0)
    constant = kept = 0
    for _ in range(150):
        k = int(rng.integers(1, 6))
        release = hopeless(rng, k, 2 if how == "corrected" else 10)
        notions = [n for n in NOTIONS.values() if n.monotone or how != "placed"]
        costs = [(1.0, 1.0), (3.0, 1.0)][int(rng.integers(2))]
        goal = Goal(notions[int(rng.integers(len(notions)))], float(rng.choice([0, 0.1, 1])), costs)
        if how == "placed":
            found = placed_rule(release, goal, tuple(rng.uniform(0.2, 0.7, k)))
        elif how == "corrected":
            planned = Rule(np.array([[0.0, 1.0]] * k))
            found = corrected_rule(planned, release, goal, smallest=0, small_groups="merge")
        else:
            found = decided(release, goal, smallest=0)
        gain, error, gap, other = advantage(release, found, goal)
        if set(found.acceptance.tolist()) in ({0.0}, {1.0}):
            constant += 1
            assert found.targets is None
            assert len(np.unique(found.rule.probabilities(range(k), np.full(k, 0.5)))) == 1
            assert len(set(found.acceptance.tolist())) == 1
            assert goal.notion.statistics[0].correct or k < 2 or goal.notion.gap(found.values) == 0
        else:
            kept += 1
            assert gain > 2 * error or other > gap
    assert min(constant, kept) > 10


@pytest.mark.parametrize(
    ("options", "whom"),
    [({}, "nobody"), ({"costs": (1.0, 9.0)}, "everybody"), ({"capacity": 0.5}, "nobody")],
)
def test_a_constant_rule_is_announced(options, whom):
    counts = np.full((2, 2, 20), 3)
    counts[:, 0] = 7
    release = replace(table((10, 10)), counts=counts)
    with pytest.warns(FairnessWarning, match=f"accepts {whom}"):
        found = decided(release, Goal(PARITY.notion, **options), smallest=0)
    assert found.acceptance.tolist() == [float(whom == "everybody")] * 2
    corner = Goal(PARITY.notion, acceptance=0.4)
    assert decided(release, corner, smallest=0).acceptance == pytest.approx([0.4, 0.4])
