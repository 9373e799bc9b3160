"""Rows say what they say, and a change breaks the chain."""

import hashlib
import json
from fractions import Fraction

import pytest

from dpfair.errors import LedgerTamperedError
from dpfair.privacy.events import OneOfDpEvent, gaussian_steps, noisy_table
from dpfair.privacy.ledger_file.rows import (
    BEFORE_ALL,
    Charge,
    Kept,
    Opening,
    Row,
    chained,
    read_row,
)

OPENING = Opening("loans", Fraction(1, 3), Fraction(1, 10**5), "add_remove", "adaptive", None, 1)
CHARGE = Charge(
    "2025/north",
    "fit \u2014 \ud800\n",
    "key",
    "f" * 64,
    OneOfDpEvent((gaussian_steps(2.0, 0.1, 3), noisy_table("1/7", "replace_one"))),
    Fraction(0.1),
    Fraction(0),
    Fraction(7, 30),
)
KEPT = Kept("key", "0" * 64, 0)


def three():
    first = chained(None, OPENING)
    second = chained(first, CHARGE)
    return [first, second, chained(second, KEPT)]


def test_what_was_written_is_read():
    first, second, third = three()
    assert [row.seq for row in (first, second, third)] == [0, 1, 2]
    assert read_row(None, first) == OPENING
    assert read_row(first, second) == CHARGE
    assert read_row(second, third) == KEPT


def test_the_chain_is_sha256_of_the_hash_before_and_the_body():
    first, second, _ = three()
    assert first.hash == hashlib.sha256((BEFORE_ALL + first.body).encode()).hexdigest()
    assert second.hash == hashlib.sha256((first.hash + second.body).encode()).hexdigest()
    assert second.body.isascii()
    assert " " not in first.body
    assert json.loads(first.body)["epsilon"] == "1/3"


def test_a_changed_moved_or_missing_row_breaks_the_chain():
    first, second, third = three()
    for previous, row in [
        (first, third),
        (None, second),
        (second, second),
        (first, Row(2, second.body, second.hash)),
        (first, Row(1, second.body.replace("north", "south"), second.hash)),
        (first, Row(1, second.body, third.hash)),
        (Row(0, first.body, "0" * 64), second),
    ]:
        with pytest.raises(LedgerTamperedError, match="was changed"):
            read_row(previous, row)


def forged(previous, body):
    """A row with a body that nobody wrote, in a chain that is right."""
    hash_ = hashlib.sha256((previous.hash + body).encode()).hexdigest()
    return Row(previous.seq + 1, body, hash_)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.replace("{", "{ ", 1),
        lambda body: body.replace('"delta":"0"', '"delta":"0","delta":"0"'),
        lambda body: body.replace('"delta":"0"', '"delta":0'),
        lambda body: body.replace('"delta":"0"', '"delta":"1e999999999"'),
        lambda body: body.replace('"delta":"0"', '"delta":"1/0"'),
        lambda body: body.replace('"delta":"0"', '"delta":"-1"'),
        lambda body: body.replace('"delta":"0",', ""),
        lambda body: body.replace('"kind":"charge"', '"kind":"open"'),
        lambda body: body.replace('"kind":"charge"', '"kind":"refund"'),
        lambda body: body[:-1] + ',"zone":1}',
        lambda body: body.replace('"event":{', '"event":{"a":1,"kind":"Nothing","x":{') + "}",
        lambda body: "[" * 10**5,
        lambda body: "null",
        lambda body: "NaN",
    ],
)
def test_a_body_that_dpfair_does_not_write_is_refused(change):
    first, second, _ = three()
    body = change(second.body)
    assert body != second.body
    with pytest.raises(LedgerTamperedError, match="cannot be read"):
        read_row(first, forged(first, body))


def test_only_the_first_row_opens_a_ledger():
    first, _, _ = three()
    with pytest.raises(LedgerTamperedError, match="cannot be read"):
        read_row(first, chained(first, OPENING))
    charge = chained(None, CHARGE)
    with pytest.raises(LedgerTamperedError, match="cannot be read"):
        read_row(None, charge)
