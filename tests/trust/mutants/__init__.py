"""Deliberately broken twins of the library: each breaks one promise, and must be caught.

A mutant patches the running code, as a careless change would have written it. What catches it is
in :mod:`trust.detectors`.
"""

from trust.mutants import account, bounds, ledgers, noise, records, training
from trust.mutants.registry import MUTANTS, Mutant

__all__ = ["MUTANTS", "Mutant", "account", "bounds", "ledgers", "noise", "records", "training"]
