"""A proposal as a commented TOML file that a person can finish."""

from __future__ import annotations

import json
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dpfair.data.columns import Column, Levels

if TYPE_CHECKING:
    from dpfair.data.proposal.proposal import Proposal

__all__ = ["READ_OFF", "proposal_toml"]

READ_OFF = ("bounds", "values")
"""The facts of a column that only the records say; a draft of kinds leaves them out."""

_WIDTH = 100
_READ = "read off the data"
_HEAD = """\
A proposed schema for {source}: a draft that a person finishes.

What is marked "read off the data" was taken from the records, which is NOT private: a bound or a \
rare category can reveal a person. Correct it by what is publicly known, such as a law, a form or \
a code book. Delete columns that are not known when the decision is made.

Then write reviewed = true. Until then, every model that is fitted with this file is \
marked as not private.
"""
_ROWS = """\
The rows of all files of the data set, if that may be public: delete the # before it. A fit is \
then planned for this size, and delta is compared with it. Without it the size is protected like \
any other fact.
"""
_KINDS = """\
Bounds and categories are left out: fit finds them privately, within its budget. State those that \
are publicly known.
"""


def proposal_toml(proposal: Proposal, source: str, *, kinds_only: bool) -> str:
    """The text of the file; it can be read as it is."""
    schema = proposal.schema
    head = _HEAD.format(source=source) + (_KINDS if kinds_only else "")
    blocks = [f"{_comment(head)}\nreviewed = false\n"]
    if proposal.rows:
        blocks.append(f"{_comment(_ROWS)}\n# rows = {proposal.rows}  # {_READ}\n")
    if form := schema.file.to_dict():
        lines = [_entry(name, value, remark=_READ) for name, value in form.items()]
        blocks.append("\n".join(["[file]", *lines, ""]))
    blocks += [_label(proposal), _groups(schema.sensitive), _left_out(proposal)]
    for column in schema.columns:
        blocks.append(_column(column, proposal.remarks.get(column.name, ""), kinds_only))
    return "\n".join(block for block in blocks if block)


def _label(proposal: Proposal) -> str:
    label, accepted = proposal.schema.label, proposal.accepted
    lines = ["[label]", _entry("name", label.name)]
    lines.append(_entry("values", list(label.values), f"the second one means accepted; {_READ}"))
    said = f"{accepted.value!r} means accepted: {accepted.why}."
    if accepted.sure:
        lines.append(_comment(said))
    else:
        lines.append(_comment(f"ASSUMED, PLEASE CHECK: {said} Swap the two values if it is wrong."))
    if proposal.other_labels:
        others = ", ".join(map(repr, proposal.other_labels))
        lines.append(_comment(f"PLEASE CHECK: records with another value are not used: {others}."))
    return "\n".join([*lines, ""])


def _groups(groups: Levels | None) -> str:
    if groups is None:
        return ""
    if groups.parts:
        return f"[sensitive]\n{_entry('columns', list(groups.column_names))}\n"
    values = _entry("values", list(groups.values), _READ)
    return f"[sensitive]\n{_entry('name', groups.name)}\n{values}\n"


def _left_out(proposal: Proposal) -> str:
    """Columns without a block, by the reason."""
    if not proposal.left_out:
        return ""
    lines = ["# Left out; add a block to use one of these columns."]
    for reason, names in proposal.reasons().items():
        listed = ", ".join(map(_on_one_line, names))
        lines.append(_comment(f"{reason}: {listed}", indent="  "))
    return "\n".join([*lines, ""])


def _column(column: Column, remark: str, kinds_only: bool) -> str:
    """The name, the kind and the facts, but for those that are left out."""
    first = "[[columns]]" + (f"  # {_on_one_line(remark)}" if remark else "")
    lines = [first] if len(first) <= _WIDTH else ["[[columns]]", _comment(remark)]
    lines += [_entry("name", column.name), _entry("kind", column.kind)]
    for fact in column.facts:
        if not fact.declared(column) or (kinds_only and fact.name in READ_OFF):
            continue
        shown = _plain_numbers(fact.entry(column))
        lines.append(_entry(fact.name, shown, _READ))
    return "\n".join([*lines, ""])


def _entry(name: str, value: Any, remark: str = "") -> str:
    text = f"{name} = {_toml(value)}"
    note = f"  # {remark}" if remark else ""
    if len(text + note) <= _WIDTH or not isinstance(value, list):
        return text + note
    rows = _rows([f"{_toml(item)}," for item in value])
    return "\n".join([f"{name} = [{note}", *rows, "]"])


def _rows(items: Sequence[str]) -> list[str]:
    """Items on lines of the usual width."""
    rows: list[str] = []
    for item in items:
        if rows and len(rows[-1]) + len(item) < _WIDTH:
            rows[-1] += f" {item}"
        else:
            rows.append(f"    {item}")
    return rows


def _toml(value: Any) -> str:
    # JSON is valid TOML here, but for the character DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain_numbers(value: Any) -> Any:
    """Whole numbers without a decimal point."""
    if isinstance(value, list):
        return [_plain_numbers(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def _comment(text: str, indent: str = "") -> str:
    lines = []
    for paragraph in text.split("\n"):
        found = wrap(
            _on_one_line(paragraph),
            _WIDTH - 2 - len(indent),
            subsequent_indent="  " if indent else "",
        )
        lines += [f"# {indent}{line}".rstrip() for line in found or [""]]
    while lines[-1] == "#":
        lines.pop()
    return "\n".join(lines)


def _on_one_line(text: str) -> str:
    """Text that cannot end a comment: names and values may contain line breaks."""
    return "".join(c if c.isprintable() else " " for c in text)
