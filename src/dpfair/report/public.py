"""The public facts of the schema, all that were declared or used, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpfair.data.schema import Categorical, Numeric
from dpfair.report import wording

__all__ = ["schema_rows"]

MAX_LISTED = 1000
UNUSED = "declared, not used"


def schema_rows(model: Any) -> list[tuple[str, str, str]]:
    """(name, kind, public facts) of every column, of the crosses and of the declared size.

    Standardised encodings use center and scale; binned ones, and trees, use cut points, usual
    values, spiky columns and crosses. Declared facts that the model does not use are marked.
    """
    schema = getattr(model, "schema_", None)
    if schema is None:
        return []
    scorer = getattr(model, "scorer_", None)
    features = getattr(scorer, "features", "")
    binned = features == "binned" or hasattr(scorer, "structure")
    rows = [] if schema.rows is None else [("all columns", "size", f"{schema.rows:,} records")]
    rows.append((schema.label.name, "label", wording.listing(schema.label.values)))
    if schema.sensitive is not None:
        listed = wording.listing(schema.sensitive.values, MAX_LISTED)
        rows.append((schema.sensitive.name, "groups", listed))
    for column in schema.columns:
        kind = "numeric" if isinstance(column, Numeric) else "categorical"
        facts = _number(column, features, binned) if kind == "numeric" else _words(column, features)
        rows.append((column.name, kind, "; ".join(facts)))
    for cross in schema.crosses:
        used = "one cell for every combination" if features == "binned" else UNUSED
        rows.append((" x ".join(cross), "cross", used))
    return rows


def _number(column: Numeric, features: str, binned: bool) -> Iterator[str]:
    low, high = column.bounds
    yield f"{low:,.10g} to {high:,.10g}"
    for name, value, declared in zip(
        ("center", "scale"), column.standard, (column.center, column.scale), strict=True
    ):
        if features == "standardised" or declared is not None:
            yield _marked(f"{name} {value:,.10g}", features == "standardised")
    if binned or column.edges is not None:
        cuts = wording.listing([f"{cut:,.10g}" for cut in column.cuts], MAX_LISTED)
        yield _marked(f"cut points {cuts}" if cuts else "no cut points", binned)
    if column.usual is not None:
        yield _marked(f"usual value {column.usual:,.10g}", features == "binned")
    if column.spiky:
        yield _marked("spiky: exact values have cells", features == "binned")


def _words(column: Categorical, features: str) -> Iterator[str]:
    number = wording.count(len(column.values), "category", "categories")
    yield f"{number}: {wording.listing(column.values, MAX_LISTED)}"
    if column.usual is not None:
        yield _marked(f"usual value {column.usual}", features == "binned")


def _marked(fact: str, used: bool) -> str:
    return fact if used else f"{fact} ({UNUSED})"
