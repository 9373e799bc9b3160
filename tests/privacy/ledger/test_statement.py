"""What a ledger, its JSON and its copies say: all charges, and whether it is private."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from privacy.ledger_file.paying import DELTA, pay, table

from dpfair.errors import BudgetError
from dpfair.privacy.event_json import event_from_json
from dpfair.privacy.events import gaussian_steps
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise


def test_a_ledger_can_be_copied_and_stored():
    ledger = Ledger(1, DELTA)
    pay(ledger, table("3/4"))
    for again in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert again.to_json() == ledger.to_json()
        with pytest.raises(BudgetError):
            pay(again, table("1/2"))


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


def test_a_seeded_source_put_in_later_is_not_private():
    ledger = Ledger(1, 1e-5)
    assert ledger.private
    ledger.noise = Noise(1)
    assert not ledger.private
    ledger.noise = Noise()
    ledger.mark(seeded=True, row=None)
    assert not ledger.private
