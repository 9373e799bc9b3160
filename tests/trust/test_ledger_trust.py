"""Races, crashes and forgeries of ledger files, in a size for every day.

The same functions run at full size from ``python tests/trust/full_ledger.py``.
"""

from __future__ import annotations

import time

import pytest
from trust import crash, race, tamper

from dpfair.privacy.ledger_file.file import LedgerFile
from dpfair.privacy.ledger_file.scopes import Scopes


@pytest.mark.parametrize("run", [race.race_processes, race.race_threads])
def test_runners_together_get_exactly_the_budget(tmp_path, run):
    path = tmp_path / "race.ledger"
    LedgerFile.create(path, "1/10", 1e-5)
    found = run(path, 8, 40)
    assert found.errors == ()
    assert (found.granted, found.refused, found.charged) == (50, 270, 50)
    assert found.spent <= 0.1
    assert LedgerFile(path).verify().charges == 50


def test_a_race_is_lost_without_the_decision_inside_the_transaction(tmp_path, monkeypatch):
    """The negative twin: whoever was told that there is room, charges."""
    decide = LedgerFile._affordable

    def looked_before(self, amount, scope, purpose):
        connection = self._file._connection
        if connection is not None and connection.in_transaction:
            return self._tally.spent + amount.pure
        return decide(self, amount, scope, purpose)

    monkeypatch.setattr(LedgerFile, "_affordable", looked_before)
    path = tmp_path / "race.ledger"
    LedgerFile.create(path, "1/50", 1e-5)
    assert race.race_processes(path, 8, 10).granted > 10


def test_only_one_spelling_of_a_scope_gets_its_budget(tmp_path):
    path = tmp_path / "race.ledger"
    LedgerFile.create(path, 1, 1e-5)
    granted, scopes = race.race_spellings(path, 8)
    assert granted == 1
    assert len(scopes) == 2
    assert LedgerFile(path).verify().charges == 1


def test_spellings_race_without_the_decision_inside_the_transaction(tmp_path, monkeypatch):
    """The negative twin: whoever found no look-alike before, declares."""
    decide = Scopes.check
    asked = []

    def looked_before(self, scope, *, new=False):
        asked.append(scope)
        if len(asked) == 1:
            time.sleep(0.2)  # until all have asked once
            decide(self, scope, new=new)

    monkeypatch.setattr(Scopes, "check", looked_before)
    path = tmp_path / "race.ledger"
    LedgerFile.create(path, 1, 1e-5)
    assert race.race_spellings(path, 8)[0] > 1


@pytest.mark.parametrize("stop", [False, True], ids=["kill", "stop"])
def test_what_is_released_was_paid_whenever_the_process_dies(tmp_path, stop):
    damage = crash.kill_at_random(tmp_path, 16, stop=stop, longest=0.1)
    assert damage.unpaid == set()
    assert damage.charged >= damage.released > 0


def test_paying_for_what_is_already_out_is_caught(tmp_path):
    """The negative twin."""
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


def test_a_limit_on_the_size_of_files_gives_no_receipt(tmp_path, monkeypatch):
    monkeypatch.setattr(crash.shutil, "which", lambda name: None)
    receipts, charges = crash.fill_disk(tmp_path)
    assert 5 < receipts <= charges <= receipts + 1  # the log may take one that the file cannot


@pytest.mark.parametrize("mask", [0x01, 0xFF])
def test_a_changed_byte_is_noticed(tmp_path, mask):
    path = tmp_path / "tamper.ledger"
    tamper.varied_ledger(path, rows=20)
    header = [18, 19, 24, 27, 28, 44, 60, 68, 92, 95, 96, 97, 98, 99]
    positions = [*header, *range(100, path.stat().st_size, 997)]
    assert tamper.undetected(path, positions, mask) == []
