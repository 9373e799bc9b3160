"""What charges cost: their composition, the relation, and persons with several records."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from dp_accounting.dp_event import SelfComposedDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.ledger_file.paying import DELTA, pay, spent_exactly, table

from dpfair.errors import BudgetError, InputError
from dpfair.privacy.accountants import calibrate, epsilon
from dpfair.privacy.events import compose, gaussian_steps
from dpfair.privacy.ledger import Ledger


def test_the_relation_prices_the_charge():
    event = gaussian_steps(20.0, 1.0, 30)
    costs = {}
    for relation in ("add_remove", "replace_one"):
        ledger = Ledger(9, DELTA, relation=relation)
        pay(ledger, event)
        costs[relation] = ledger.spent
        assert ledger.spent == epsilon(event, DELTA, relation=relation).epsilon
    assert costs["replace_one"] > 1.5 * costs["add_remove"]


# Basic composition


def test_basic_is_the_sum_of_the_paper():
    multiplier = calibrate(2.9, DELTA, 0.1, 100)
    ledger = Ledger("3", DELTA, composition="basic")
    pay(ledger, gaussian_steps(multiplier, 0.1, 100), "train")
    pay(ledger, table("0.05"), "release/0")
    pay(ledger, table("0.05"), "release/1")
    own = [entry.epsilon for entry in ledger.entries]
    assert own[1:] == pytest.approx([0.05, 0.05])
    assert 2.89 < own[0] <= 2.9
    assert ledger.spent == pytest.approx(sum(own), rel=1e-12)
    assert ledger.spent <= 3
    with pytest.raises(BudgetError):
        pay(ledger, table("0.05"), "elsewhere")


def test_basic_divides_delta_among_approximate_charges():
    event = gaussian_steps(20.0, 1.0, 30)
    ledger = Ledger(9, DELTA, composition="basic")
    pay(ledger, event, "a")
    pay(ledger, event, "b")
    assert ledger.spent == pytest.approx(2 * epsilon(event, DELTA / 2).epsilon, rel=1e-12)
    assert ledger.spent > 2 * epsilon(event, DELTA).epsilon


# People with several records


@pytest.mark.parametrize("k", [1, 2, 5])
def test_k_records_cost_k_times(k):
    ledger = Ledger(1, DELTA, rows_per_unit=k)
    pay(ledger, table(Fraction(1, 8)))
    assert spent_exactly(ledger) == Fraction(k, 8)
    with pytest.raises(BudgetError):
        pay(ledger, table(Fraction(1, k)))


@pytest.mark.parametrize(("eps", "k"), [(1.0, 1), (3.0, 2), (4.0, 4)])
def test_group_privacy_of_delta(eps, k):
    """k records at (e, d) each are (k e, d (1 + exp e + ... + exp((k-1) e))) for a person."""
    row_epsilon, row_delta = Ledger(eps, DELTA, rows_per_unit=k).row_budget
    assert row_epsilon * k == Fraction(eps)
    geometric = sum(math.exp(i * float(row_epsilon)) for i in range(k))
    assert row_delta * geometric <= DELTA * (1 + 1e-12)
    stated = row_delta * k * math.exp((k - 1) * float(row_epsilon))
    assert stated == pytest.approx(DELTA, rel=1e-12)


def test_group_privacy_prices_a_gaussian_at_the_smaller_delta():
    event = gaussian_steps(100.0, 1.0, 30)
    ledger = Ledger(3, DELTA, rows_per_unit=2)
    pay(ledger, event)
    row_delta = DELTA / (2 * math.exp(1.5))
    assert ledger.spent == pytest.approx(2 * epsilon(event, row_delta).epsilon, rel=1e-9)


def test_too_many_rows_per_unit_are_refused_at_once():
    with pytest.raises(InputError, match="delta_per_record"):
        Ledger(1000, DELTA, rows_per_unit=1000)


# Many charges


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.sampled_from(["1/10", "1/3", "1/1000"]).map(table),
                st.sampled_from([6.0, 30.0, 200.0]).map(lambda s: gaussian_steps(s, 1.0, 10)),
                st.sampled_from([2.0, 8.0]).map(lambda s: gaussian_steps(s, 0.05, 50)),
            ),
            st.sampled_from(["", "train", "release"]),
        ),
        min_size=2,
        max_size=6,
    ),
    st.sampled_from(["tight", "basic"]),
)
def test_spent_never_falls(charges, composition):
    ledger = Ledger(2, DELTA, composition=composition)
    for event, scope in charges:
        before = ledger.spent
        try:
            pay(ledger, event, scope)
        except BudgetError:
            assert ledger.spent == before
        assert before <= ledger.spent <= 2


def test_spent_does_not_fall_when_the_accountant_learns_more():
    """A hundred tenths cost 10; composed with Gaussian noise, the accountant says 4.3."""
    ledger = Ledger(12, DELTA)
    tenths, little = SelfComposedDpEvent(table("1/10"), 100), gaussian_steps(1000.0, 1.0, 1)
    pay(ledger, tenths)
    assert epsilon(compose([tenths, little]), DELTA).epsilon < 5
    pay(ledger, little)
    assert 10 * (1 - 1e-15) <= ledger.spent <= 10
    again = Ledger(12, DELTA)
    for entry in ledger.entries:
        pay(again, entry.event)
    assert again.spent == ledger.spent
