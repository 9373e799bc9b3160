"""The texts of a charge are bounded."""

import pytest

from dpfair.errors import (
    InputError,
)
from dpfair.privacy.events import noisy_table


def table(amount):
    return noisy_table(amount, "add_remove")


def pay(ledger, event, scope="", purpose="test", **how):
    return ledger.charge(event, scope=scope, purpose=purpose, **how)


@pytest.mark.parametrize(
    "bad",
    [
        {"purpose": 3},
        {"purpose": "x" * 1001},
        {"scope": "a//b"},
        {"scope": "a/" * 600 + "a"},
        {"key": ""},
        {"key": "x" * 1001},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_bad_texts_are_refused(ledger, bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        pay(ledger, table("1/2"), **bad)
    assert not ledger.entries
