"""The account of a data set in a SQLite file."""

from dpfair.privacy.ledger_file.file import LedgerFile

__all__ = ["LedgerFile"]
