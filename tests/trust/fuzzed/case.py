"""A table with what comes with it, and every way in which the form of a table may be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import csr_array
from trust.fuzzed.containers import CONTAINERS, Columns, pandas_table, row_count
from trust.fuzzed.values import SECRET_NUMBER, SECRET_WORD

from dpfair.data.schema import Schema

__all__ = ["DEFECTS", "Case", "spoilt"]

_COLUMNS = object()


@dataclass
class Case:
    """A table and what comes with it; ``defect`` says what is wrong with its form, if anything.

    ``passed`` is what is passed for the table, if that is not its columns in their container;
    ``later`` are records to decide about.
    """

    columns: Columns
    container: str
    estimator: str
    labels: Any
    schema: Schema | None
    groups: Any = None
    unit: str | None = None
    defect: str = ""
    sensitive: str | None = None
    later: Columns = field(default_factory=dict)
    passed: Any = _COLUMNS

    @property
    def rows(self) -> int:
        """The number of records."""
        return row_count(self.columns)

    @property
    def first(self) -> str:
        """The name of the first column."""
        return next(iter(self.columns))

    def table(self) -> Any:
        """What a fit is given."""
        return self.held(self.columns) if self.passed is _COLUMNS else self.passed

    def held(self, columns: Columns) -> Any:
        """Columns in the container of this case."""
        return CONTAINERS[self.container](columns)


def _named(case: Case, names: Any) -> dict[str, Any]:
    table = pandas_table(case.columns)
    table.columns = names
    return {"passed": table}


# What is wrong, and the fields of the case that say so.
DEFECTS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "missing column": lambda case: {
        "passed": case.held({n: c for n, c in case.columns.items() if n != case.first})
    },
    "no rows": lambda case: {
        "passed": case.held({name: (kind, []) for name, (kind, _) in case.columns.items()}),
        "labels": [],
    },
    "no columns": lambda case: {
        "passed": pd.DataFrame(index=range(case.rows))
        if case.rows % 2
        else np.empty((case.rows, 0))
    },
    "names twice": lambda case: _named(case, [case.first] * len(case.columns)),
    "names of several kinds": lambda case: _named(
        case, [0, *map(str, range(1, len(case.columns)))]
    ),
    "levels of names": lambda case: _named(
        case, pd.MultiIndex.from_product([["a"], range(len(case.columns))])
    ),
    "one dimension": lambda case: {"passed": [SECRET_NUMBER] * case.rows},
    "three dimensions": lambda case: {"passed": np.full((case.rows, 2, 2), SECRET_NUMBER)},
    "lazy": lambda case: {"passed": pl.LazyFrame({case.first: [SECRET_NUMBER] * case.rows})},
    "a generator": lambda case: {"passed": (SECRET_NUMBER for _ in range(case.rows))},
    "a dictionary": lambda case: {"passed": {case.first: [SECRET_NUMBER] * case.rows}},
    "a word": lambda case: {"passed": SECRET_WORD},
    "ragged lists": lambda case: {"passed": [[SECRET_NUMBER]] * case.rows + [[1, 2]]},
    "sparse": lambda case: {"passed": csr_array(np.full((case.rows, 3), SECRET_NUMBER))},
    "series": lambda case: {"passed": pd.Series([SECRET_NUMBER] * case.rows)},
    "no table": lambda case: {"passed": None},
    "labels too short": lambda case: {"labels": [0] * (case.rows - 1)},
    "labels too long": lambda case: {"labels": [SECRET_NUMBER] * (case.rows + 1)},
    "no labels": lambda case: {"labels": None},
    "labels in a square": lambda case: {"labels": np.zeros((case.rows, case.rows + 2))},
    "labels of complex numbers": lambda case: {"labels": np.full(case.rows + 1, 1 + 2j)},
    "groups too short": lambda case: {"groups": ["f"] * (case.rows - 1)},
    "groups too long": lambda case: {"groups": ["f"] * (case.rows + 1)},
    "groups in a square": lambda case: {
        "groups": np.full((case.rows, 2), SECRET_WORD, dtype=object)
    },
    "unknown sensitive": lambda case: {"sensitive": "nowhere"},
    "unit is missing": lambda case: {"unit": "nowhere"},
}


def spoilt(case: Case) -> Case:
    """The case with its defect."""
    return replace(case, **DEFECTS[case.defect](case)) if case.defect else case
