"""The facts of the schema, declared as public or found privately, column by column."""

from __future__ import annotations

from dpfair.data.describe import fact_rows
from dpfair.methods.base import PrivateClassifier

__all__ = ["schema_rows"]


def schema_rows(model: PrivateClassifier) -> list[tuple[str, str, str]]:
    """(name, kind, facts) of the table and of every column.

    If the encoding of a model is not known, all facts count as used.
    """
    scorer = model.fitted_.scorer
    features = getattr(getattr(scorer, "linear", scorer), "features", None)
    trees = {"trees"} if hasattr(scorer, "structure") else set()
    return fact_rows(model.schema_, None if features is None else {features, *trees})
