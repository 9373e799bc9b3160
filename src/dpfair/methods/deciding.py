"""From encoded records to decisions: the same for a fitted model and for one from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.schema import Schema
from dpfair.fairness.coins import decide

if TYPE_CHECKING:
    from dpfair.fairness.rules import Rule
    from dpfair.learners.protocols import Scorer

__all__ = ["Deciding"]


class Deciding:
    """Decisions about encoded records, by a scorer and a rule."""

    schema_: Schema
    coins: str = "keyed"

    @property
    def scorer_(self) -> Scorer:
        """From records to scores."""
        raise NotImplementedError

    @property
    def rule_(self) -> Rule | None:
        """From scores to acceptance probabilities; None if a score above one half is accepted."""
        raise NotImplementedError

    @property
    def coin_key(self) -> bytes:
        """The key of the decision coins."""
        raise NotImplementedError

    @property
    def needs_groups(self) -> bool:
        """Whether a decision depends on the group by more than a feature: a rule asks for it."""
        return self.rule_ is not None and self.schema_.sensitive is not None

    def decide(self, records: Any) -> NDArray[np.int64]:
        """The decisions about encoded records: 1 for accepted."""
        return self._decide(records, self._scores(records))

    def decide_records(self, records: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The same with their probabilities of acceptance, scoring once."""
        scores = self._scores(records)
        return self._decide(records, scores), self._chances(records, scores)

    def _scores(self, records: Any) -> NDArray[np.float64]:
        """The scores; that of a record of no declared group is the mean over all groups.

        The group is a feature of the scorer, which has no place for any other value of it. The
        mean prefers no group, whereas any single place would.
        """
        unknown = np.flatnonzero(records.groups < 0)
        if not len(unknown):
            return self.scorer_.scores(records)
        scores = np.array(self.scorer_.scores(records.in_first_group()))
        others, groups = records.take(unknown), range(len(self.schema_.groups))
        each = [replace(others, groups=np.full(len(unknown), code)) for code in groups]
        scores[unknown] = np.mean([self.scorer_.scores(one) for one in each], axis=0)
        return scores

    def _chances(self, records: Any, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        rule = self.rule_
        return scores if rule is None else rule.probabilities(records.groups, scores)

    def _decide(self, records: Any, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        if self.rule_ is None:
            return (scores > 0.5).astype(np.int64)
        return decide(self.rule_, records, scores, coins=self.coins, key=self.coin_key)
