"""A fair model for the tests of this folder."""

from __future__ import annotations

import pytest

from dpfair import PrivateFairClassifier


@pytest.fixture(scope="module")
def fitted(loans, loan_schema):
    return PrivateFairClassifier(2, schema=loan_schema, random_state=5).fit(*loans)
