"""A ledger file for the tests of this folder."""

import pytest
from privacy.ledger_file.paying import DELTA

from dpfair.privacy.ledger_file import LedgerFile


@pytest.fixture
def ledger(tmp_path):
    ledger = LedgerFile.create(tmp_path / "loans.ledger", "1", DELTA, name="loans")
    yield ledger
    ledger.close()
