"""Model files made to do harm: to run code, to exhaust the reader, or to claim what is not so.

A file stores the inputs of a model, and a reader derives the account, the noise of every table and
the certificate. What nothing in a file can contradict is no attack: the weights, the counts with
the rule that follows from them, where the noise came from, which row paid, whether a search was
the reason for the fit.
"""

from trust.hostile import containers, headers, methods, plans, rules, schemas, tables
from trust.hostile.containers import CANARY, PLACES
from trust.hostile.corpus import Attacks, honest_files
from trust.hostile.dear import DEAR
from trust.hostile.measure import (
    MAX_DEAR_SECONDS,
    MAX_MEGABYTES,
    MAX_SECONDS,
    measured,
    reader,
    written,
)

__all__ = [
    "ATTACKS",
    "CANARY",
    "DEAR",
    "MAX_DEAR_SECONDS",
    "MAX_MEGABYTES",
    "MAX_SECONDS",
    "PLACES",
    "honest_files",
    "measured",
    "reader",
    "written",
]

ATTACKS = Attacks()
for part in (containers, headers, schemas, methods, plans, tables, rules):
    for name, build in part.ATTACKS.items():
        ATTACKS[name] = build
