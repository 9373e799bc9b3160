"""No certificate contradicts itself, and rare labels do not make bounds a matter of luck."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sample_models import KINDS, fitted
from trust.levels import asked

from dpfair.certificate import FairnessClaim, rule_claim
from dpfair.fairness.bounds.bands import interval_gap
from dpfair.fairness.choice import best_rule, corrected_rule, placed_rule
from dpfair.fairness.dither import GRAIN
from dpfair.fairness.goal import Goal
from dpfair.fairness.notions import NOTIONS
from dpfair.fairness.release import HALF, Release, grid_of
from dpfair.fairness.rules import Rule


def noisy(rng, counts, t):
    if math.isinf(t):
        return counts
    p = -math.expm1(-t)
    return counts + rng.geometric(p, np.shape(counts)) - rng.geometric(p, np.shape(counts))


def random_release(rng, k, bins):
    """Rare labels, tiny groups, ties, and noise that often exceeds the counts."""
    t = float(rng.choice([0.5, 3.0, 3.0, math.inf]))
    sizes = rng.choice([0, 3, 40, 400, 5000], k)
    mass = rng.dirichlet(np.full(bins, rng.choice([0.05, 1.0])), k)
    rare = rng.choice([0.0, 0.01, 0.3])
    share = np.clip(rare * np.linspace(0.2, 2.5, bins), 0, 1)
    cells = np.stack([mass * (1 - share), mass * share], axis=1) * sizes[:, None, None]
    counts, undeclared = noisy(rng, rng.poisson(cells), t), noisy(rng, rng.poisson([0, 30]), t)
    return Release(
        tuple("abcdefgh"[:k]),
        grid_of(np.arange(1, bins) / bins, k),
        counts,
        (t,) * k,
        None,
        "",
        GRAIN,
        dict(zip(("group", "label"), undeclared.tolist(), strict=True)),
    )


def claim_of(rng, how, notion, k) -> FairnessClaim:
    goal = Goal(notion, float(rng.choice([0, 0.1])), (1.0, float(rng.choice([1.0, 20.0]))))
    release = random_release(rng, k, 2 if how == "corrected" else 6)
    sorting = {"smallest": 0, "small_groups": "merge"}
    if how == "placed":
        target = float(rng.choice([0.0, 0.01, 0.3, 1.0]))
        found = placed_rule(release, goal, (target,) * k)
        return rule_claim(release, found, goal, 0.95)
    if how == "corrected":
        planned = Rule(np.array([[0.0, 1.0]] * k), np.full((k, 1), 0.5))
        found = corrected_rule(planned, release, goal, **sorting)
        return rule_claim(release, found, goal, 0.95)
    found = best_rule(release, goal, **sorting)
    check = random_release(rng, k, 2) if how == "fixed" else None
    return rule_claim(release, found, goal, 0.95, check=check)


def check_claim(claim: FairnessClaim, how: str) -> None:
    notion, k = NOTIONS[claim.notion], len(claim.groups)
    rows = list(claim.intervals.values())
    for low, high in itertools.chain(*rows, *[claim.before], *[claim.after]):
        assert 0 <= low <= high <= 1
    if k > 1:
        assert 0 <= claim.gap_bound <= 1
        assert claim.gap_bound == max(value for *_, value in claim.pairs)
        for (a, b), (*_, value) in zip(
            itertools.combinations(range(k), 2), claim.pairs, strict=True
        ):
            allowed = max(
                interval_gap(row[i][1], row[j][0], ratio=notion.ratio)
                for row in rows
                for i, j in ((a, b), (b, a))
            )
            assert value <= allowed + 1e-9
            assert 0 <= value <= claim.gap_bound
    assert 0 <= claim.gap_estimate <= 1
    values = np.array(list(claim.values.values()))
    assert values.min() >= -1e-12
    assert values.max() <= 1 + 1e-12
    if set(claim.rates_after) in ({0.0}, {1.0}) and not notion.statistics[0].correct:
        assert claim.gap_estimate == 0
        assert len(set(values.ravel().tolist())) == 1
        if k > 1 and how != "fixed":
            assert claim.gap_bound == 0
    for share, (low, high) in claim.undeclared.values():
        assert 0 <= low <= share <= high <= 1
    if claim.accuracy_bound is not None:
        assert 0 <= claim.accuracy_bound <= 1
        assert 0 <= claim.constant_accuracy <= 1
        if how != "fixed":  # a check counts other records than the estimate
            assert claim.accuracy_bound <= claim.accuracy_estimate + 1e-9
        if claim.beats_constant:
            assert claim.accuracy_bound > claim.constant_accuracy


@pytest.mark.parametrize("how", ["placed", "band", "corrected", "fixed"])
@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_no_certificate_contradicts_itself(notion, how):
    if how == "placed" and not notion.monotone:
        pytest.skip("thresholds are placed for a single rate")
    rng = np.random.default_rng(0)
    for k in (1, 2, 3, 2, 8):
        check_claim(claim_of(rng, how, notion, k), how)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["placed", "band", "corrected", "fixed"])
@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_no_certificate_contradicts_itself_often(notion, how):
    if how == "placed" and not notion.monotone:
        pytest.skip("thresholds are placed for a single rate")
    rng = np.random.default_rng(1)
    for k in rng.integers(1, 9, 60).tolist():
        check_claim(claim_of(rng, how, notion, k), how)


def test_the_comparison_with_constants_shares_its_error_probability():
    """Half for the model's accuracy, a quarter for each of the two constant rules."""
    rng = np.random.default_rng(0)
    with asked() as found:
        claim = claim_of(rng, "fixed", NOTIONS["parity_ratio"], 2)
    assert claim.beats_constant is not None
    assert sorted(found.levels("lower")) == pytest.approx([0.025, 0.05])
    assert found.levels("upper") == pytest.approx([0.0125] * 2)


def test_an_unlabelled_release_has_no_constant_to_compare_with():
    release = Release(("a", "b"), HALF, [[[90, 10]], [[60, 40]]], (1.0, 1.0), None, "")
    goal = Goal(NOTIONS["demographic_parity"])
    found = best_rule(release, goal, smallest=0, small_groups="merge")
    claim = rule_claim(release, found, goal, 0.95)
    assert claim.certified
    assert claim.constant_accuracy is None
    assert not claim.beats_constant


def rare_decisions(rng, epsilon) -> Release:
    """3,000 counted of 6,000 rows, of which about 1 % are positive."""
    counts = np.zeros((2, 2, 2), dtype=np.int64)
    for a, size in enumerate(rng.multinomial(3000, [1 / 3, 2 / 3])):
        positives = rng.binomial(size, 0.009 + 0.002 * a)
        right, wrong = rng.binomial(positives, 0.6), rng.binomial(size - positives, 0.06 + 0.02 * a)
        counts[a] = [[size - positives - wrong, wrong], [positives - right, right]]
    return Release(("a", "b"), HALF, noisy(rng, counts, epsilon), (epsilon,) * 2, None, "")


@pytest.mark.parametrize("notion", NOTIONS.values(), ids=NOTIONS)
def test_rare_labels_do_not_make_a_bound_a_matter_of_luck(notion):
    """Corrected decisions at epsilon 3, of which 9/4 count the decisions."""
    rng, bounds = np.random.default_rng(0), []
    planned = Rule(np.array([[0.0, 1.0]] * 2), np.full((2, 1), 0.5))
    goal = Goal(notion, acceptance=0.07)  # no constant rule accepts so many
    for _ in range(10):
        release = rare_decisions(rng, 2.25)
        found = corrected_rule(planned, release, goal, smallest=50, small_groups="merge")
        claim = rule_claim(release, found, goal, 0.95)
        check_claim(claim, "corrected")
        bounds.append(claim.gap_bound)
    assert max(bounds) <= 2 * min(bounds)
    assert min(bounds) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_leaked_is_neither_public_nor_promised(kind):
    certificate = fitted(kind).certificate_
    leaks, public = " ".join(certificate.privacy.leaks), certificate.privacy.assumed_public
    assert not ("classifier was trained" in leaks and "the classifier" in public)
    assert not ("schema was read off" in leaks and any("the schema" in fact for fact in public))
    first = [sentence.partition(":")[0] for sentence in certificate.sentences()]
    assert ("NOT PRIVATE" in first) != ("Privacy" in first)
