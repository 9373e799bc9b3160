"""Tables that many tests use, made or loaded once."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pytest
import repeatable_noise
from sample_tables import LOANS, make_loans

from dpfair import Schema, load_adult, load_credit

# Tests neither read nor write the cache of the user; those of the cache name a folder of their own.
os.environ["DPFAIR_CACHE"] = "off"

# Processes that fork or are killed, permissions, links, pipes, limits of the system.
NEED_POSIX = [
    "bench/test_process.py",
    "bench/test_run.py",
    "cli/test_ledger_cli.py",
    "cli/test_outputs_cli.py",
    "experiments/test_runner.py",
    "privacy/ledger_file/test_connection.py",
    "privacy/ledger_file/test_file.py",
    "privacy/ledger_file/test_filesystem.py",
    "test_files.py",
    "trust/crash.py",
    "trust/crash_fits.py",
    "trust/detectors.py",
    "trust/full_ledger.py",
    "trust/hostile",
    "trust/race.py",
    "trust/test_hostile_models.py",
    "trust/test_ledger_trust.py",
    "trust/test_mutants.py",
]
collect_ignore = NEED_POSIX if os.name == "nt" else []


repeatable_noise.install()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    repeatable_noise.begin(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """A fixture that several tests use is the same whichever of them is first."""
    if fixturedef.scope == "function":
        return (yield)
    repeatable_noise.begin(f"{fixturedef.baseid} {fixturedef.argname}")
    made = yield
    repeatable_noise.begin(f"{request.node.nodeid} after {fixturedef.argname}")
    return made


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    repeatable_noise.begin(f"{item.nodeid} call")


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
