"""From acceptance probabilities to repeatable decisions."""

from __future__ import annotations

import secrets
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.fairness.rules import Rule
from dpfair.privacy.floating import uniform_numbers
from dpfair.privacy.siphash import Rows
from dpfair.privacy.split import keyed_coins

__all__ = ["COINS", "decide"]

COINS = ("keyed", "fresh")


class Identified(Protocol):
    """Records to decide about."""

    @property
    def groups(self) -> NDArray[np.int64]:
        """The code of each record's group."""

    def take(self, rows: NDArray[np.int64]) -> Identified:
        """The chosen rows."""

    def identities(self) -> Rows:
        """Words that identify each record."""


def decide(
    rule: Rule,
    records: Identified,
    scores: NDArray[np.float64],
    *,
    coins: str,
    key: bytes,
) -> NDArray[np.int64]:
    """Accept with the rule's probability, by one coin per record.

    A ``"keyed"`` coin is a keyed hash of the record's identity: the same applicant always gets the
    same decision, in any batch, and nobody can predict it without the key. ``"fresh"`` coins are
    drawn again at every call. Only records whose probability is not 0 or 1 need a coin.
    """
    validate.one_of(COINS, coins=coins)
    groups = records.groups
    probabilities = rule.probabilities(groups, scores)
    decisions = (probabilities >= 1).astype(np.int64)
    undecided = np.flatnonzero((probabilities > 0) & (probabilities < 1))
    if coins == "keyed":
        drawn = keyed_coins(records.take(undecided).identities(), key)
    else:
        drawn = uniform_numbers(np.frombuffer(secrets.token_bytes(8 * len(undecided)), np.uint64))
    decisions[undecided] = rule.decide(groups[undecided], scores[undecided], drawn)
    return decisions
