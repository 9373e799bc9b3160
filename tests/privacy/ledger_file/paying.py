"""Charges to a ledger or to a ledger file, as short as tests like them."""

from dpfair.privacy.events import noisy_table

__all__ = ["DELTA", "pay", "spent_exactly", "table"]

DELTA = 1e-5


def table(amount, relation="add_remove"):
    return noisy_table(amount, relation)


def pay(ledger, event, scope="", purpose="test", **how):
    return ledger.charge(event, scope=scope, purpose=purpose, **how)


def spent_exactly(ledger):
    return ledger._tally.spent * ledger.rows_per_unit
