"""No noise without payment: what a receipt draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.dp_event import ComposedDpEvent, SelfComposedDpEvent
from privacy.ledger_file.paying import DELTA, pay, table

from dpfair.errors import ReceiptError
from dpfair.privacy.events import compose, gaussian_steps, noisy_table, step_event
from dpfair.privacy.ledger import Ledger, Receipt
from dpfair.privacy.noise import Noise


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


def test_each_event_of_a_receipt_has_its_own_noise():
    events = {size: step_event(size, 1.0) for size in (1.0, 50.0)}
    paid = ComposedDpEvent([SelfComposedDpEvent(event, 2) for event in events.values()])
    receipt = Receipt(paid, Noise(1))
    for size in (1.0, 50.0, 1.0, 50.0):
        noisy = receipt.draw(events[size]).gaussian(np.zeros(4000), 1.0)
        assert noisy.std() == pytest.approx(size, rel=0.1)


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
