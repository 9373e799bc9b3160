"""The account of a data set in a SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpfair.privacy.ledger_file.file import LedgerFile

__all__ = ["LedgerFile"]


def __getattr__(name: str) -> object:
    # What only reads the rows does not wait for the accountants.
    if name != "LedgerFile":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dpfair.privacy.ledger_file.file import LedgerFile

    globals()[name] = LedgerFile
    return LedgerFile
