"""The texts of a charge are bounded."""

import pytest
from privacy.ledger_file.paying import pay, table

from dpfair.errors import (
    InputError,
)


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
