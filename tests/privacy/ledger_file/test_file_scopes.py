"""A ledger file knows its scopes: declared in the chain, once, before they are charged."""

import json

import pytest
from privacy.ledger_file.forging import (
    charge_row,
    forge_rows,
    make_first_format,
    written_meanwhile,
)
from privacy.ledger_file.paying import table

from dpfair.errors import BudgetError, InputError, LedgerFileError, LedgerTamperedError
from dpfair.privacy.ledger_file import LedgerFile
from dpfair.privacy.ledger_file.rows import Declared

SPELLINGS = ["North", "NORTH", "n\u043erth", "n0rth", "north ", "nor\u200bth", "\uff4eorth"]


def pay(ledger, scope, amount="1/2", **how):
    return ledger.charge(table(amount), scope=scope, purpose="test", **how)


@pytest.fixture
def ledger(tmp_path):
    return LedgerFile.create(tmp_path / "loans.ledger", 1, 1e-5)


def kinds(ledger):
    return [json.loads(json.loads(line)["body"])["kind"] for line in ledger.export()]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_second_spelling_has_no_second_budget(ledger, spelling):
    pay(ledger, "north", 1, new_scope=True)
    for new in (False, True):
        with pytest.raises(InputError, match="looks like 'north'"):
            pay(ledger, spelling, new_scope=new)
    with pytest.raises(InputError, match="looks like 'north'"):
        ledger.add_scope(spelling)
    assert len(ledger.entries) == 1
    assert LedgerFile(ledger.path).verify().charges == 1


def test_an_undeclared_scope_is_not_charged(ledger):
    for ask in (pay, lambda file, scope: file.check(table(1), scope=scope, purpose="test")):
        with pytest.raises(InputError, match="'north' was not declared"):
            ask(ledger, "north")
    assert kinds(ledger) == ["open"]
    ledger.add_scope("north")
    pay(ledger, "north")
    assert kinds(ledger) == ["open", "scope", "charge"]


def test_a_scope_is_declared_with_its_first_charge_or_not_at_all(ledger):
    ledger.check(table(1), scope="north", purpose="test", new_scope=True)
    with pytest.raises(BudgetError):
        pay(ledger, "north", 2, new_scope=True)
    assert kinds(ledger) == ["open"]
    receipt = pay(ledger, "north", new_scope=True)
    assert kinds(ledger) == ["open", "scope", "charge"]
    assert receipt.row == ledger.head
    pay(ledger, "north", new_scope=True)
    assert kinds(ledger) == ["open", "scope", "charge", "charge"]
    assert LedgerFile(ledger.path).verify().charges == 2


def test_declaring_twice_changes_nothing(ledger):
    ledger.add_scope("north")
    head = ledger.head
    LedgerFile(ledger.path).add_scope("north")
    ledger.add_scope("")
    assert ledger.head == head


def test_others_know_what_was_declared(ledger):
    other = LedgerFile(ledger.path)
    ledger.add_scope("north")
    pay(other, "north")
    with pytest.raises(InputError, match="looks like 'north'"):
        other.add_scope("North")


def test_a_look_alike_that_is_declared_meanwhile_is_refused(ledger):
    """The decision is made again inside the transaction."""
    with (
        written_meanwhile(ledger.path, Declared("north"), charge_row(table(1), "north")),
        pytest.raises(InputError, match="looks like 'north'"),
    ):
        pay(ledger, "North", 1, new_scope=True)
    assert kinds(ledger) == ["open", "scope", "charge"]


def test_scopes_are_listed_with_what_is_spent(ledger):
    for scope in ("2025", "2025/north", "2025/south", "2026"):
        ledger.add_scope(scope)
    pay(ledger, "", "1/8")
    pay(ledger, "2025/north", "1/2")
    pay(ledger, "2026", "1/4")
    assert ledger.scopes == {
        "": 0.625,
        "2025": 0.625,
        "2025/north": 0.625,
        "2025/south": 0.125,
        "2026": 0.375,
    }


def test_verification_finds_look_alikes_that_were_written_without_the_check(ledger):
    pay(ledger, "north", 1, new_scope=True)
    forge_rows(ledger.path, Declared("North"), charge_row(table(1), "North"))
    with pytest.raises(LedgerTamperedError, match="Row 3"):
        LedgerFile(ledger.path).verify()


def test_verification_finds_a_charge_without_a_declaration(ledger):
    forge_rows(ledger.path, charge_row(table("1/2"), "north"))
    with pytest.raises(LedgerTamperedError, match=r"Row 1 .* not declared before"):
        LedgerFile(ledger.path).verify()


def test_a_ledger_of_the_first_format_is_told_what_to_do(tmp_path):
    make_first_format(tmp_path / "old.ledger")
    with pytest.raises(LedgerFileError, match=r"format 1.*dpfair ledger init") as caught:
        LedgerFile(tmp_path / "old.ledger")
    assert not isinstance(caught.value, LedgerTamperedError)
