"""Bugs of floating point, of thresholds and of rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from trust.public_issues.asking import asked, fair, first_sum, loans, one_step

from dpfair import Ledger, LogisticLearner, Noise
from dpfair.certificate.text import round_down, round_up
from dpfair.fairness.counting import exact_counts, release_table, table_plan
from dpfair.fairness.laplace_sums import noise_masses, noise_quantile
from dpfair.fairness.rules import Rule
from dpfair.methods.algorithm2 import Algorithm2
from dpfair.privacy.events import noisy_table
from dpfair.privacy.plan import Budget

# Floating point


def test_diffprivlib_19_float_noise_has_holes():
    """Floating-point Laplace noise reaches some outputs from one neighbour and not the other."""
    event = noisy_table("0.3", "add_remove")
    seen = []
    for count in (0, 1):
        ledger = Ledger(1, 1e-5, noise=Noise(seed=7))
        noisy = ledger.charge(event, scope="", purpose="p").draw(event)
        values = noisy.discrete_laplace([count] * 3000)
        assert all(type(value) is int for value in values)
        seen.append(set(values))
    # Every integer in the middle is reached from both.
    assert set(range(-8, 9)) <= seen[0] & seen[1]


def test_smartnoise_core_242_laplace_from_a_library():
    """Laplace noise was one call of a statistics library: floats, and no private mechanism."""
    model = fair(method=Algorithm2, public_sizes=True, composition="basic")
    for heard in asked(model, *loans()):
        if heard.question.kind == "counts":
            assert heard.question.value.dtype == np.int64
            assert all(type(value) is int for value in heard.answer)
    assert model.release_.counts.dtype.kind == "i"


def test_opacus_616_secure_mode_is_float_all_the_same():
    """A mode that promised safety from floating-point attacks added up floats all the same."""
    X, y = loans()
    exact = asked(one_step(steps=2), X, y)
    assert [h.question.kind for h in exact] == ["grid", "grid"]
    for heard in exact:
        assert heard.question.value.dtype.kind == "i"
        assert np.asarray(heard.answer).dtype.kind == "i"
    for arithmetic in ("exact", "float64"):  # what is not exact says so
        model = fair(learner=LogisticLearner(steps=3, arithmetic=arithmetic)).fit(X, y)
        assert ("float" in model.certificate_.privacy.arithmetic) == (arithmetic == "float64")


def test_google_126_a_sum_depends_on_the_order():
    """Rounding makes the sum of floats depend on their order, beyond the claimed sensitivity."""
    X, y = loans(300)
    order = np.random.default_rng(0).permutation(300)
    model = one_step(clip=0.3)
    (straight, _), (shuffled, _) = first_sum(model, X, y), first_sum(model, X[order], y[order])
    np.testing.assert_array_equal(straight, shuffled)
    scores, groups = np.random.default_rng(1).random(300), np.arange(300) % 2
    counts = exact_counts(scores, groups, None, 2, (0.5,))
    np.testing.assert_array_equal(
        counts, exact_counts(scores[order], groups[order], None, 2, (0.5,))
    )


# Thresholds and rounding


def test_google_pr101_a_threshold_is_truncated():
    """A threshold of 37.3 became the integer 37, and a count of 37 was let through."""
    for t in (0.05, 0.3, 1.0, 2.5):
        for cells in (1, 7):
            masses = noise_masses(t, cells)
            above = np.cumsum(masses[::-1])[::-1]
            middle = len(masses) // 2
            for level in (0.2, 0.01, 1e-5):
                k = noise_quantile(t, cells, level)
                assert above[middle + k + 1 :][:1].sum() <= level
                assert above[middle + k] > level * (1 - 1e-6)
    for amount in (0.1, Fraction(1, 3), "0.7", 2.3):
        table = noisy_table(amount, "replace_one")
        assert 2 * Fraction(table.event.noise_parameter) <= Fraction(amount)  # rounded down
    for gap in (0.03141, 0.0301000001, 0.5, 1e-9):
        assert float(round_up(gap)) >= gap >= float(round_down(gap))


def test_smartnoise_sdk_204_a_laplace_threshold_for_gaussian_noise():
    """Tau was computed by the formula of one noise while another noise was added."""
    t, cells = 0.2, 5
    drawn = np.array(Noise(seed=5).discrete_laplace(Fraction(1, 5), 4000 * cells))
    sums = drawn.reshape(4000, cells).sum(axis=1)
    for level in (0.2, 0.05, 0.01):
        share = (sums > noise_quantile(t, cells, level)).mean()
        assert share <= level + 4 * math.sqrt(level / 4000)
        assert share >= level / 2 - 4 * math.sqrt(level / 4000)  # and not by another, wider law


def test_opendp_2922_the_value_at_the_threshold():
    """Counts equal to the threshold were released, but delta was computed without them."""
    edges = (0.25, 0.5, 0.75)
    scores, groups = np.array([0.25, 0.5, 0.75, 0.4999999]), np.zeros(4, dtype=np.int64)
    counts = exact_counts(scores, groups, None, 1, edges)[0, 0]
    for j, edge in enumerate(edges):
        rule = Rule(np.array([[0.0, 1.0]]), np.array([[edge]]))
        accepted = rule.probabilities(groups, scores).sum()
        assert accepted == counts[j + 1 :].sum()  # what is counted above a cut is what is accepted


def test_smartnoise_core_362_a_size_that_neighbours_share():
    """Under replacement all neighbours have one size; costs for add/remove were mixed with it."""
    budget = Budget(Fraction(1), 1e-5, "replace_one")
    run = table_plan(budget, "count", 2).open(Noise(seed=1))
    release = release_table(
        np.array([0.2, 0.9]), np.array([0, 1]), ("a", "b"), receipt=run["count"], dependence=""
    )
    assert release.noise == (0.5, 0.5)  # a replaced record moves two cells by one
    assert run.ledger.spent == 1
