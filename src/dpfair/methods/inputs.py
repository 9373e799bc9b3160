"""From what a user passes to encoded records: tables, labels, groups, classes."""

from __future__ import annotations

import re
from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array, validate_data

from dpfair.data.columns import Levels
from dpfair.data.containers import (
    as_series,
    column_array,
    column_name,
    column_names,
    get_column,
    plain_array,
    row_count,
    sound_table,
)
from dpfair.data.proposal import infer_levels, infer_schema
from dpfair.data.schema import MAX_GROUPS, Schema
from dpfair.errors import InputError, PrivacyLeakWarning, SchemaError, warn
from dpfair.methods.parameters import Sensitive
from dpfair.methods.positions import array_groups, has_array_names

__all__ = [
    "check_table",
    "class_values",
    "declared_schema",
    "free_name",
    "inferred_schema",
    "inside_labels",
    "label_array",
    "label_classes",
    "label_column",
    "unreviewed",
]


def declared_schema(schema: Schema | None, sensitive: Sensitive, table: Any) -> Schema | None:
    """The declared schema with the groups where ``sensitive`` says; None if none is declared.

    No record is looked at, only the names of the table's columns.
    """
    if not (schema is None or isinstance(schema, Schema)):
        raise SchemaError("Expected schema to be a Schema; Schema.load reads one from a file.")
    if schema is not None:
        schema = schema.declared()  # another fit paid for what was found, not this one
    if isinstance(sensitive, (list, tuple)):
        if schema is None:
            raise SchemaError("Groups by several columns need a declared schema.")
        return schema.with_sensitive(sensitive)
    if not (sensitive is None or isinstance(sensitive, (str, Integral))):
        raise SchemaError("Expected sensitive to be the name or the position of a column.")
    if schema is None or sensitive is None:
        return schema
    if isinstance(table, (np.ndarray, list, tuple)) and not has_array_names(schema):
        return array_groups(schema, sensitive)
    return schema.with_sensitive(column_name(table, sensitive))


def inferred_schema(
    table: Any,
    labels: NDArray[Any],
    *,
    label_name: object,
    sensitive: str | int | None,
    sensitive_features: Any,
    unit: str | int | None,
    strict: bool,
) -> Schema:
    """A schema that is read off the data, which is not private."""
    message = (
        "No schema given: bounds, categories, classes and groups are read off the data, "
        "which is not private. Declare them with schema=."
    )
    if strict:
        raise SchemaError(message)
    warn(message, PrivacyLeakWarning)
    taken = column_names(table)
    label_name = free_name("label" if label_name in (None, *taken) else str(label_name), taken)
    _check_binary(labels)
    label = infer_levels(label_name, labels, what="label", most=2)
    groups = None
    if sensitive_features is not None:
        name = str(getattr(sensitive_features, "name", None) or "sensitive_features")
        name = free_name(name, [*taken, label_name])
        groups = infer_levels(name, sensitive_features, what="sensitive column", most=MAX_GROUPS)
    elif sensitive is not None:
        name = column_name(table, sensitive)
        values = get_column(table, name)
        groups = infer_levels(name, values, what="sensitive column", most=MAX_GROUPS)
    leave_out = frozenset() if unit is None else frozenset([column_name(table, unit)])
    return infer_schema(table, label, groups, leave_out=leave_out)


def unreviewed(strict: bool) -> None:
    """Warn that a declared schema was not reviewed, so that its facts may be read off the data."""
    message = (
        "The schema is not reviewed: its facts may be read off the data, which is not private. "
        "Write reviewed = true in it when a person has confirmed them."
    )
    if strict:
        raise SchemaError(message)
    warn(message, PrivacyLeakWarning)


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or one like it that is not taken."""
    while name in taken:
        name = f"{name}_"
    return name


def check_table(estimator: Any, X: Any, *, reset: bool, by_name: bool = False) -> Any:
    """A table of a sound form; scikit-learn remembers its columns, or compares them.

    With ``by_name`` nothing is compared: a declared schema says which columns are needed, others
    may come or go, in any order. A model from a file has nothing to compare with either.
    """
    table = sound_table(X)
    array = isinstance(table, np.ndarray)
    try:
        if not reset and (by_name or not hasattr(estimator, "n_features_in_")):
            if array:
                check_array(table, dtype=None, ensure_all_finite=False, estimator=estimator)
        elif array:
            validate_data(estimator, table, reset=reset, dtype=None, ensure_all_finite=False)
        else:
            validate_data(estimator, table, reset=reset, skip_check_array=True)
    except (TypeError, ValueError) as error:
        # The first line says what is wrong; others may show the table.
        raise InputError(str(error).split("\n")[0]) from None
    if row_count(table) == 0:
        raise InputError("Found array with 0 sample(s): the table has no rows.")
    if not column_names(table):
        raise InputError("Found array with 0 feature(s): the table has no columns.")
    return table


def label_column(y: Any, n: int) -> Any:
    """The labels as a column of text, if a data frame holds them so; or else as a plain array."""
    import narwhals as nw

    series = as_series(y)
    is_text = hasattr(series, "to_native") and series.dtype in (nw.String, nw.Categorical, nw.Enum)
    if is_text and len(series) == n:
        return y
    labels = label_array(y, n)
    return column_array(y) if isinstance(y, (list, tuple)) and np.ndim(labels) == 1 else labels


def inside_labels(table: Any, name: str) -> Any:
    """The labels in the column that the schema names, as they were not given apart."""
    if name not in column_names(table):
        raise InputError(
            "This estimator requires y to be passed, but the target y is None, and the table has "
            f"no column {name!r}, which the schema names."
        )
    return get_column(table, name)


def label_array(y: Any, n: int) -> NDArray[Any]:
    """The labels as a plain array of the right length."""
    if y is None:
        raise InputError("This estimator requires y to be passed, but the target y is None.")
    column = hasattr(y, "to_pylist") or len(getattr(y, "shape", ())) == 1
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()  # pyarrow refuses to make an array with gaps
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    labels = plain_array(y)
    if column and labels.ndim > 1:  # of lists of one length: each of them is a value
        labels = np.fromiter(y, dtype=object, count=len(y))
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
    unknown = InputError("Unknown label type: labels must be two plain values.")
    if any(isinstance(value, bytes) for value in labels[:1]):  # scikit-learn 1.6 only warns
        raise unknown
    try:
        with np.errstate(invalid="ignore"):  # of huge labels, which it compares with whole numbers
            kind = type_of_target(labels, raise_unknown=True)
    except (TypeError, ValueError):  # whose message would show the labels
        raise unknown from None
    if kind != "binary":
        raise InputError(
            f"Only binary classification is supported. The type of the target is {kind}."
        )


def label_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """The two classes of labels that may be read, the negative one first."""
    _check_binary(labels)
    return class_values(infer_levels("label", labels, what="label", most=2), labels)


def class_values(label: Levels, labels: NDArray[Any] | None) -> NDArray[Any]:
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
        number = float if kind == "f" else int  # a float has too few digits for some
        try:
            return np.array([number(value) for value in label.values])
        except ValueError:
            # Labels are numbers while the schema declares words: decisions are then words.
            return np.array(label.values)
    return np.array(label.values, dtype=object if kind == "O" else None)
