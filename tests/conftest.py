"""Tables that many tests use, made or loaded once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sample_tables import LOANS, make_loans

from dpfair import Schema, load_adult, load_credit


@pytest.fixture(scope="session")
def loans() -> tuple[pl.DataFrame, np.ndarray]:
    return make_loans()


@pytest.fixture(scope="session")
def loan_schema() -> Schema:
    return Schema.from_dict(LOANS)


@pytest.fixture(scope="session")
def adult():
    return load_adult()


@pytest.fixture(scope="session")
def credit():
    return load_credit()
