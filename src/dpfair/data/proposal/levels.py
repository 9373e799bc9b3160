"""The values of the label and of the sensitive column, as the records have them."""

from __future__ import annotations

from typing import Any

from dpfair.data.columns import Levels
from dpfair.data.proposal.accepted import Accepted, are_opposites, choose_accepted
from dpfair.data.proposal.values import Values, sorted_values
from dpfair.data.schema import MAX_GROUPS
from dpfair.data.words import as_words
from dpfair.errors import SchemaError

__all__ = ["find_groups", "find_label", "infer_levels"]

_MAX_LABELS = 20
_LISTED = 10
# The share of records with misspelt labels, at most.
_RARE = 0.02


def infer_levels(name: str, values: Any, *, what: str, most: int) -> Levels:
    """The distinct values of the label or of the sensitive column, sorted; none is named."""
    distinct = sorted_values(as_words(values).words)
    if not 2 <= len(distinct) <= most:
        noun = ("class", "classes") if most == 2 else ("group", "groups")
        expected = "exactly two" if most == 2 else f"2 to {most}"
        raise SchemaError(
            f"The {what} {name!r} must have {expected} {noun[1]}, got {len(distinct)} "
            f"{noun[len(distinct) != 1]}. The command dpfair schema propose shows them."
        )
    return Levels(name, distinct)


def find_label(values: Values, accept: str | None) -> tuple[Levels, Accepted, dict[str, int]]:
    """The two label values with the accepted one last, why, and the other values with counts.

    Others are left out if they are rare, or if the two are words for opposite outcomes: loans that
    are neither paid nor in default have no outcome yet.
    """
    counts = dict(values.counts.most_common())
    if not 2 <= len(counts) <= _MAX_LABELS:
        raise SchemaError(
            f"The label {values.name!r} has {len(counts):,} different values{_listed(counts)}; a "
            "label has two. Name another column, or add one that says yes or no."
        )
    accepted = choose_accepted(values.name, counts, accept)
    used = {accepted.rejected, accepted.value}
    others = {value: count for value, count in counts.items() if value not in used}
    rare = sum(others.values()) <= _RARE * values.present
    if not rare and not are_opposites(accepted.value, accepted.rejected):
        raise SchemaError(
            f"The label {values.name!r} has {len(counts):,} different values{_listed(counts)}; a "
            f"label has two. Add a column of two values, such as whether {values.name} is "
            f"{accepted.value}, and name that one."
        )
    return Levels(values.name, (accepted.rejected, accepted.value)), accepted, others


def find_groups(values: Values) -> Levels:
    """The groups: all values of the sensitive column."""
    counts = dict(values.counts.most_common())
    if not 2 <= len(counts) <= MAX_GROUPS:
        raise SchemaError(
            f"The sensitive column {values.name!r} has {len(counts):,} different values"
            f"{_listed(counts)}; expected 2 to {MAX_GROUPS} groups. Numbers such as ages must be "
            "grouped before, such as under 30 and over 30."
        )
    return Levels(values.name, sorted_values(counts))


def _listed(counts: dict[str, int]) -> str:
    if not counts:
        return ""
    shown = ", ".join(list(counts)[:_LISTED])
    return f" ({shown}{', ...' if len(counts) > _LISTED else ''})"
