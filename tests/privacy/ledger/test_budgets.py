"""No payment beyond the budget."""

from __future__ import annotations

import json
import math
import threading
import time
from contextlib import nullcontext
from fractions import Fraction

import pytest
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, SelfComposedDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.ledger_file.paying import DELTA, pay, spent_exactly, table

from dpfair.errors import BudgetError, InputError
from dpfair.privacy.events import gaussian_steps, parts, pure_epsilon, step_event
from dpfair.privacy.ledger import Ledger


def test_a_refusal_changes_nothing_and_says_so():
    ledger = Ledger(1, DELTA)
    pay(ledger, table("3/4"))
    before = json.dumps(ledger.to_json())
    for event in (table("1/2"), gaussian_steps(1.0, 1.0, 10)):
        with pytest.raises(BudgetError, match="nothing was charged") as caught:
            pay(ledger, event, purpose="count again")
        assert "count again" in str(caught.value)
        assert json.dumps(ledger.to_json()) == before
    pay(ledger, table("1/4"))
    assert spent_exactly(ledger) == 1


def test_ten_tenths_exhaust_a_budget_of_one():
    """Issue class opendp#2789: as floats, ten tenths are not one."""
    assert sum([0.1] * 10) != 1
    ledger = Ledger("1", DELTA)
    for _ in range(10):
        pay(ledger, table("1/10"))
    assert spent_exactly(ledger) == 10 * pure_epsilon(table("1/10"))
    assert 1 - Fraction(1, 10**15) <= spent_exactly(ledger) <= 1
    with pytest.raises(BudgetError):
        pay(ledger, table("1/1000000000"))


def test_powers_of_two_exhaust_exactly():
    ledger = Ledger(1, DELTA)
    for _ in range(64):
        pay(ledger, table(Fraction(1, 64)))
    assert spent_exactly(ledger) == 1
    with pytest.raises(BudgetError):
        pay(ledger, table(1e-12))


def test_a_hundred_thousand_charges_exhaust_a_budget_of_one():
    """Issue class opendp#2789. Composing everything anew for each charge would take days."""
    ledger, event = Ledger(1, DELTA), table("1/100000")
    for _ in range(100_000):
        pay(ledger, event)
    assert spent_exactly(ledger) == 100_000 * pure_epsilon(event)
    assert 1 - Fraction(1, 10**15) <= spent_exactly(ledger) <= 1
    with pytest.raises(BudgetError):
        pay(ledger, event)


def test_an_amount_just_above_the_budget_is_refused():
    with pytest.raises(BudgetError):
        pay(Ledger(1, DELTA), table(math.nextafter(1.0, 2.0)))
    pay(Ledger(1, DELTA), table(1.0))


def test_a_negative_count_is_no_refund():
    ledger = Ledger(1, DELTA)
    pay(ledger, table(1))
    with pytest.raises(InputError):
        pay(ledger, SelfComposedDpEvent(DiscreteLaplaceDpEvent(1.0, 1), -1))
    assert ledger.spent == 1


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, 0, -1, "x", None, "1e400", "1e999999999", "1e-999999999"]
)
def test_bad_budgets_are_refused(bad):
    with pytest.raises(InputError, match="epsilon"):
        Ledger(bad, DELTA)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0, -1, 1])
def test_bad_deltas_are_refused(bad):
    with pytest.raises(InputError, match="delta"):
        Ledger(1, bad)


@pytest.mark.parametrize(
    "parameter",
    [
        {"relation": "swap"},
        {"composition": "advanced"},
        {"rows_per_unit": 0},
        {"rows_per_unit": 1.5},
        {"rows_per_unit": math.nan},
        {"rows_per_unit": math.inf},
    ],
    ids=str,
)
def test_bad_parameters_are_refused(parameter):
    with pytest.raises(InputError, match=next(iter(parameter))):
        Ledger(1, DELTA, **parameter)


def granted_in_threads(ledger, monkeypatch, threads=8):
    """How many of several simultaneous charges of 0.3 a ledger accepts."""

    together = threading.Barrier(threads)

    def slow_price(event, delta, relation):
        time.sleep(0.1)  # long enough for all threads to look before one of them writes
        return Fraction(3, 10) * sum(parts(event).values())

    monkeypatch.setattr("dpfair.privacy.tally.cost", slow_price)
    outcomes = []

    def work():
        together.wait()
        try:
            pay(ledger, step_event(1.0, 1.0))
        except BudgetError:
            return
        outcomes.append(1)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(outcomes)


def test_threads_cannot_overspend(monkeypatch):
    assert granted_in_threads(Ledger(1, DELTA), monkeypatch) == 3
    unlocked = Ledger(1, DELTA)
    unlocked._lock = nullcontext()
    assert granted_in_threads(unlocked, monkeypatch) > 3


def test_a_check_refuses_as_a_charge_would_and_charges_nothing():
    ledger = Ledger(1, DELTA)
    pay(ledger, table("3/4"))
    for _ in range(3):
        ledger.check(table("1/4"), scope="", purpose="ask")
    assert spent_exactly(ledger) == Fraction(3, 4)
    assert len(ledger.entries) == 1
    with pytest.raises(BudgetError, match="'ask'"):
        ledger.check(table("1/2"), scope="", purpose="ask")
    with pytest.raises(InputError, match="scope"):
        ledger.check(table("1/8"), scope="a//b", purpose="ask")


scopes = st.sampled_from(["", "train", "release", "train/a", "train/b", "release/a/b"])
amounts = st.fractions(min_value=Fraction(1, 1000), max_value=2)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(amounts, scopes), max_size=12),
    st.sampled_from(["tight", "basic"]),
    st.integers(1, 3),
)
def test_pure_charges_never_exceed_the_budget(charges, composition, rows):
    ledger = Ledger(2, DELTA, composition=composition, rows_per_unit=rows)
    accepted = []
    for amount, scope in charges:
        before = spent_exactly(ledger)
        try:
            pay(ledger, table(amount), scope)
        except BudgetError:
            assert spent_exactly(ledger) == before
        else:
            accepted.append(scope)
            assert spent_exactly(ledger) >= before
        assert spent_exactly(ledger) <= 2
        assert ledger.spent <= 2
        assert [entry.scope for entry in ledger.entries] == accepted


def test_unlike_tables_are_added_exactly():
    ledger = Ledger(1, DELTA)
    for amount in ("1/2", "1/4", "1/8", "1/8"):
        pay(ledger, table(amount))
    assert spent_exactly(ledger) == 1
    with pytest.raises(BudgetError):
        pay(ledger, table(1e-9))
