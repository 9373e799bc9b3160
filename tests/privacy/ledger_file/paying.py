"""Charges to a ledger file, as short as tests like them."""

from dpfair.privacy.events import noisy_table

__all__ = ["DELTA", "pay", "table"]

DELTA = 1e-5


def table(amount):
    return noisy_table(amount, "add_remove")


def pay(ledger, event, scope="", purpose="test", **how):
    return ledger.charge(event, scope=scope, purpose=purpose, **how)
