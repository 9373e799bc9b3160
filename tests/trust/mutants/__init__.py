"""Deliberately broken variants of the library: each breaks one promise, and must be caught.

A mutant replaces public functions, methods or rows of tables, as a careless change would have
written them. What catches it is in :mod:`trust.detectors`.
"""

from trust.mutants import account, bounds, discovery, ledgers, noise, plans, records, training
from trust.mutants.registry import MUTANTS, Mutant

__all__ = [
    "MUTANTS",
    "Mutant",
    "account",
    "bounds",
    "discovery",
    "ledgers",
    "noise",
    "plans",
    "records",
    "training",
]
