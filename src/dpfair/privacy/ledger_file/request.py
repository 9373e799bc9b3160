"""A charge that is asked of a ledger file."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpfair.errors import InputError
from dpfair.privacy.events import DpEvent
from dpfair.privacy.ledger_file.rows import checked_text
from dpfair.privacy.room import Kind
from dpfair.privacy.tally import Amount

__all__ = ["Request"]


@dataclass
class Request:
    """The checked arguments of a charge; see ``LedgerFile.charge`` for their meaning."""

    event: DpEvent
    scope: str
    purpose: str
    key: str | None
    job: str
    new_scope: bool
    kind: Kind
    amount: Amount = field(init=False)

    def __post_init__(self) -> None:
        checked_text("scope", self.scope)
        checked_text("purpose", self.purpose)
        checked_text("job", self.job)
        if self.key is not None and not checked_text("key", self.key):
            raise InputError("Expected a key that is not empty, or None.")
        self.amount = Amount.of(self.event)
