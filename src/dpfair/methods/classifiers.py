"""Any binary classifier as h(x, a): one for all groups, or one per group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dpfair.data.containers import (
    column_names,
    get_column,
    plain_array,
    row_count,
    select_columns,
    take_rows,
)
from dpfair.data.words import as_words
from dpfair.errors import InputError
from dpfair.learners.protocols import Tensors
from dpfair.methods.inputs import label_classes
from dpfair.privacy.identities import text_rows
from dpfair.privacy.siphash import Rows

__all__ = [
    "ClassifierScorer",
    "GroupClassifier",
    "StoredClassifier",
    "TableRecords",
    "is_fitted",
    "read_columns",
]


class GroupClassifier:
    """h(x, a) made of a fitted classifier, a function, or a dict of them by group name."""

    def __init__(self, classifier: Any, groups: tuple[str, ...], y: Any = None) -> None:
        self.parts: dict[str, Any] = {}
        for group in groups:
            if isinstance(classifier, Mapping) and group not in classifier:
                raise InputError(f"There is no classifier for group {group!r}.")
            self.parts[group] = classifier[group] if isinstance(classifier, Mapping) else classifier
        self.shared = not isinstance(classifier, Mapping)
        self.classes = _classes(self.parts[groups[0]], y)
        for group, part in self.parts.items():
            if not np.array_equal(_classes(part, y), self.classes):
                raise InputError(f"The classifier of group {group!r} has other classes.")

    @classmethod
    def train(
        cls,
        classifier: Any,
        groups: tuple[str, ...],
        table: Any,
        labels: NDArray[Any],
        codes: NDArray[np.integer[Any]],
    ) -> GroupClassifier:
        """Fit clones: one on everybody, or one per group on its own records."""
        if not isinstance(classifier, Mapping):
            return cls(clone(classifier).fit(table, labels), groups)
        unfitted = cls(classifier, groups, labels)
        trained = {}
        for code, group in enumerate(groups):
            own = np.flatnonzero(codes == code)
            trained[group] = clone(unfitted.parts[group]).fit(take_rows(table, own), labels[own])
        return cls(trained, groups)

    def positive(self, table: Any, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """1 where the classifier of the record's group says positive, else 0."""
        if self.shared:
            return _positive(next(iter(self.parts.values())), table, self.classes)
        result = np.zeros(row_count(table), dtype=np.int64)
        for code, part in enumerate(self.parts.values()):
            rows = np.flatnonzero(codes == code)
            if len(rows):
                result[rows] = _positive(part, take_rows(table, rows), self.classes)
        return result


@dataclass(frozen=True)
class TableRecords:
    """Records in the table that they came in, with the codes of their groups.

    ``columns`` are those that the classifier reads; None: all of them, in their order.
    """

    table: Any
    groups: NDArray[np.integer[Any]]
    labels: NDArray[Any] | None = None
    units: None = None
    columns: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def places(self) -> NDArray[np.uint64]:
        """The place of every record in the table."""
        return np.arange(len(self), dtype=np.uint64)

    def take(self, rows: NDArray[np.int64]) -> TableRecords:
        """The chosen rows."""
        labels = None if self.labels is None else self.labels[rows]
        own = {"table": take_rows(self.table, rows), "groups": self.groups[rows]}
        return replace(self, labels=labels, **own)

    def close(self) -> None:
        """Remove the temporary files that the records are in; these are in memory."""

    def with_labels(self, labels: NDArray[Any]) -> TableRecords:
        """The same rows with labels."""
        return replace(self, labels=labels)

    def in_first_group(self) -> TableRecords:
        """The same rows, those of no declared group as if in the first one."""
        return replace(self, groups=np.maximum(self.groups, 0))

    def identities(self) -> Rows:
        """What distinguishes one row from another, whatever the container.

        A column that the classifier does not read must not change the coin of a record.
        """
        names = column_names(self.table) if self.columns is None else self.columns
        columns = [as_words(get_column(self.table, name)) for name in names]
        texts = [text_rows([*words.words, None])[words.places] for words in columns]
        return np.hstack([*texts, self.groups.astype(np.int64).view(np.uint64)[:, None]])


@dataclass(frozen=True)
class ClassifierScorer:
    """The decisions of a classifier as scores: 1 for positive, else 0."""

    classifier: GroupClassifier

    def scores(self, records: TableRecords) -> NDArray[np.float64]:
        """What the classifier of the record's group decides."""
        if len(records) == 0:  # many classifiers refuse an empty table
            return np.zeros(0)
        return self.classifier.positive(records.table, records.groups).astype(np.float64)

    def tensors(self) -> Tensors:
        """Nothing: the classifier is somebody else's."""
        return {}


@dataclass(frozen=True)
class StoredClassifier:
    """What a model file says of a classifier, and the classifier if a reader has given it."""

    trained_here: bool
    given: Any = None

    def predict(self, table: Any) -> NoReturn:
        """Say what is missing."""
        raise InputError(
            "The file of this model does not hold its classifier: "
            "load it with load_model(path, classifier=...)."
        )


def read_columns(classifier: Any) -> tuple[str, ...] | None:
    """The columns that a classifier, or a dict of them, knows to be its own; None if it does not.

    >>> read_columns(lambda table: table) is None
    True
    """
    parts = [*classifier.values()] if isinstance(classifier, Mapping) else [classifier]
    known = [getattr(part, "feature_names_in_", None) for part in parts]
    names = [column for own in known if own is not None for column in own]
    if any(own is None for own in known) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(dict.fromkeys(map(str, names)))


def is_fitted(classifier: Any) -> bool:
    """Whether a classifier can predict already; functions always can."""
    if isinstance(classifier, StoredClassifier):
        return not classifier.trained_here
    if isinstance(classifier, Mapping):
        return all(is_fitted(part) for part in classifier.values())
    if isinstance(classifier, BaseEstimator):
        try:
            check_is_fitted(classifier)
        except NotFittedError:
            return False
        return True
    if callable(classifier) or hasattr(classifier, "predict"):
        return True
    kind = type(classifier).__name__
    raise InputError(f"Expected a classifier, a function or a dict of them, got {kind}.")


def _classes(classifier: Any, y: Any) -> NDArray[Any]:
    if hasattr(classifier, "classes_"):
        classes = np.asarray(classifier.classes_)
    elif y is not None:
        classes = label_classes(plain_array(y))
    else:
        classes = np.array([0, 1])
    if len(classes) != 2:
        raise InputError(
            f"Only binary classification is supported: expected two classes, got {len(classes)}."
        )
    return classes


def _positive(classifier: Any, table: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    expected = getattr(classifier, "feature_names_in_", None)
    if expected is not None and set(expected) <= set(column_names(table)):
        # The classifier was trained without some columns, such as the sensitive one.
        table = select_columns(table, [str(c) for c in expected])
    predict = classifier.predict if hasattr(classifier, "predict") else classifier
    predictions = np.asarray(predict(table))
    if predictions.shape != (row_count(table),):
        raise InputError(f"Expected one prediction per row, got shape {predictions.shape}.")
    if predictions.dtype.kind == "f" and np.isnan(predictions).any():
        raise InputError("The classifier returned NaN.")
    if hasattr(classifier, "classes_") or predictions.dtype.kind not in "biuf":
        if not np.isin(predictions, classes).all():
            raise InputError("The classifier predicts something else than its two classes.")
        return np.asarray(predictions == classes[1], dtype=np.int64)
    # Scores or 0/1 from a function: accept above one half.
    return np.asarray(predictions > 0.5, dtype=np.int64)
