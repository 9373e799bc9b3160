"""No noise without payment, and no payment beyond the budget."""

import copy
import json
import math
import pickle
import threading
import time
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    SelfComposedDpEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.errors import BudgetError, InputError, ReceiptError
from dpfair.privacy.accountants import calibrate, epsilon
from dpfair.privacy.event_json import event_from_json
from dpfair.privacy.events import (
    compose,
    gaussian_steps,
    noisy_table,
    parts,
    pure_epsilon,
    step_event,
)
from dpfair.privacy.ledger import Ledger, Receipt
from dpfair.privacy.noise import Noise

DELTA = 1e-5


def table(amount, relation="add_remove"):
    return noisy_table(amount, relation)


def pay(ledger, event, scope="", purpose="test"):
    return ledger.charge(event, scope=scope, purpose=purpose)


def spent_exactly(ledger):
    return ledger._tally.spent * ledger.rows_per_unit


# Payment before noise


def test_no_receipt_no_noise():
    receipt = pay(Ledger(1, DELTA), table("1/2"))
    for unpaid in (table("1/4"), step_event(1.0, 1.0), compose([table("1/2")] * 2)):
        with pytest.raises(ReceiptError):
            receipt.draw(unpaid)
    receipt.draw(table("1/2"))


def test_a_receipt_draws_once_per_paid_event():
    step = step_event(5.0, 1.0)
    receipt = pay(Ledger(10, DELTA), gaussian_steps(5.0, 1.0, 3))
    for _ in range(3):
        receipt.draw(step)
    with pytest.raises(ReceiptError, match="Nothing is left"):
        receipt.draw(step)


def test_an_equal_event_is_the_same_event():
    receipt = pay(Ledger(10, DELTA), compose([table("1/2"), table("1/2"), step_event(5.0, 0.1)]))
    receipt.draw(table("1/2"))
    receipt.draw(step_event(5.0, 0.1))
    receipt.draw(table("1/2"))
    with pytest.raises(ReceiptError):
        receipt.draw(table("1/2"))
    with pytest.raises(ReceiptError):
        receipt.draw(step_event(5.0, 0.1))


def test_a_refused_draw_uses_up_nothing():
    receipt = pay(Ledger(10, DELTA), compose([table("1/2"), step_event(5.0, 1.0)]))
    with pytest.raises(ReceiptError):
        receipt.draw(compose([step_event(5.0, 1.0), table("1/4")]))
    receipt.draw(step_event(5.0, 1.0))
    receipt.draw(table("1/2"))


def test_equal_events_share_what_is_left():
    """A receipt finds an event by its value, also when another one was drawn in between."""
    first, second = step_event(1.0, 0.5), step_event(2.0, 0.5)
    receipt = Receipt(ComposedDpEvent([SelfComposedDpEvent(first, 3), second]), Noise(1))
    for event in (first, step_event(1.0, 0.5), second, first):
        receipt.draw(event)
    assert receipt.used_up
    for event in (first, step_event(1.0, 0.5), second, step_event(3.0, 0.5)):
        for _ in range(2):
            with pytest.raises(ReceiptError, match="Nothing is left"):
                receipt.draw(event)


def test_one_table_per_draw():
    draw = pay(Ledger(1, DELTA), table(1)).draw(table(1))
    assert len(draw.discrete_laplace([3, 4, 5])) == 3
    with pytest.raises(ReceiptError):
        draw.discrete_laplace([3, 4, 5])


def test_the_kind_of_noise_is_fixed():
    with pytest.raises(ReceiptError):
        pay(Ledger(1, DELTA), table(1)).draw(table(1)).gaussian(np.zeros(2), 1.0)
    step = step_event(5.0, 1.0)
    with pytest.raises(ReceiptError):
        pay(Ledger(9, DELTA), step).draw(step).discrete_laplace([1])


def gaussian_draw(multiplier=5.0, rate=1.0):
    step = step_event(multiplier, rate)
    return pay(Ledger(9, DELTA, noise=Noise(1)), step).draw(step)


def test_queries_share_the_paid_noise():
    draw = gaussian_draw(5.0)
    share = 5.0 * math.sqrt(2)
    draw.gaussian(np.zeros(1), 1.0, share)
    draw.gaussian(np.zeros(1), 1.0, share)
    with pytest.raises(ReceiptError, match="did not pay"):
        draw.gaussian(np.zeros(1), 1.0, share)


@pytest.mark.parametrize("multiplier", [4.999, 0.0, -5.0, math.nan, 1e-300])
def test_less_noise_than_paid_for_is_refused(multiplier):
    """Issue class PySyft#6914."""
    with pytest.raises(ReceiptError):
        gaussian_draw(5.0).gaussian(np.zeros(1), 1.0, multiplier)


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan, math.inf])
def test_noise_needs_a_sensitivity(sensitivity):
    """Issue class smartnoise-sdk#317: a missing bound must not mean no noise."""
    with pytest.raises(ReceiptError, match="sensitivity"):
        gaussian_draw().gaussian(np.ones(3), sensitivity)


def test_gaussian_noise_has_the_paid_size():
    noisy = gaussian_draw(5.0).gaussian(np.full(20_000, 7.0), 3.0)
    assert noisy.std() == pytest.approx(15, rel=0.03)
    assert noisy.mean() == pytest.approx(7, abs=0.5)
    # The twin: half the noise fails the same check.
    assert (noisy / 2).std() != pytest.approx(15, rel=0.03)


@pytest.mark.parametrize("shape", [(4, 1), (1, 4), (2, 2), (4,), ()])
def test_every_number_gets_its_own_noise(shape):
    """A column plus a row of normals would broadcast and reveal all differences."""
    noisy = gaussian_draw().gaussian(np.zeros(shape), 1.0)
    assert noisy.shape == shape
    assert len(np.unique(noisy)) == noisy.size


def test_a_sampled_event_pays_for_its_batch_only():
    with pytest.raises(ReceiptError, match="batch"):
        gaussian_draw(rate=0.1).gaussian(np.zeros(2), 1.0)
    draw = gaussian_draw(rate=0.1)
    assert len(draw.batch(10_000)) == pytest.approx(1000, abs=200)
    draw.gaussian(np.zeros(2), 1.0)
    with pytest.raises(ReceiptError):
        draw.batch(10_000)


def test_at_rate_one_everybody_is_in_the_batch():
    assert np.arange(5)[gaussian_draw().batch(5)].tolist() == [0, 1, 2, 3, 4]


class Silent(Noise):
    """Fails when any randomness is taken."""

    def take(self, count):
        raise AssertionError("noise before payment")


def test_charging_takes_no_randomness():
    ledger = Ledger(3, DELTA, noise=Silent())
    receipt = pay(ledger, compose([table("1/2"), step_event(5.0, 0.1)]))
    assert len(ledger.entries) == 1
    with pytest.raises(AssertionError):
        receipt.draw(table("1/2")).discrete_laplace([1])
    # A failure after payment is never refunded.
    assert ledger.spent > 0


# Budgets


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


def test_a_ledger_can_be_copied_and_stored():
    ledger = Ledger(1, DELTA)
    pay(ledger, table("3/4"))
    for again in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert again.to_json() == ledger.to_json()
        with pytest.raises(BudgetError):
            pay(again, table("1/2"))


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


# A fit whose charges are complete


def test_a_sealed_ledger_accepts_no_more_charges():
    ledger = Ledger(9, DELTA)
    pay(ledger, gaussian_steps(20.0, 1.0, 3), "train")
    pay(ledger, table("1/2"))
    ledger.seal()
    before = json.dumps(ledger.to_json())
    for scope, event in [
        ("release", gaussian_steps(20.0, 1.0, 3)),
        ("train", gaussian_steps(20.0, 1.0, 2)),
        ("train", gaussian_steps(20.0, 1.0, 3)),  # not even what was charged before
        ("train", table("1/2")),
        ("", table("1/2")),
        ("", table("1/4")),
    ]:
        with pytest.raises(ReceiptError, match="'other' is not in the plan"):
            pay(ledger, event, scope, "other")
        with pytest.raises(ReceiptError, match="'ask' is not in the plan"):
            ledger.check(event, scope=scope, purpose="ask")
    assert json.dumps(ledger.to_json()) == before


def test_a_refused_charge_does_not_seal():
    ledger = Ledger(1, DELTA)
    for _ in range(2):
        with pytest.raises(BudgetError):
            pay(ledger, table(2))
    pay(ledger, table(1))


def test_receipts_of_a_sealed_ledger_draw_what_they_paid():
    ledger = Ledger(1, DELTA)
    receipt = pay(ledger, table("1/2"))
    ledger.seal()
    receipt.draw(table("1/2"))
    with pytest.raises(ReceiptError, match="Nothing is left"):
        receipt.draw(table("1/2"))


def test_a_seal_cannot_be_broken():
    ledger = Ledger(1, DELTA)
    for _ in range(2):
        ledger.seal()
        with pytest.raises(ReceiptError, match="plan"):
            pay(ledger, table("1/2"))


def test_a_copy_keeps_the_seal_and_its_json_does_not_tell_it():
    ledger, free = Ledger(1, DELTA), Ledger(1, DELTA)
    for one in (ledger, free):
        pay(one, table("1/4"))
    ledger.seal()
    for again in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        with pytest.raises(ReceiptError, match="plan"):
            pay(again, table("1/4"))
    assert free.to_json() == ledger.to_json()
    pay(free, table("1/8"))


# Scopes


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


# Who can trust it


def test_a_seeded_ledger_is_not_private():
    assert Ledger(1, DELTA).private
    seeded = Ledger(1, DELTA, noise=Noise(7))
    assert not seeded.private
    assert seeded.to_json()["private"] is False
    read = Ledger(1, DELTA)
    read.mark(seeded=True, row=None)
    assert not read.private


def test_seeded_receipts_repeat_and_secure_ones_do_not():
    def counts(noise):
        return pay(Ledger(1, DELTA, noise=noise), table("1/50")).draw(table("1/50"))

    assert counts(Noise(7)).discrete_laplace([0] * 9) == counts(Noise(7)).discrete_laplace([0] * 9)
    assert counts(None).discrete_laplace([0] * 9) != counts(None).discrete_laplace([0] * 9)


@pytest.mark.parametrize("composition", ["tight", "basic"])
def test_the_json_of_a_ledger_says_all_that_was_charged(composition):
    ledger = Ledger("7/3", DELTA, composition=composition, relation="replace_one", rows_per_unit=2)
    pay(ledger, gaussian_steps(200.0, 0.5, 10), "train")
    pay(ledger, table("1/10", "replace_one"), "release")
    data = json.loads(json.dumps(ledger.to_json(), allow_nan=False))
    parameters = {name: data[name] for name in ("relation", "composition", "rows_per_unit")}
    again = Ledger(data["epsilon"], data["delta"], **parameters)
    assert again.row_budget == ledger.row_budget
    for entry in data["entries"]:
        pay(again, event_from_json(entry["event"]), entry["scope"], entry["purpose"])
    assert again.to_json() == data
    assert again.entries == ledger.entries
    with pytest.raises(BudgetError):
        pay(again, table("7/6", "replace_one"), "release")


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


def test_unlike_tables_are_added_exactly():
    ledger = Ledger(1, DELTA)
    for amount in ("1/2", "1/4", "1/8", "1/8"):
        pay(ledger, table(amount))
    assert spent_exactly(ledger) == 1
    with pytest.raises(BudgetError):
        pay(ledger, table(1e-9))


def test_a_replace_one_table_is_drawn_whole_and_once():
    """Its two leaves are the two cells that one neighbour moves, not two tables."""
    ledger = Ledger(1, 1e-5, relation="replace_one")
    event = noisy_table(1, "replace_one")
    receipt = ledger.charge(event, scope="", purpose="table")
    with pytest.raises(ReceiptError):
        receipt.draw(event.event)
    receipt.draw(event)
    with pytest.raises(ReceiptError):
        receipt.draw(event)


def test_receipts_cannot_be_copied_and_threads_cannot_share_the_last_draw():
    import copy
    import pickle
    from concurrent.futures import ThreadPoolExecutor

    ledger = Ledger(100, 1e-5)
    event = noisy_table("0.01", "add_remove")
    receipt = ledger.charge(event, scope="", purpose="table")
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ReceiptError):
            duplicate(receipt)

    def attempt(_):
        try:
            receipt.draw(event)
        except ReceiptError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(200))) == 1


def test_a_seeded_source_put_in_later_is_not_private():
    ledger = Ledger(1, 1e-5)
    assert ledger.private
    ledger.noise = Noise(1)
    assert not ledger.private
    ledger.noise = Noise()
    ledger.mark(seeded=True, row=None)
    assert not ledger.private
