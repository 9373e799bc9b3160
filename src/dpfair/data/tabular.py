"""What all estimators share: a table and a schema in, encoded records out."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from dpfair.data.infer import infer_levels, infer_schema
from dpfair.data.schema import Levels, Schema
from dpfair.data.table import (
    Records,
    as_texts,
    column_names,
    encode,
    get_column,
    level_codes,
    plain_array,
    row_count,
    sound_table,
)
from dpfair.errors import InputError, PrivacyLeakWarning, SchemaError
from dpfair.privacy.events import DpEvent
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.payment import ChargeTo, Payment

__all__ = ["TabularInput", "check_table", "column_name", "known_groups", "label_array"]

MAX_GROUPS = 100


class TabularInput:
    """Mixin of estimators with ``schema``, ``sensitive`` and ``strict`` parameters."""

    # Under metadata routing, groups given apart from the table reach every method.
    __metadata_request__fit: ClassVar = {"sensitive_features": True}
    __metadata_request__predict: ClassVar = {"sensitive_features": True}
    __metadata_request__predict_proba: ClassVar = {"sensitive_features": True}
    __metadata_request__score: ClassVar = {"sensitive_features": True}

    schema: Schema | None
    ledger: ChargeTo | str | Path | None
    sensitive: str | int | Sequence[str] | None
    strict: bool
    schema_: Schema
    classes_: NDArray[Any]
    # Set for a fit on a part of a table that coins have chosen: an error would tell its size.
    _may_have_no_rows = False

    def score(self, X: Any, y: Any, sensitive_features: Any = None) -> float:
        """The share of records whose decision equals their label."""
        decisions = self.predict(X, sensitive_features=sensitive_features)  # type: ignore[attr-defined]
        said, true = as_texts(decisions), as_texts(label_array(y, len(decisions)))
        return float(np.mean([a == b for a, b in zip(said, true, strict=True)]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def _payment(self, own: Ledger, X: Any, *, leak: str = "") -> Payment:
        """Refuse what the ledger file cannot pay for, before any record is read."""
        if not (self.schema is None or isinstance(self.schema, Schema)):
            raise SchemaError("Expected schema to be a Schema; Schema.load reads one from a file.")
        if self.schema is None or self.schema.inferred:
            leak = "a schema that was read off the data is not"

        def plan() -> list[tuple[str, str, DpEvent]]:
            schema = self._fix_schema(X, np.empty(0), None, None)
            planned: list[tuple[str, str, DpEvent]] = self.planned_events(schema)  # type: ignore[attr-defined]
            return planned

        def plan_at(epsilon: float) -> list[tuple[str, str, DpEvent]]:
            return self._plan_at(epsilon, self._fix_schema(X, np.empty(0), None, None))

        unit = getattr(self, "unit", None)
        return Payment(
            self.ledger,
            own,
            plan,
            purpose=f"fit {type(self).__name__}",
            settings=self.get_params(deep=False),  # type: ignore[attr-defined]
            unit=None if unit is None else column_name(X, unit),
            leak=leak,
            plan_at=plan_at,
        )

    def _plan_at(self, epsilon: float, schema: Schema | None) -> list[tuple[str, str, DpEvent]]:
        """What the same fit would charge with another budget, if its model could be saved."""
        other: Any = copy.copy(self)
        other.epsilon = epsilon
        planned: list[tuple[str, str, DpEvent]] = other.planned_events(schema)
        if hasattr(other, "check_plan"):
            other.check_plan(schema, planned)
        return planned

    def _training_records(self, X: Any, y: Any, sensitive_features: Any) -> Records:
        """Fix the schema and encode; values that contradict a declared schema never raise.

        Undeclared groups and labels have the code -1.
        """
        table = check_table(self, X, reset=True)
        labels = label_array(y, row_count(table))
        self.schema_ = self._fix_schema(table, labels, getattr(y, "name", None), sensitive_features)
        # A declared schema fixes the type of the classes, too; labels could tell on a record.
        of = labels if self.schema_.inferred else None
        self.classes_ = _class_values(self.schema_.label, of)
        records = encode(table, self.schema_, sensitive_features)
        return records.with_labels(level_codes(as_texts(labels), self.schema_.label))

    def _new_records(self, X: Any, sensitive_features: Any) -> Records:
        check_is_fitted(self)
        table = check_table(self, X, reset=False)
        records = encode(table, self.schema_, sensitive_features)
        known_groups(records.groups, self.schema_.groups)
        return records

    def _fix_schema(
        self, table: Any, labels: NDArray[Any], label_name: object, sensitive_features: Any
    ) -> Schema:
        if isinstance(self.sensitive, (list, tuple)):
            if self.schema is None:
                raise SchemaError("Groups by several columns need a declared schema.")
            return self.schema.with_sensitive(self.sensitive)
        if not (self.sensitive is None or isinstance(self.sensitive, (str, Integral))):
            raise SchemaError("Expected sensitive to be the name or the position of a column.")
        sensitive = None if self.sensitive is None else column_name(table, self.sensitive)
        if self.schema is not None:
            return self.schema if sensitive is None else self.schema.with_sensitive(sensitive)
        message = (
            "No schema given: bounds, categories, classes and groups are read off the data, "
            "which is not private. Declare them with schema=."
        )
        if self.strict:
            raise SchemaError(message)
        warnings.warn(message, PrivacyLeakWarning, stacklevel=4)
        taken = column_names(table)
        label_name = str(label_name) if label_name not in (None, *taken) else "label"
        while label_name in taken:
            label_name = f"{label_name}_"
        _check_binary(labels)
        label = infer_levels(label_name, labels, what="label", most=2)
        groups = None
        if sensitive_features is not None:
            name = str(getattr(sensitive_features, "name", None) or "sensitive_features")
            while name in {*taken, label_name}:
                name = f"{name}_"
            groups = infer_levels(
                name, sensitive_features, what="sensitive column", most=MAX_GROUPS
            )
        elif sensitive is not None:
            groups = infer_levels(
                sensitive, get_column(table, sensitive), what="sensitive column", most=MAX_GROUPS
            )
        unit = getattr(self, "unit", None)
        leave_out = frozenset() if unit is None else frozenset([column_name(table, unit)])
        return infer_schema(table, label, groups, leave_out=leave_out)


def check_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """A table of a sound form; scikit-learn remembers (or compares) its columns."""
    table = sound_table(X)
    least = 0 if getattr(estimator, "_may_have_no_rows", False) else 1
    if isinstance(table, np.ndarray):
        how: dict[str, Any] = {
            "dtype": None,
            "ensure_all_finite": False,
            "ensure_min_samples": least,
        }
    elif reset or hasattr(estimator, "n_features_in_"):
        how = {"skip_check_array": True}
    else:  # a model from a file finds its columns by name
        how = {}
    try:
        if how:
            validate_data(estimator, table, reset=reset, **how)
    except (TypeError, ValueError) as error:
        # The first line says what is wrong; others may show the table.
        raise InputError(str(error).split("\n")[0]) from None
    if row_count(table) < least:
        raise InputError("Found array with 0 sample(s): the table has no rows.")
    return table


def column_name(table: Any, column: str | int) -> str:
    """A column given by name or position, as a name of the table."""
    names = column_names(table)
    name = (
        names[int(column)]
        if isinstance(column, Integral) and -len(names) <= column < len(names)
        else column
    )
    if name not in names:
        raise SchemaError(f"The table has no column {column!r}; it has {', '.join(names[:20])}.")
    return str(name)


def known_groups(groups: NDArray[np.int64], names: tuple[str, ...]) -> None:
    """Refuse records of a group that the model never knew, without naming it."""
    unknown = int((groups < 0).sum())
    if unknown:
        raise InputError(
            f"{unknown} of the records belong to a group the model never knew; "
            f"it knows {', '.join(names[:20])}."
        )


def label_array(y: Any, n: int) -> NDArray[Any]:
    """The labels as a plain array of the right length."""
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()  # pyarrow refuses to make an array with gaps
    elif hasattr(y, "to_numpy"):
        one_column = len(getattr(y, "shape", ())) == 1
        y = y.to_numpy()
        if one_column and y.ndim > 1:  # of lists of one length: each of them is a value
            cells, y = y, np.empty(len(y), dtype=object)
            for i, cell in enumerate(cells):
                y[i] = cell
    labels = plain_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.utils.validation import column_or_1d

        labels = column_or_1d(labels, warn=True)
    if labels.ndim != 1 or len(labels) != n:
        raise InputError(f"Expected one label per row ({n}), got an array of shape {labels.shape}.")
    return labels


def _check_binary(labels: NDArray[Any]) -> None:
    """Only for labels without a declared schema: what scikit-learn users expect to be told."""
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("Input y contains NaN or infinity; labels must be two plain values.")
    kind = type_of_target(labels, raise_unknown=True)
    if kind != "binary":
        raise InputError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )


def _class_values(label: Levels, labels: NDArray[Any] | None) -> NDArray[Any]:
    """The classes as whole numbers or text; in the type of the labels, if those may be read."""
    if labels is None:
        if all(re.fullmatch("-?[0-9]{1,18}", value) for value in label.values):
            classes = np.array([int(value) for value in label.values])
            return classes if classes[0] != classes[1] else np.array(label.values)  # "1" and "01"
        return np.array(label.values)
    kind: str = labels.dtype.kind
    if kind == "O" and len(labels):
        kind = {bool: "b", int: "i", float: "f"}.get(type(labels[0]), "O")
    if kind == "b":
        return np.array([value in ("1", "True", "true") for value in label.values])
    if kind in "iuf":
        try:
            numbers = np.array([float(value) for value in label.values])
        except ValueError:
            # Labels are numbers while the schema declares words: decisions are then words.
            return np.array(label.values)
        return numbers if kind == "f" else numbers.astype(np.int64)
    return np.array(label.values, dtype=object if kind == "O" else None)
