"""What a schema declares, in words: for certificates, reports and the documentation."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from dpfair.data.columns import COLUMN_KINDS
from dpfair.data.facts import Fact
from dpfair.data.file_form import FileForm
from dpfair.data.schema import Schema

__all__ = ["fact_rows", "facts_phrase", "facts_tables"]


def facts_phrase(schema: Schema, encodings: Collection[str] | None = None) -> str:
    """The kinds of public facts that a schema declares, in one phrase.

    With ``encodings``, such as ``{"standardised"}``, only facts that they use are named.

    >>> schema = Schema.from_dict({
    ...     "label": {"name": "repaid", "values": ["no", "yes"]},
    ...     "columns": [{"name": "age", "kind": "numeric", "bounds": [18, 100], "usual": 40}]})
    >>> facts_phrase(schema)
    'the schema (bounds, bin edges, usual values, label values, groups)'
    """
    known = [(kind, fact) for kind in COLUMN_KINDS for fact in kind.facts]
    # Required facts first, then those with a derived value, then the optional ones.
    known.sort(key=lambda pair: (not pair[1].required(pair[0]), pair[1].derived is None))
    stated: dict[str, bool] = {}
    for kind, fact in [*known, *((Schema, fact) for fact in Schema.facts)]:
        owners = [owner for owner in (*schema.columns, schema) if isinstance(owner, kind)]
        found = _used(fact, encodings) and any(
            fact.derived is not None or fact.declared(owner) for owner in owners
        )
        stated[fact.phrase] = stated.get(fact.phrase, False) or found
    return f"the schema ({', '.join(p for p, found in stated.items() if p and found)})"


def fact_rows(
    schema: Schema, encodings: Collection[str] | None = None
) -> list[tuple[str, str, str]]:
    """(name, kind, public facts) of the table and of every column.

    All facts are listed that a schema declares or that ``encodings`` use, such as
    ``{"binned", "trees"}``; declared facts that they do not use are marked. Without
    ``encodings``, all facts count as used.
    """
    rows = []
    for fact in schema.facts:
        for name, part in fact.parts(fact.value(schema)) if fact.declared(schema) else ():
            rows.append((name, fact.kind, _shown(fact, part, encodings)))
    for column in schema.columns:
        shown = [
            _shown(fact, fact.value(column), encodings)
            for fact in column.facts
            if fact.declared(column) or (fact.derived is not None and _used(fact, encodings))
        ]
        rows.append((column.name, column.kind, "; ".join(shown)))
    return rows


def facts_tables() -> str:
    """All facts as the Markdown tables of docs/schema.md."""
    sections: list[tuple[str, Any]] = [("The table", Schema), ("The file", FileForm)]
    sections += [(f"Columns: {kind.kind}", kind) for kind in COLUMN_KINDS]
    return "\n".join(f"### {title}\n\n{_table(kind, kind.facts)}" for title, kind in sections)


def _table(kind: Any, facts: Iterable[Fact]) -> str:
    lines = ["| entry | form | meaning | used by |", "|---|---|---|---|"]
    for fact in facts:
        form = f"{fact.form}, required" if fact.required(kind) else fact.form
        used_by = ", ".join(fact.used_by) or "every model"
        lines.append(f"| `{fact.name}` | {form} | {fact.doc} | {used_by} |")
    return "\n".join(lines) + "\n"


def _used(fact: Fact, encodings: Collection[str] | None) -> bool:
    return encodings is None or not fact.used_by or not set(fact.used_by).isdisjoint(encodings)


def _shown(fact: Fact, value: Any, encodings: Collection[str] | None) -> str:
    text = fact.show(value)
    return text if _used(fact, encodings) else f"{text} (declared, not used)"
