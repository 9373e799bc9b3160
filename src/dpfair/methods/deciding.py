"""From a fitted model to decisions: what is the same for every method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.data.encode import as_texts
from dpfair.fairness.coins import decide
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule
from dpfair.learners.protocols import Scorer
from dpfair.methods.fitted import Fitted
from dpfair.methods.inputs import label_array
from dpfair.methods.reading import TableReader

__all__ = ["DecisionMaker"]


class DecisionMaker(TableReader):
    """Predictions, decisions and scores of a model that has ``fitted_`` and ``classes_``."""

    fitted_: Fitted
    classes_: NDArray[Any]
    coins: str = "keyed"

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> NDArray[np.float64]:
        """The probabilities of rejection and acceptance.

        With a rule these are exact, over its coins; without one they are estimates.
        """
        accept = self._acceptance(self.new_records(X, sensitive_features))
        return np.stack([1 - accept, accept], axis=1)

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """The decisions, as class labels."""
        decisions = self.decide(self.new_records(X, sensitive_features))
        return self.classes_[decisions]

    def decide(self, records: Any) -> NDArray[np.int64]:
        """The decisions about encoded records: 1 for accepted."""
        return self._decide(records, self.scorer_.scores(records))

    def decide_all(
        self, X: Any, sensitive_features: Any = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The decisions with their probabilities of acceptance, encoding and scoring once."""
        records = self.new_records(X, sensitive_features)
        scores = self.scorer_.scores(records)
        return self.classes_[self._decide(records, scores)], self._chances(records, scores)

    def score(self, X: Any, y: Any, sensitive_features: Any = None) -> float:
        """The share of records whose decision equals their label."""
        decisions = self.predict(X, sensitive_features=sensitive_features)
        decided, true = as_texts(decisions), as_texts(label_array(y, len(decisions)))
        return float(np.mean([a == b for a, b in zip(decided, true, strict=True)]))

    @property
    def scorer_(self) -> Scorer:
        """From records to scores."""
        return self._part("scorer")  # type: ignore[no-any-return]

    @property
    def rule_(self) -> Rule | None:
        """From scores to acceptance probabilities; None if a score above one half is accepted."""
        return self._part("rule")  # type: ignore[no-any-return]

    @property
    def release_(self) -> Release:
        """The table that the scores were counted in."""
        releases = self._part("releases")
        if "count" not in releases:
            raise AttributeError("This model released no table of scores.")
        return releases["count"]  # type: ignore[no-any-return]

    def _part(self, name: str) -> Any:
        # An AttributeError, as for any attribute that a fit has not set.
        return getattr(self.fitted_, name)

    def _acceptance(self, records: Any) -> NDArray[np.float64]:
        return self._chances(records, self.scorer_.scores(records))

    def _chances(self, records: Any, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        rule = self.rule_
        return scores if rule is None else rule.probabilities(records.groups, scores)

    def _decide(self, records: Any, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        if self.rule_ is None:
            return (scores > 0.5).astype(np.int64)
        return decide(
            self.rule_,
            records.groups,
            scores,
            records.identities(),
            coins=self.coins,
            key=self.fitted_.coin_key,
        )
