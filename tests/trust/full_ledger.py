"""The trials of ledger files at full size; prints one line per trial.

Run by ``PYTHONPATH=src:tests python tests/trust/full_ledger.py``, with the names of trials or
without any for all of them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from trust import crash, race, tamper

from dpfair.privacy.ledger_file import LedgerFile


def serial(folder: Path) -> str:
    ledger = LedgerFile.create(folder / "serial", crash.BUDGET, 1e-5)
    began = time.perf_counter()
    for _ in range(1000):
        ledger.charge(crash.EVENT, scope="", purpose="serial")
    return f"{1000 / (time.perf_counter() - began):.0f} charges per second"


def racing(folder: Path) -> str:
    LedgerFile.create(folder / "race", 2, 1e-5)
    return str(race.race_processes(folder / "race"))


def threads(folder: Path) -> str:
    LedgerFile.create(folder / "race", 2, 1e-5)
    return str(race.race_threads(folder / "race"))


def spellings(folder: Path) -> str:
    granted = []
    for number in range(50):
        path = folder / f"spellings{number}"
        LedgerFile.create(path, 2, 1e-5)
        granted.append(race.race_spellings(path)[0])
        LedgerFile(path).verify()
    return f"50 races of 16 spellings of one scope, budgets granted in each: {set(granted)}"


def killing(folder: Path) -> str:
    return str(crash.kill_at_random(folder, 1000))


def stopping(folder: Path) -> str:
    return str(crash.kill_at_random(folder, 200, stop=True))


def tearing(folder: Path) -> str:
    tried, lost = crash.torn_logs(folder, charges=20, step=61)
    return f"{tried} truncations, {lost} charges lost"


def forging(folder: Path) -> str:
    path = folder / "tamper"
    tamper.varied_ledger(path)
    missed = {mask: tamper.undetected(path, mask=mask) for mask in (0xFF, 0x01)}
    return f"{path.stat().st_size} bytes, undetected changes by mask: {missed}"


TRIALS = {
    "serial": serial,
    "race": racing,
    "threads": threads,
    "spellings": spellings,
    "crash": killing,
    "stop": stopping,
    "torn": tearing,
    "tamper": forging,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or TRIALS:
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            outcome = TRIALS[name](Path(folder))
            print(f"{name}: {outcome} ({time.perf_counter() - began:.0f} s)", flush=True)
