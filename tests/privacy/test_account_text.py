"""Printed plans and ledgers: every charge with its scope, purpose and cost, and the total."""

from __future__ import annotations

from fractions import Fraction

from dpfair import Ledger, PrivateFairClassifier
from dpfair.privacy.events import noisy_table
from dpfair.privacy.plan import Budget, FitPlan, Step


def test_a_plan_is_printed_as_a_table(loan_schema):
    plan = PrivateFairClassifier(3, schema=loan_schema).plan()
    heading, columns, *rows, total = str(plan).splitlines()
    assert heading == "Plan of a fit (epsilon 3, delta 1e-05, add_remove)"
    assert columns.split() == ["step", "scope", "purpose", "epsilon", "delta"]
    assert [row.split()[0] for row in rows] == [step.name for step in plan.steps]
    for step, row in zip(plan.steps, rows, strict=True):
        assert f"  {step.scope} " in row
        assert step.purpose in row
    assert f"{plan.total().spent:.4f}" in total
    assert "worst scope" in total
    assert total.endswith("of 3")


def test_a_ledger_is_printed_as_a_table():
    ledger = Ledger(2, 1e-5, rows_per_unit=2)
    assert str(ledger).splitlines()[-1].split() == ["total", "together", "0.0000", "of", "2"]
    ledger.charge(noisy_table("0.25", "add_remove"), scope="", purpose="count the accepted")
    heading, _, row, total = str(ledger).splitlines()
    assert "up to 2 records of a person" in heading
    assert row.split() == ["all", "count", "the", "accepted", "0.2500", "0"]
    assert "0.5000" in total


def test_a_plan_over_its_budget_is_still_printed():
    step = Step("count", "", "count", noisy_table(2, "add_remove"))
    text = str(FitPlan(Budget(Fraction(1), 1e-5), (step,)))
    assert "exceeds its budget" in text
