"""A sealed ledger: the charges of its fit are complete."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from privacy.ledger_file.paying import DELTA, pay, table

from dpfair.errors import BudgetError, ReceiptError
from dpfair.privacy.events import gaussian_steps
from dpfair.privacy.ledger import Ledger


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
