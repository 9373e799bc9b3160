"""Decisions of a fair model about a whole batch."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest

from dpfair import InputError


def gap_in(decisions, groups, names):
    rates = [np.mean(decisions[groups == name] == "yes") for name in names]
    return max(rates) - min(rates)


def test_exact_quotas_are_exact_and_repeatable(fitted, loans):
    X, _ = loans
    sex = X["sex"].to_numpy()
    batch = fitted.decide_batch(X)
    for name, rate in zip("fm", fitted.certificate_.fairness.rates_after, strict=True):
        members = sex == name
        assert (batch.decisions[members] == "yes").sum() == round(rate * members.sum())
    assert batch.gap_bound == pytest.approx(gap_in(batch.decisions, sex, "fm"))
    assert (batch.ledger, batch.confidence) == (None, 1.0)
    assert "nobody" in batch.protects
    again = fitted.decide_batch(X[::-1])
    np.testing.assert_array_equal(again.decisions[::-1], batch.decisions)


def test_ties_are_broken_by_the_key_not_by_the_place(fitted, loans):
    X, _ = loans
    same = pl.concat([X[:1].with_columns(sex=pl.lit(s)) for s in ("f", "m") for _ in range(200)])
    # Equal scores, different records: a column that the scorer hardly sees tells them apart.
    same = same.with_columns(age=pl.Series([40 + 1e-9 * i for i in range(400)]))
    first = fitted.decide_batch(same).decisions
    np.testing.assert_array_equal(first, fitted.decide_batch(same).decisions)
    np.testing.assert_array_equal(first[::-1], fitted.decide_batch(same[::-1]).decisions)
    women = first[:200] == "yes"
    assert 0 < women.sum() < 200
    assert women[: women.sum()].sum() < women.sum(), "the first ones must not win"


def test_noisy_cuts_stay_within_their_bound_and_pay(fitted, loans):
    X, _ = loans
    sex, outside = X["sex"].to_numpy(), 0
    model = copy.copy(fitted)
    for seed in range(60):
        model.random_state = seed
        batch = model.decide_batch(X, epsilon=1.0)
        assert batch.ledger.spent == 1.0
        assert batch.gap_bound < 0.2
        outside += gap_in(batch.decisions, sex, "fm") > batch.gap_bound
    assert outside <= 8  # 95 % confidence: 3 expected
    assert "nobody" in batch.protects
    model.random_state = None
    assert "epsilon = 1" in model.decide_batch(X, epsilon=1.0).protects
    model.random_state = 1
    first, second = (model.decide_batch(X, epsilon=1.0) for _ in range(2))
    np.testing.assert_array_equal(first.decisions, second.decisions)


@pytest.mark.parametrize("notion", ["equal_opportunity", "equalized_odds", "accuracy_parity"])
def test_batches_have_no_labels(fitted, loans, notion):
    other = fitted.with_rule(notion=notion, tolerance=0.05)
    with pytest.raises(InputError, match="not rates by label"):
        other.decide_batch(loans[0])


def test_a_batch_needs_a_positive_epsilon(fitted, loans):
    for epsilon in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="epsilon"):
            fitted.decide_batch(loans[0], epsilon=epsilon)
