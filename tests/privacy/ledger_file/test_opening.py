"""A new ledger file has a possible budget, written exactly, or is not made."""

import json
from fractions import Fraction

import pytest
from privacy.ledger_file.forging import held_open
from privacy.ledger_file.paying import DELTA, pay, table

from dpfair.errors import (
    InputError,
    LedgerFileError,
)
from dpfair.privacy.ledger_file import LedgerFile


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0},
        {"epsilon": "x"},
        {"delta": 0},
        {"delta": 1},
        {"delta": "nan"},
        {"delta": "1e-999999999"},
        {"delta": "x"},
        {"delta": None},
        {"relation": "swap"},
        {"rows_per_unit": 0, "unit": "person"},
        {"rows_per_unit": 2},
        {"name": "x" * 1001},
        {"unit": 3},
    ],
    ids=str,
)
def test_a_bad_budget_makes_no_file(tmp_path, bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        LedgerFile.create(tmp_path / "x", **({"epsilon": 1, "delta": DELTA} | bad))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("delta", [1e-5, "1e-5", "0.00001", "1/100000", Fraction(1, 10**5)])
def test_a_delta_is_taken_as_it_is_written(tmp_path, delta):
    file = LedgerFile.create(tmp_path / "x", 1, delta)
    assert json.loads(json.loads(next(file.export()))["body"])["delta"] == "1/100000"
    assert file.delta == 1e-5


def test_making_it_twice_changes_nothing(ledger):
    pay(ledger, table("1/2"))
    with pytest.raises(LedgerFileError, match="exists already"):
        LedgerFile.create(ledger.path, 100, DELTA)
    assert LedgerFile(ledger.path).spent == 0.5


def test_the_log_of_an_earlier_ledger_is_not_taken_for_the_new_ones(ledger):
    reader = held_open(ledger.path)
    pay(ledger, table("1/2"))
    ledger.path.rename(ledger.path.with_name("archived.ledger"))  # while its log is there
    with pytest.raises(LedgerFileError, match="left from another ledger of this name"):
        LedgerFile.create(ledger.path, "1", DELTA)
    reader.close()


def test_a_budget_that_could_not_be_read_is_not_written(tmp_path):
    with pytest.raises(InputError, match="2000 digits"):
        LedgerFile.create(tmp_path / "x", "0." + "3" * 2500, DELTA)
    assert not list(tmp_path.iterdir())
