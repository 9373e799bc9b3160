"""Algorithm 1 of "Differentially Private Fair Binary Classifications"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpfair.methods.post_processor import FairPostProcessor

__all__ = ["Algorithm1"]


class Algorithm1(FairPostProcessor):
    """Fair post-processing of (decoupled) classifiers with exact rates: **not private**.

    Every group's acceptance rate is counted on the records given to ``fit``; random flips bring
    all groups to the middle of the rates, which changes the fewest decisions.

    Parameters
    ----------
    classifier
        Anything with ``predict``, a function of the table, or a dict of one such classifier per
        group. An unfitted scikit-learn estimator is cloned and trained on a part of the records.
    sensitive, groups, held_out, release_share, confidence, coins, random_state
        As in :class:`~dpfair.FairPostProcessor`, which with an epsilon adds noise to the rates.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [0, 1], [0, 0], [1, 0], [1, 0], [1, 1]])
    >>> Algorithm1(lambda X: X[:, 1], sensitive=0).fit(X).rule_.accept.round(2).tolist()
    [[0.0, 0.75], [0.25, 1.0]]
    """

    epsilon = None
    public_sizes = False
    relation = "add_remove"
    ledger = None
    strict = False

    def __init__(
        self,
        classifier: Any = None,
        *,
        sensitive: str | int | None = None,
        groups: Sequence[str] | None = None,
        held_out: bool = False,
        release_share: float = 1 / 3,
        confidence: float = 0.95,
        coins: str = "keyed",
        random_state: int | None = None,
    ) -> None:
        self.classifier = classifier
        self.sensitive = sensitive
        self.groups = groups
        self.held_out = held_out
        self.release_share = release_share
        self.confidence = confidence
        self.coins = coins
        self.random_state = random_state
