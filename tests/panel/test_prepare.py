"""Frames become records: columns, missing values, and tables that are not the expected ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scripts.panel.prepare import GROUP, prepared


def test_records_without_an_outcome_are_left_out(data, frame):
    kept = frame["paid"].notna()
    assert len(data.y) == data.X.height == kept.sum() < len(frame)
    assert data.accepted.tolist() == frame["paid"][kept].astype(int).tolist()
    assert data.group_codes.tolist() == (frame["age"][kept] > 40).astype(int).tolist()


def test_only_declared_features_remain_and_missing_values_are_null(data, frame):
    assert data.X.columns == ["age", "income", "job", GROUP]
    kept = frame[frame["paid"].notna()]
    assert data.X["income"].null_count() == kept["income"].isna().sum() > 0
    assert data.X["income"].is_nan().sum() == 0
    assert data.X["job"].null_count() == kept["job"].isna().sum() > 0


def test_a_table_with_other_columns_is_refused(table, frame):
    with pytest.raises(ValueError, match="columns that differ: extra"):
        prepared(table, frame.assign(extra=1))
    with pytest.raises(ValueError, match="columns that differ: number"):
        prepared(table, frame.drop(columns="number"))


def test_a_table_with_another_number_of_rows_is_refused(table, frame):
    with pytest.raises(ValueError, match="got 2999 rows"):
        prepared(table, frame[1:])


def test_the_printed_form_has_what_results_depend_on(table):
    same = replace(table, question="?", left_out={"other words": ("number",)}, relatives=("x",))
    assert repr(same) == repr(table)
    assert repr(replace(table, groups=replace(table.groups, cut=50))) != repr(table)
    assert repr(replace(table, numeric=("age",))) != repr(table)
