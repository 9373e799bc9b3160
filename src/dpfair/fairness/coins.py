"""From acceptance probabilities to repeatable decisions."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.fairness.rules import Rule
from dpfair.privacy.split import keyed_coins

__all__ = ["COINS", "decide"]

COINS = ("keyed", "fresh")


def decide(
    rule: Rule,
    groups: NDArray[np.int64],
    scores: NDArray[np.float64],
    identities: Sequence[bytes],
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
    probabilities = rule.probabilities(groups, scores)
    decisions = (probabilities >= 1).astype(np.int64)
    undecided = np.flatnonzero((probabilities > 0) & (probabilities < 1))
    salt = key if coins == "keyed" else secrets.token_bytes(32)
    chosen: list[bytes] = [
        identities[i] if coins == "keyed" else int(i).to_bytes(8, "little")
        for i in undecided.tolist()
    ]
    drawn = keyed_coins(chosen, salt)
    decisions[undecided] = rule.decide(groups[undecided], scores[undecided], drawn)
    return decisions
