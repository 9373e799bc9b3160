"""Races, crashes and forgeries of ledger files, in a size for every day.

The same functions run at full size from ``python tests/trust/full_ledger.py``.
"""

from __future__ import annotations

import pytest
from trust import crash, race, tamper

from dpfair.privacy.ledger_file import LedgerFile


@pytest.mark.parametrize("run", [race.race_processes, race.race_threads])
def test_runners_together_get_exactly_the_budget(tmp_path, run):
    path = tmp_path / "race.ledger"
    LedgerFile.create(path, "1/10", 1e-5)
    found = run(path, 8, 40)
    assert found.errors == ()
    assert (found.granted, found.refused, found.charged) == (50, 270, 50)
    assert found.spent <= 0.1
    assert LedgerFile(path).verify().charges == 50


def test_a_ledger_that_decides_before_it_locks_loses_the_race(tmp_path):
    """The race finds what it is meant to find."""
    path = tmp_path / "race.ledger"
    path.write_text("1/50\n")
    assert race.race_processes(path, 8, 10, kind=race.Hasty).granted > 10


def test_only_one_spelling_of_a_scope_gets_its_budget(tmp_path):
    path = tmp_path / "race.ledger"
    LedgerFile.create(path, 1, 1e-5)
    granted, scopes = race.race_spellings(path, 8)
    assert granted == 1
    assert len(scopes) == 2
    assert LedgerFile(path).verify().charges == 1


def test_a_ledger_that_decides_before_it_locks_grants_several_spellings(tmp_path):
    """The race finds what it is meant to find."""
    path = tmp_path / "race.ledger"
    path.write_text("1\n")
    assert race.race_spellings(path, 8, kind=race.Hasty)[0] > 1


@pytest.mark.parametrize("stop", [False, True], ids=["kill", "stop"])
def test_what_is_released_was_paid_whenever_the_process_dies(tmp_path, stop):
    damage = crash.kill_at_random(tmp_path, 16, stop=stop, longest=0.1)
    assert damage.unpaid == set()
    assert damage.charged >= damage.released > 0


def test_paying_for_what_is_already_out_is_caught(tmp_path):
    """The kills find what they are meant to find."""
    damage = crash.kill_at_random(tmp_path, 16, crash.releasing_first, longest=0.1)
    assert damage.unpaid


def test_a_torn_log_loses_nothing(tmp_path):
    """What a receipt was given for is in the file itself, also if its log is lost."""
    tried, lost = crash.torn_logs(tmp_path, charges=10, step=97)
    assert tried > 40
    assert lost == 0


def test_a_full_disk_gives_no_receipt(tmp_path):
    receipts, charges = crash.fill_disk(tmp_path)
    assert 5 < receipts <= charges <= receipts + 1  # the log may take one that the file cannot


def test_a_limit_on_the_size_of_files_gives_no_receipt(tmp_path):
    receipts, charges = crash.fill_disk(tmp_path, disk=False)
    assert 5 < receipts <= charges <= receipts + 1  # the log may take one that the file cannot


@pytest.mark.parametrize("mask", [0x01, 0xFF])
def test_a_changed_byte_is_noticed(tmp_path, mask):
    path = tmp_path / "tamper.ledger"
    tamper.varied_ledger(path, rows=20)
    header = [18, 19, 24, 27, 28, 44, 60, 68, 92, 95, 96, 97, 98, 99]
    positions = [*header, *range(100, path.stat().st_size, 997)]
    assert tamper.undetected(path, positions, mask) == []
