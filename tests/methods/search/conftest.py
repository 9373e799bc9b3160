"""A finished search, and searches of five runs, for the tests of this folder."""

from __future__ import annotations

import pytest
from methods.search.searching import FiveRuns, make_search

from dpfair.privacy.noise import noise_from


@pytest.fixture(scope="module")
def fitted(loans, loan_schema):
    return make_search(loan_schema).fit(*loans)


@pytest.fixture
def five_runs():
    with noise_from(FiveRuns):
        yield
