"""Every byte of a ledger file, changed one at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from dpfair.errors import LedgerFileError
from dpfair.privacy.events import OneOfDpEvent, gaussian_steps, noisy_table
from dpfair.privacy.ledger_file import LedgerFile


def varied_ledger(path: Path, rows: int = 50) -> LedgerFile:
    """A ledger with every kind of row, in a single closed file."""
    ledger = LedgerFile.create(path, 30, 1e-5, name="tamper", unit="person", rows_per_unit=2)
    table, steps = noisy_table("1/10", "add_remove"), gaussian_steps(60.0, 1.0, 10)
    ledger.charge(OneOfDpEvent((steps, table)), scope="", purpose="fit", key="fit")
    ledger.keep("fit", os.urandom(6000))  # longer than a page
    ledger.add_scope("year")
    for n in range(rows - 7):
        ledger.charge(table, scope=f"year/{n % 3}", purpose=f"count {n}", new_scope=True)
    ledger.close()
    return ledger


def undetected(path: Path, positions: Iterable[int] | None = None, mask: int = 0xFF) -> list[int]:
    """The positions where a changed byte is not noticed; the file is left as it was."""
    whole, missed = path.read_bytes(), []
    for position in range(len(whole)) if positions is None else positions:
        _put(path, position, whole[position] ^ mask)
        try:
            LedgerFile(path).verify()
            missed.append(position)
        except LedgerFileError:
            pass
        _put(path, position, whole[position])
    LedgerFile(path).verify()
    return missed


def _put(path: Path, position: int, value: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(bytes([value]))
