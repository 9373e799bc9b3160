"""Rules of a fair model: targets and costs, and others from the same release."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from dpfair import InputError, PrivateFairClassifier, Schema


def test_target_capacity_and_costs_move_the_acceptance(loans, loan_schema):
    X, y = loans

    def accepted(**rule):
        model = PrivateFairClassifier(3, schema=loan_schema, random_state=2, rule=rule).fit(X, y)
        return model.predict_proba(X)[:, 1].mean()

    plain = accepted()
    assert accepted(target=0.2) == pytest.approx(0.2, abs=0.03)
    assert accepted(target=0.7) == pytest.approx(0.7, abs=0.03)
    assert plain > 0.3
    assert accepted(capacity=0.25) == pytest.approx(0.25, abs=0.03)
    assert accepted(costs=(5, 1)) < plain - 0.05 < plain + 0.05 < accepted(costs=(1, 5))


def test_other_rules_and_frontiers_cost_nothing(fitted, loans):
    before, certificate = fitted.ledger_.to_json(), fitted.certificate_
    decisions = fitted.predict(loans[0])
    points = fitted.frontier()
    fitted.frontier("equalized_odds", [0.0, 0.05])
    other = fitted.with_rule(notion="equalized_odds", tolerance=0.05)
    other.predict(loans[0])
    assert fitted.ledger_.to_json() == before == other.ledger_.to_json()
    assert fitted.certificate_ is certificate
    assert fitted.rule_settings.notion == "demographic_parity"
    np.testing.assert_array_equal(fitted.predict(loans[0]), decisions)
    assert other.certificate_.fairness.notion == "equalized_odds"
    assert list(other.certificate_.fairness.bounds) == ["band"]
    gaps, accuracies = [p.gap for p in points], [p.accuracy for p in points]
    assert gaps == sorted(gaps)
    # The estimates are noisy: two standard deviations of the noise are no loss.
    release = fitted.release_
    noise = math.sqrt(2 * release.counts.size) / release.noise[0] / release.total
    assert np.diff(accuracies).min() > -2 * noise
    for point in points:
        assert point.gap <= point.tolerance + 1e-9
        assert point.gap_bound > point.gap
        assert point.accuracy_bound < point.accuracy


def test_a_rule_chosen_afterwards_is_certified_on_what_it_decides():
    """Few distinct scores: a cut inside a dithered cell must decide by a coin, as was counted."""
    rng = np.random.default_rng(0)
    sex, income = rng.choice(["f", "m"], 40_000), rng.integers(0, 4, 40_000)
    chance = 0.2 + 0.15 * income + 0.1 * (sex == "m")
    y = np.where(rng.random(40_000) < chance, "yes", "no")
    X = pl.DataFrame({"income": income.astype(str), "sex": sex})
    schema = Schema.from_dict(
        {
            "label": {"name": "y", "values": ["no", "yes"]},
            "sensitive": {"name": "sex", "values": ["f", "m"]},
            "columns": [{"name": "income", "kind": "categorical", "values": list("0123")}],
        }
    )
    model = PrivateFairClassifier(3, schema=schema, random_state=1).fit(X, y)
    for target in (0.2, 0.3, 0.55):
        other = model.with_rule(target=target)
        accepted = other.predict_proba(X)[:, 1]
        gap = abs(accepted[sex == "m"].mean() - accepted[sex == "f"].mean())
        assert gap < other.certificate_.fairness.gap_bound < 0.1


@pytest.mark.parametrize(
    "change",
    [
        {"check_share": 0.2},
        {"epsilon": 9},
        {"mode": "reuse"},
        {"coins": "fresh"},
        {"small_groups": "refuse"},
        {"nonsense": 1},
    ],
)
def test_with_rule_changes_the_rule_only(fitted, change):
    with pytest.raises(InputError, match="with_rule cannot change"):
        fitted.with_rule(**change)


def test_with_rule_checks_what_it_changes_and_forgets_the_check(fitted, loans, loan_schema):
    for bad in ({"notion": "fair"}, {"tolerance": 2}, {"target": 2.0}, {"confidence": 1}):
        with pytest.raises(InputError):
            fitted.with_rule(**bad)
    checked = PrivateFairClassifier(
        2, schema=loan_schema, mode="reuse", random_state=1, division={"check_share": 0.3}
    ).fit(*loans)
    other = checked.with_rule(tolerance=0.1)
    assert "check" not in other.fitted_.releases
    assert not other.certificate_.fairness.certified
    assert checked.certificate_.fairness.certified
