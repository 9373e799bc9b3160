"""From a user's table to encoded records: what is the same for every method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dpfair.data.containers import column_name, row_count
from dpfair.data.encode import encode, level_codes, unit_texts
from dpfair.data.records import Records
from dpfair.data.schema import Schema
from dpfair.errors import InputError
from dpfair.methods.divided import divided_records, divided_schema, is_divided
from dpfair.methods.inputs import (
    check_table,
    class_values,
    declared_schema,
    inferred_schema,
    inside_labels,
    label_array,
    label_column,
    unreviewed,
)
from dpfair.methods.parameters import Parameters
from dpfair.methods.positions import named_columns
from dpfair.methods.undecided import refuse_undecided, undecided_reasons
from dpfair.privacy.assumptions import Assumption, Facts
from dpfair.privacy.draw import assumed
from dpfair.privacy.noise import Noise

__all__ = ["TableReader"]


class TableReader(Parameters):
    """Reads tables by a schema that is declared, or read off the training table."""

    unit: str | int | None = None

    unit_: str | None = None
    """The name of the column that identifies a person, wherever ``unit`` gives its position."""

    schema_: Schema
    classes_: NDArray[Any]

    @property
    def unit_name(self) -> str | int | None:
        """The column that identifies a person: its name, as far as a table has told it."""
        return self.unit if self.unit_ is None else self.unit_

    def assumes(self, schema: Schema) -> tuple[Assumption, ...]:
        """The facts about the records that the plan needs and the schema does not declare."""
        return ()

    def public_facts(self, schema: Schema) -> tuple[Assumption, ...]:
        """All exact facts about the records that a fit takes as public."""
        return self.assumes(schema)

    def records_of(self, X: Any, sensitive_features: Any = None) -> Any:
        """Records to decide about; that of an undeclared group has the code -1."""
        return self._encode(self._new_table(X, sensitive_features), sensitive_features)

    def new_records(self, X: Any, sensitive_features: Any = None, *, known: bool = True) -> Any:
        """Records to decide about; with ``known`` an undeclared group is an error."""
        table = self._new_table(X, sensitive_features)
        records = self._encode(table, sensitive_features)
        sensitive = self.schema_.sensitive
        if known and sensitive is not None and (records.groups < 0).any():
            refuse_undecided(undecided_reasons(table, sensitive, sensitive_features), sensitive)
        return records

    def _new_table(self, X: Any, sensitive_features: Any) -> Any:
        check_is_fitted(self)
        if is_divided(X):
            raise InputError(
                "Expected a table in memory; predict takes TableFiles, and the partitions of a "
                "Dask data frame are decided by map_partitions (docs/large_tables.md)."
            )
        table = check_table(self, X, reset=False, by_name=self._declares_columns)
        return self._named(table, self.schema_, sensitive_features)

    @property
    def _declares_columns(self) -> bool:
        """Whether the user said which columns are read; otherwise they are those of the fit."""
        return self.schema is not None

    def _named(self, table: Any, schema: Schema, sensitive_features: Any) -> Any:
        apart = sensitive_features is not None
        return named_columns(table, schema, unit=self.unit, groups_apart=apart)

    def _declared_schema(self, X: Any, sensitive_features: Any) -> Schema | None:
        if is_divided(X):
            return divided_schema(self.schema, self.sensitive, X)
        return declared_schema(self.schema, self.sensitive, X)

    def _training_records(self, X: Any, y: Any, sensitive_features: Any) -> Any:
        """Fix the schema and encode; values that contradict a declared schema never raise.

        Undeclared groups and labels have the code -1.
        """
        if is_divided(X):
            return self._records_in_parts(X, y)
        table = check_table(self, X, reset=True)
        schema = self._declared_schema(table, sensitive_features)
        if y is None and schema is not None:
            y = inside_labels(table, schema.label.name)
        labels = label_column(y, row_count(table))
        if schema is None:
            assert not isinstance(self.sensitive, (list, tuple))
            schema = inferred_schema(
                table,
                label_array(y, row_count(table)),
                label_name=getattr(y, "name", None),
                sensitive=self.sensitive,  # type: ignore[arg-type]
                sensitive_features=sensitive_features,
                unit=self.unit,
                strict=self.strict,
            )
        else:
            if not schema.reviewed:
                unreviewed(self.strict)
            table = self._named(table, schema, sensitive_features)
        self.schema_ = schema
        self.unit_ = None if self.unit is None else column_name(table, self.unit)
        # A declared schema fixes the type of the classes, too; it must not depend on a label.
        read = None if schema.reviewed else label_array(y, row_count(table))
        self.classes_ = class_values(schema.label, read)
        records: Records = self._encode(table, sensitive_features)
        return records.with_labels(level_codes(labels, schema.label))

    def _records_in_parts(self, X: Any, y: Any) -> Any:
        schema = divided_schema(self.schema, self.sensitive, X)
        if not schema.reviewed:
            unreviewed(self.strict)
        self.schema_, self.unit_ = schema, None
        self.classes_ = class_values(schema.label, None)
        self.n_features_in_, self.feature_names_in_ = (
            len(schema.names),
            np.array(schema.names, object),
        )
        return divided_records(X, y, schema)

    def _encode(self, table: Any, sensitive_features: Any) -> Any:
        records = encode(table, self.schema_, sensitive_features)
        return replace(records, units=unit_texts(table, self.unit))

    def _facts(self, records: Any, noise: Noise) -> Facts:
        """Exact facts about the records, taken as public."""
        facts = {}
        for fact in self.assumes(self.schema_):
            value = records.declared().counts(fact.by, len(self.schema_.groups))
            facts[fact] = assumed(noise, fact, value)
        return facts
