"""What a schema declares, in words: for certificates, reports and the documentation."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from dpfair.data.columns import COLUMN_KINDS
from dpfair.data.facts import Fact
from dpfair.data.file_form import FileForm
from dpfair.data.schema import Schema

__all__ = ["fact_rows", "facts_phrase", "facts_tables", "found_phrases"]


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
    # Facts that every model uses first, then those with a derived value, then the optional ones.
    known.sort(key=lambda pair: (bool(pair[1].used_by), pair[1].derived is None))
    stated: dict[str, bool] = {}
    for kind, fact in [*known, *((Schema, fact) for fact in Schema.facts)]:
        owners = [owner for owner in (*schema.columns, schema) if isinstance(owner, kind)]
        known_here = _used(fact, encodings) and any(
            (fact.derived is not None or fact.declared(owner)) and not _found(fact, owner)
            for owner in owners
        )
        stated[fact.phrase] = stated.get(fact.phrase, False) or known_here
    phrases = [phrase for phrase, known in stated.items() if phrase and known]
    if any(column.found for column in schema.columns):
        phrases.insert(0, "column names and kinds")
    return f"the schema ({', '.join(phrases)})"


def found_phrases(schema: Schema) -> tuple[str, ...]:
    """The facts that were found privately, and of how many columns.

    >>> from dpfair.data.columns import Levels, Numeric
    >>> age = Numeric("age", edges=(30,), found=("edges",))
    >>> found_phrases(Schema((age,), Levels("y", ("0", "1"))))
    ('bin edges of 1 column',)
    """
    counts: dict[str, int] = {}
    for column in schema.columns:
        for fact in column.facts:
            if fact.phrase and _found(fact, column) and fact.declared(column):
                counts[fact.phrase] = counts.get(fact.phrase, 0) + 1
    return tuple(f"{p} of {n} column{'s' if n > 1 else ''}" for p, n in counts.items())


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


def _found(fact: Fact, owner: Any) -> bool:
    return fact.name in getattr(owner, "found", ())


def _used(fact: Fact, encodings: Collection[str] | None) -> bool:
    return encodings is None or not fact.used_by or not set(fact.used_by).isdisjoint(encodings)


def _shown(fact: Fact, value: Any, encodings: Collection[str] | None) -> str:
    text = fact.show(value)
    return text if _used(fact, encodings) else f"{text} (declared, not used)"
