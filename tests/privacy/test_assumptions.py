"""Facts that are taken as public: their words, and that ledger and certificate list them."""

from __future__ import annotations

import numpy as np
import pytest

from dpfair import InputError
from dpfair.certificate import PrivacyClaim
from dpfair.privacy.assumptions import Assumption
from dpfair.privacy.ledger import Ledger

BY_GROUP = Assumption(("group",), "release")


def test_words_follow_from_what_is_counted():
    assert Assumption().text == "the number of records"
    assert BY_GROUP.text == "the number of records of each group in the release scope"
    both = Assumption(("group", "label")).text
    assert both == "the number of records of each group and label"


def test_only_groups_and_labels_can_be_counted_by():
    with pytest.raises(InputError, match="income"):
        Assumption(("income",))


def test_the_certificate_lists_what_the_ledger_assumed_once():
    ledger = Ledger(1, 1e-5)
    sizes = np.array([3, 4])
    for _ in range(2):
        assert ledger.assume(BY_GROUP, sizes) is sizes
    ledger.assume(Assumption(), np.array([7]))
    assert ledger.assumptions == (BY_GROUP, Assumption())
    claim = PrivacyClaim.from_ledger(
        ledger, unit="", arithmetic="", assumed_public=["the schema"], leaks=()
    )
    assert claim.assumed_public == ("the schema", BY_GROUP.text, Assumption().text)
