"""From a table to the predictions of a fitted model: what is the same for every method.

A table may be a :class:`~dpfair.data.table_files.TableFiles`, which is then read some rows at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpfair.data.containers import row_count
from dpfair.data.table_files import TableFiles
from dpfair.data.words import as_words
from dpfair.fairness.release import Release
from dpfair.fairness.rules import Rule
from dpfair.learners.protocols import Scorer
from dpfair.methods.deciding import Deciding
from dpfair.methods.divided import refuse_apart
from dpfair.methods.fitted import Fitted
from dpfair.methods.inputs import label_column
from dpfair.methods.reading import TableReader
from dpfair.methods.undecided import Undecided, undecided_reasons

__all__ = ["Predicting"]


class Predicting(Deciding, TableReader):
    """Predictions and scores of a model that has ``fitted_`` and ``classes_``."""

    fitted_: Fitted
    classes_: NDArray[Any]

    def undecided(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """Why each record has no decision; an empty text if it has one.

        A record of a blank or undeclared group has none, if the model has a rule for every group.
        """
        if isinstance(X, TableFiles):
            refuse_apart(X, None, sensitive_features)
            return np.concatenate([self.undecided(table) for table in self.tables_of(X)])
        table = self._new_table(X, sensitive_features)
        sensitive = self.schema_.sensitive
        if sensitive is None or not self.needs_groups:
            return np.full(row_count(table), "", dtype=object)
        return undecided_reasons(table, sensitive, sensitive_features)

    def predict_proba(self, X: Any, sensitive_features: Any = None) -> NDArray[np.float64]:
        """The probabilities of rejection and acceptance.

        With a rule these are exact, over its coins; without one they are estimates.
        """
        accept = self._of_records(self._acceptance, X, sensitive_features)
        return np.stack([1 - accept, accept], axis=1)

    def predict(self, X: Any, sensitive_features: Any = None) -> NDArray[Any]:
        """The decisions, as class labels."""
        decisions: NDArray[np.int64] = self._of_records(self.decide, X, sensitive_features)
        return self.classes_[decisions]

    def decide_all(
        self, X: Any, sensitive_features: Any = None
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The decisions with their probabilities of acceptance, encoding and scoring once."""

        def both(records: Any) -> NDArray[np.float64]:
            return np.stack(self.decide_records(records))

        decisions, chances = self._of_records(both, X, sensitive_features)
        return self.classes_[decisions.astype(np.intp)], chances

    def score(self, X: Any, y: Any, sensitive_features: Any = None) -> float:
        """The share of records whose decision equals their label."""
        decisions = self.predict(X, sensitive_features=sensitive_features)
        decided, true = as_words(decisions), as_words(label_column(y, len(decisions)))
        return float(np.mean(decided.codes(true.words, other=-1) == true.places))

    @property
    def scorer_(self) -> Scorer:
        """From records to scores."""
        return self._part("scorer")  # type: ignore[no-any-return]

    @property
    def rule_(self) -> Rule | None:
        """From scores to acceptance probabilities; None if a score above one half is accepted."""
        return self._part("rule")  # type: ignore[no-any-return]

    @property
    def coin_key(self) -> bytes:
        """The key of the decision coins."""
        return self._part("coin_key")  # type: ignore[no-any-return]

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
        return self._chances(records, self._scores(records))

    def tables_of(self, files: TableFiles, *further: str) -> Iterator[Any]:
        """Some rows of files after the others, with the columns that are read and further ones."""
        check_is_fitted(self)
        unit = () if self.unit is None else (str(self.unit_name),)
        return files.read_by(self.schema_).frames([*self.schema_.names, *unit, *further])

    def _of_records(
        self, answer: Callable[[Any], NDArray[Any]], X: Any, sensitive_features: Any
    ) -> NDArray[Any]:
        """An answer for every record of a table; the last axis is about the records."""
        check_is_fitted(self)
        if not isinstance(X, TableFiles):
            records = self.new_records(X, sensitive_features, known=self.needs_groups)
            return answer(records)
        refuse_apart(X, None, sensitive_features)
        sensitive = self.schema_.sensitive if self.needs_groups else None
        answers, undecided = [], None if sensitive is None else Undecided(sensitive)
        for table in self.tables_of(X):
            records = self.records_of(table)
            if undecided is not None:
                undecided.add(table, records.groups < 0)
            if undecided is None or not undecided.count:
                answers.append(answer(records))
        if undecided is not None:
            undecided.refuse(
                " model.undecided says which these are, and dpfair predict decides the others."
            )
        return np.concatenate(answers, axis=-1)
