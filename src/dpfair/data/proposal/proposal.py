"""A proposed schema with all that a person should know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dpfair.data.proposal.accepted import Accepted
from dpfair.data.schema import Schema

__all__ = ["LeftOut", "Proposal"]


@dataclass(frozen=True)
class LeftOut:
    """A column that is no feature of the proposal, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Proposal:
    """A schema that was read off the data, which is **not private**, for a person to finish.

    Parameters
    ----------
    schema
        The schema, with ``reviewed=False``.
    accepted
        Which label value means accepted, and why.
    left_out
        The columns that are no features.
    remarks
        Remarks about columns, by name.
    notes
        Whatever a person should look at, one sentence each. They contain counts of records.
    other_labels
        Label values that the schema does not declare, with the number of their records.
    rows
        The number of records; None if it is not known.
    """

    schema: Schema
    accepted: Accepted
    left_out: tuple[LeftOut, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    other_labels: Mapping[str, int] = field(default_factory=dict)
    rows: int | None = None

    def to_toml(self, source: str = "the table", *, kinds_only: bool = False) -> str:
        """The schema as a commented TOML file; ``kinds_only`` leaves out bounds and categories."""
        from dpfair.data.proposal.toml import proposal_toml

        return proposal_toml(self, source, kinds_only=kinds_only)

    def reasons(self) -> dict[str, list[str]]:
        """The columns that are left out, by the reason."""
        found: dict[str, list[str]] = {}
        for column in self.left_out:
            found.setdefault(column.reason, []).append(column.name)
        return found
