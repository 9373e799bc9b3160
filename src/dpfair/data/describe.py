"""What a schema declares, in words: for certificates, reports and the documentation."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from dpfair.data.columns import COLUMN_KINDS, FOUND
from dpfair.data.facts import Fact
from dpfair.data.file_form import FileForm
from dpfair.data.schema import Schema

__all__ = ["fact_rows", "facts_phrase", "facts_tables", "found_phrases"]


LOOKED_FOR = ("edges", "values")
"""Found facts that may be empty: the counts showed none. Others are then not there at all."""


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

    Where edges or categories were looked for and the noisy counts show none, it says so.

    >>> from dpfair.data.columns import Levels, Numeric
    >>> age = Numeric("age", edges=(30,), found=("edges",))
    >>> found_phrases(Schema((age,), Levels("y", ("0", "1"))))
    ('bin edges of 1 column',)
    >>> debt = Numeric("debt", edges=(), found=("edges",))
    >>> found_phrases(Schema((age, debt), Levels("y", ("0", "1"))))
    ('bin edges of 1 of 2 columns (none can be seen in the others)',)
    """
    looked_for: dict[str, list[bool]] = {}
    for column in schema.columns:
        for fact in column.facts:
            known = fact.declared(column) or fact.name in LOOKED_FOR
            if fact.phrase and _found(fact, column) and known:
                seen = fact.name not in LOOKED_FOR or len(getattr(column, fact.name)) > 0
                looked_for.setdefault(fact.phrase, []).append(seen)
    return tuple(_of_columns(phrase, seen) for phrase, seen in looked_for.items())


def _of_columns(phrase: str, seen: list[bool]) -> str:
    columns = f"{len(seen)} column{'s' if len(seen) > 1 else ''}"
    if all(seen):
        return f"{phrase} of {columns}"
    if not any(seen):
        return f"{phrase} of none of {columns} (none can be seen)"
    return f"{phrase} of {sum(seen)} of {columns} (none can be seen in the others)"


def fact_rows(
    schema: Schema, encodings: Collection[str] | None = None
) -> list[tuple[str, str, str]]:
    """(name, kind, facts) of the table and of every column.

    All facts are listed that a schema declares or that ``encodings`` use, such as
    ``{"binned", "trees"}``; facts that they do not use are marked. Without ``encodings``, all
    facts count as used. Facts that were found privately come last, and say so.
    """
    rows = []
    for stated in schema.facts:
        for name, part in stated.parts(stated.value(schema)) if stated.declared(schema) else ():
            rows.append((name, stated.kind, _shown(stated, part, encodings)))
    for column in schema.columns:
        shown: dict[bool, list[str]] = {False: [], True: []}
        for fact in column.facts:
            found = _found(fact, column)
            known = fact.declared(column) or (fact.derived is not None and _used(fact, encodings))
            if (known or (found and fact.name in LOOKED_FOR)) and fact is not FOUND:
                shown[found].append(_shown(fact, fact.value(column), encodings, found=found))
        rows.append((column.name, column.kind, "; ".join([*shown[False], *shown[True]])))
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


def _shown(
    fact: Fact, value: Any, encodings: Collection[str] | None, *, found: bool = False
) -> str:
    text = fact.show(value)
    if _used(fact, encodings):
        return f"{text} (found privately)" if found else text
    return f"{text} ({'found privately' if found else 'declared'}, not used)"
