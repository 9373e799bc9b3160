"""Counting charge by charge gives what composing everything at once gives."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.ledger_file.paying import table

from dpfair.privacy import tally as tally_module
from dpfair.privacy.accountants import cost
from dpfair.privacy.events import (
    OneOfDpEvent,
    compose,
    gaussian_steps,
    noisy_table,
    path_events,
    pure_epsilon,
)
from dpfair.privacy.tally import Amount, Tally

DELTA = 1e-5


def charge(tally, scope, event):
    amount = Amount.of(event)
    tally.add(scope, amount, tally.total(scope, amount))


def at_once(charges, composition):
    """The definition: every path composed from scratch; or every charge with its share of delta."""
    if composition == "tight":
        return max(cost(event, DELTA, "add_remove") for event in path_events(charges))
    events = [event for _, event in charges]
    share = DELTA / max(sum(pure_epsilon(event) is None for event in events), 1)
    return sum((cost(event, share, "add_remove") for event in events), Fraction(0))


scopes = st.sampled_from(["", "train", "release", "train/a", "train/b", "release/a/b"])
events = st.sampled_from(
    [
        table("1/10"),
        table("1/3"),
        compose([table("1/10")] * 2),
        gaussian_steps(30.0, 1.0, 10),
        gaussian_steps(8.0, 0.05, 20),
        OneOfDpEvent((gaussian_steps(30.0, 1.0, 10), table("1/5"))),
    ]
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(scopes, events), min_size=1, max_size=7), st.sampled_from(["tight", "basic"])
)
def test_one_by_one_is_all_at_once(charges, composition):
    tally, dearest = Tally(Fraction(3), DELTA, "add_remove", composition), Fraction(0)
    for n, (scope, event) in enumerate(charges, 1):
        charge(tally, scope, event)
        dearest = max(dearest, at_once(charges[:n], composition))
        assert float(tally.spent) == pytest.approx(float(dearest), rel=1e-9)


def test_the_total_never_falls():
    """A hundred tenths cost 10; composed with Gaussian noise, the accountant says 4.3."""
    tally = Tally(Fraction(3), DELTA, "add_remove")
    for _ in range(100):
        charge(tally, "", table("1/10"))
    little = Amount.of(gaussian_steps(1000.0, 1.0, 1))
    assert tally.total("", little) == tally.spent > 9.99
    charge(tally, "", gaussian_steps(1000.0, 1.0, 1))
    assert tally.spent > 9.99


def test_asking_changes_nothing():
    tally = Tally(Fraction(3), DELTA, "add_remove")
    charge(tally, "a", table("1/4"))
    for _ in range(3):
        assert tally.total("a/b", Amount.of(table("1/4"))) == Fraction(1, 2)
    assert tally.spent == Fraction(1, 4)
    charge(tally, "", table("1/4"))
    assert tally.spent == Fraction(1, 2)


def test_a_charge_asks_the_accountant_only_about_the_scopes_below_it(monkeypatch):
    asked = []

    def priced(event, delta, relation):
        asked.append(event)
        return cost(event, delta, relation)

    monkeypatch.setattr(tally_module, "cost", priced)
    tally = Tally(Fraction(3), DELTA, "add_remove")
    for n in range(50):
        charge(tally, f"part/{n}", gaussian_steps(30.0, 1.0, 10))
    asked.clear()
    charge(tally, "part/7", gaussian_steps(30.0, 1.0, 10))
    assert len(asked) == 1
    asked.clear()
    charge(tally, "part", gaussian_steps(30.0, 1.0, 10))
    assert len(asked) == 51


def test_equal_mechanisms_are_counted_and_not_listed():
    tally = Tally(Fraction(3), DELTA, "add_remove")
    for _ in range(200):
        charge(tally, "", gaussian_steps(300.0, 1.0, 1))
    expected = cost(gaussian_steps(300.0, 1.0, 200), DELTA, "add_remove")
    assert tally.spent == expected


def test_amounts_know_equal_events():
    one, other = compose([table("1/10")] * 2), noisy_table("1/5", "replace_one")
    assert Amount.of(one).identity == Amount.of(other).identity
    assert Amount.of(one).identity != Amount.of(table("1/5")).identity
