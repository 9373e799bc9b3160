"""Charges to parts of the data: costs add inside a scope, and disjoint ones do not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from privacy.ledger_file.paying import DELTA, pay, spent_exactly, table

from dpfair.errors import BudgetError, InputError
from dpfair.privacy.accountants import epsilon
from dpfair.privacy.events import compose, gaussian_steps
from dpfair.privacy.ledger import Ledger


def test_costs_add_inside_a_scope_and_the_worst_disjoint_one_counts():
    ledger = Ledger(1, DELTA)
    pay(ledger, table("1/4"), "train")
    pay(ledger, table("1/4"), "train")
    assert spent_exactly(ledger) == Fraction(1, 2)
    pay(ledger, table("3/8"), "release")
    assert spent_exactly(ledger) == Fraction(1, 2)
    pay(ledger, table("1/4"), "release")
    assert spent_exactly(ledger) == Fraction(5, 8)


def test_nested_scopes_pay_for_their_parents():
    ledger = Ledger(1, DELTA)
    pay(ledger, table("1/8"), "train/a")
    pay(ledger, table("1/16"), "train/b")
    pay(ledger, table("1/4"), "train")
    assert spent_exactly(ledger) == Fraction(3, 8)
    pay(ledger, table("1/16"), "release")
    assert spent_exactly(ledger) == Fraction(3, 8)
    pay(ledger, table("1/2"), "")
    assert spent_exactly(ledger) == Fraction(7, 8)
    with pytest.raises(BudgetError):
        pay(ledger, table("1/4"), "train/a/x")
    pay(ledger, table("1/4"), "release/x")


def test_a_common_beginning_is_not_a_part():
    ledger = Ledger(1, DELTA)
    pay(ledger, table(1), "train")
    pay(ledger, table(1), "training")
    with pytest.raises(BudgetError):
        pay(ledger, table("1/100"), "train/ing")


@pytest.mark.parametrize(
    "scope",
    [
        "/",
        "train/",
        "/train",
        "a//b",
        " train",
        "train ",
        "a/ b",
        "Ko\u0308ln",
        "a\u200bb",
        "\uff41",
    ],
)
def test_a_second_spelling_of_a_scope_is_refused(scope):
    """'train/' and 'train/a' would count as disjoint although one contains the other."""
    with pytest.raises(InputError, match="scope"):
        pay(Ledger(1, DELTA), table("1/2"), scope)


def test_a_bottomless_scope_is_refused():
    pay(Ledger(1, DELTA), table("1/2"), "/".join("a" * 100))
    with pytest.raises(InputError, match="at most 100 parts"):
        pay(Ledger(1, DELTA), table("1/2"), "/".join("a" * 101))


def test_a_scope_composes_tightly():
    training = gaussian_steps(20.0, 1.0, 30)
    ledger = Ledger(3, DELTA)
    pay(ledger, training, "train")
    pay(ledger, compose([table("1/5")] * 5), "train")
    alone = epsilon(training, DELTA).epsilon
    together = epsilon(compose([training, *[table("1/5")] * 5]), DELTA).epsilon
    assert ledger.spent == pytest.approx(together, rel=1e-12)
    assert max(alone, 1) < ledger.spent < alone + 1
