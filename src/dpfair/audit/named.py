"""Counts of values that are not known beforehand, as the audit samples them.

A *trial* is one word of a column: its records have no other word, and the noise of the words is
independent, so one release contains many trials. The statistic of a trial is the noisy count, or
-1 if the word is not named. A pair of neighbours is two possible numbers of records with the word.
"""

from __future__ import annotations

import numpy as np

from dpfair.audit.distinguish import Listening, Mechanism
from dpfair.audit.sums import ADDED, Column, Floats, paid, summed
from dpfair.data.columns import Categorical, Levels
from dpfair.data.records import Records, smallest
from dpfair.data.schema import Schema
from dpfair.discovery.discover import Discovery
from dpfair.privacy.accountants import epsilon_of

__all__ = ["named_mechanisms"]

_TRIALS = 200
# So large that samples show whether a single record is named too often.
_NAMING_DELTA, _DELTA = 0.05, 0.1
# Counts near the threshold of about nine.
_PAIRS = {
    **ADDED,
    "below the threshold / at it": (Column((1,) * 8), Column((1,) * 9)),
    "at the threshold / above it": (Column((1,) * 10), Column((1,) * 11)),
}


def named_mechanisms() -> list[Mechanism]:
    """Words of a column that a schema does not declare."""
    words = tuple(f"word {i}" for i in range(_TRIALS))
    schema = Schema((Categorical("job"),), Levels("y", ("0", "1")))
    # One count of all records and one table of words: half of the precision is for the words.
    discovery = Discovery(schema, precision=2.0, delta=_NAMING_DELTA)
    assert discovery.naming is not None

    def release(column: Column, noise: Listening) -> Floats:
        codes = np.repeat(np.arange(_TRIALS), len(column.labels))
        groups = np.zeros(len(codes), dtype=np.int8)
        records = Records((), (smallest(codes),), groups, words={"job": words})
        discovery.find(records, paid(discovery, noise, "add_remove", _DELTA))
        [found] = noise.heard
        return np.array([[float(found.get(word, -1))] for word in words])

    # The total of all records changes as well; the account of the words alone is the claim.
    claim = epsilon_of(discovery.naming, _DELTA, "add_remove")
    return [summed("words that are not declared", release, claim, _DELTA, _PAIRS)]
