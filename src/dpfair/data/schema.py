"""The public facts about a table: columns, bounds, categories, label, groups.

A person writes a schema down; it is not learned from private records (unless that is asked for,
with a warning). Encoding by a schema is *total*: missing, out-of-range and unknown values have a
declared place, so no error depends on a value of a training record.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dpfair.data import schema_file
from dpfair.data.columns import Categorical, Column, Levels, Numeric
from dpfair.data.facts import (
    TableFact,
    column_name,
    flag,
    items,
    known_entries,
    listing,
    number,
)
from dpfair.data.file_form import USUAL_FILE, FileForm
from dpfair.data.text import check_text
from dpfair.errors import SchemaError

if TYPE_CHECKING:
    from dpfair.data.proposal import Proposal

__all__ = ["MAX_GROUPS", "EarlierCost", "Schema"]

MAX_GROUPS = 100
"""The groups that a model can have."""

MAX_COMBINATIONS = 2**62
MAX_CROSSES = 20_000


def _levels_entry(levels: Levels | None) -> dict[str, Any] | None:
    return None if levels is None else levels.to_dict()


def _levels_parts(levels: Levels | None) -> Iterable[tuple[str, Any]]:
    return [] if levels is None else [(levels.name, levels.values)]


@dataclass(frozen=True)
class EarlierCost:
    """What it cost the records of a table to find facts in them, before a fit.

    >>> print(EarlierCost(0.3, 1e-6))
    facts were found in the same records before, at epsilon = 0.3 and delta = 1e-06 for every record

    ``unit`` is the column of persons, if they were protected instead of single records.
    """

    epsilon: float
    delta: float
    private: bool = True
    relation: str = "add_remove"
    unit: str | None = None

    def __post_init__(self) -> None:
        if not (0 < self.epsilon < math.inf and 0 < self.delta < 1):
            raise SchemaError("Expected epsilon > 0 and a delta between 0 and 1 of a discovery.")
        if self.relation not in ("add_remove", "replace_one"):
            raise SchemaError("Expected a relation of add_remove or replace_one of a discovery.")
        if self.unit is not None:
            column_name(self.unit)

    @classmethod
    def from_dict(cls, data: dict[str, Any], where: str) -> EarlierCost:
        """Read it from an entry of a file."""
        known_entries(data, [f.name for f in fields(cls)], where)
        return cls(
            number(data["epsilon"], "epsilon"),
            number(data["delta"], "delta"),
            flag(data["private"], "private"),
            data["relation"],
            data.get("unit"),
        )

    def to_dict(self) -> dict[str, Any]:
        """The entry of a file."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        before = "facts were found in the same records before, at"
        whom = "record" if self.unit is None else f"person (column {self.unit!r})"
        if self.relation == "replace_one":
            whom += " (replace one)"
        return f"{before} epsilon = {self.epsilon:g} and delta = {self.delta:g} for every {whom}"


@dataclass(frozen=True)
class Schema:
    """Everything that is assumed public about a table.

    Parameters
    ----------
    columns
        The features, without the sensitive column.
    label
        The two label values, negative first.
    sensitive
        The groups; None for a model that is private but not made fair.
    rows
        The public size of the data set, if it is public.
    crosses
        Combinations of columns that matter jointly.
    reviewed
        Whether a person has confirmed the facts. A schema that was read off the data is not
        reviewed, and a model that is fitted with it is not private.
    file
        How files write the table: delimiter, encoding, decimal comma.
    discovery
        What it cost to find facts in the records, if that was done before.

    Examples
    --------
    >>> schema = Schema.from_dict({
    ...     "label": {"name": "repaid", "values": ["no", "yes"]},
    ...     "sensitive": {"name": "sex", "values": ["f", "m"]},
    ...     "columns": [{"name": "age", "kind": "numeric", "bounds": [18, 100]},
    ...                 {"name": "job", "kind": "categorical", "values": ["a", "b"]}]})
    >>> [column.name for column in schema.columns]
    ['age', 'job']
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    columns: tuple[Column, ...]
    label: Levels
    sensitive: Levels | None = None
    rows: int | None = None
    crosses: tuple[tuple[str, ...], ...] = ()
    reviewed: bool = field(default=True, compare=False)
    file: FileForm = USUAL_FILE
    discovery: EarlierCost | None = None

    facts: ClassVar[tuple[TableFact, ...]] = (
        TableFact(
            "rows",
            kind="size",
            read=lambda value, _: value,
            show=lambda rows: f"{rows:,} records",
            form="whole number > 0",
            doc="The size of the data set, if it is public.",
        ),
        TableFact(
            "crosses",
            kind="cross",
            read=lambda value, name: tuple(
                tuple(map(column_name, items(cross, name))) for cross in items(value, name)
            ),
            show=lambda _: "one cell for every combination",
            form="lists of two to four columns",
            doc="Columns that matter jointly: every combination of their bins has a cell "
            "(through a fixed hash, if there are many).",
            phrase="crosses",
            used_by=("binned",),
            parts=lambda crosses: [(" x ".join(cross), cross) for cross in crosses],
        ),
        TableFact(
            "reviewed",
            kind="source",
            read=flag,
            show=lambda _: "read off the data and not reviewed, which is not private",
            form="true or false",
            doc="Whether a person has confirmed all facts. A proposal is not reviewed: its facts "
            "were read off the data, so a model that is fitted with it is not private. "
            "Default: true.",
            write=bool,
        ),
        TableFact(
            "discovery",
            kind="source",
            read=lambda value, name: EarlierCost.from_dict(value, name),
            show=lambda cost: str(cost),
            form="`epsilon`, `delta`, `private`, `relation`, `unit`",
            doc="Written by `dpfair schema discover`: what it cost the records to find facts in "
            "them. It adds to the cost of a fit.",
            write=lambda cost: None if cost is None else cost.to_dict(),
        ),
        TableFact(
            "file",
            kind="file",
            read=FileForm.from_dict,
            show=lambda form: "; ".join(form.phrases()),
            form="a table, see below",
            doc="How files write the table.",
            write=FileForm.to_dict,
        ),
        TableFact(
            "label",
            kind="label",
            read=Levels.from_dict,
            show=listing,
            form="`name` and two `values`",
            doc="The column to predict; the negative value is first.",
            phrase="label values",
            write=_levels_entry,
            parts=_levels_parts,
        ),
        TableFact(
            "sensitive",
            kind="groups",
            read=schema_file.read_groups,
            show=listing,
            form="`name` and `values`, or `columns`",
            doc="The groups: the values of one column that is no feature, or the combinations of "
            "several categorical columns. Without it the model is private but not made fair.",
            phrase="groups",
            derived=lambda schema: schema.sensitive,  # without one, everybody is in one group
            write=_levels_entry,
            parts=_levels_parts,
        ),
    )

    def __post_init__(self) -> None:
        if self.sensitive is not None:
            self._check_groups_apart(self.sensitive.column_names)
        names = [c.name for c in self.columns] + [self.label.name]
        names += [self.sensitive.name] if self.sensitive else []
        for name, times in Counter(names).items():
            if times > 1:
                raise SchemaError(f"Column {name!r} appears twice in the schema.")
            check_text(name, "The name of a column")
        if not self.columns:
            raise SchemaError("A schema needs at least one feature column.")
        if self.crosses:
            self._check_crosses()
        if len(self.label.values) != 2:
            raise SchemaError(
                f"Label {self.label.name!r} must have exactly two values, "
                f"got {len(self.label.values)}."
            )
        whole = isinstance(self.rows, Integral) and not isinstance(self.rows, bool)
        if self.rows is not None and not (whole and self.rows > 0):
            raise SchemaError(f"Expected rows to be a whole number > 0, got {self.rows}.")

    def _check_groups_apart(self, names: Sequence[str]) -> None:
        """Groups formed by the label would make every fair rule a constant one."""
        if self.label.name in names:
            raise SchemaError(
                f"The label and the sensitive column are the same, {self.label.name!r}: the groups "
                "need a column of their own."
            )

    def _check_crosses(self) -> None:
        # The bins or categories of every column, with those for missing and other.
        cells = {c.name: len(c.cuts) + 2 for c in self.numeric}
        cells |= {c.name: len(c.values) + 1 for c in self.categorical}
        cells |= {self.sensitive.name: len(self.groups) + 1} if self.sensitive else {}
        if len(self.crosses) > MAX_CROSSES:
            raise SchemaError(f"Expected at most {MAX_CROSSES} crosses, got {len(self.crosses)}.")
        for cross in self.crosses:
            if not 2 <= len(cross) <= 4 or len(set(cross)) != len(cross):
                raise SchemaError("A cross combines two to four different columns.")
            unknown = [name for name in cross if name not in cells]
            if unknown:
                raise SchemaError(f"A cross names {unknown[0]!r}, which is no feature column.")
            if math.prod(cells[name] for name in cross) >= MAX_COMBINATIONS:
                raise SchemaError(f"The cross of {', '.join(cross)} has too many combinations.")
        if len(set(self.crosses)) != len(self.crosses):
            raise SchemaError("The same cross appears twice in the schema.")

    @cached_property
    def numeric(self) -> tuple[Numeric, ...]:
        """The numeric features, in order."""
        return tuple(c for c in self.columns if isinstance(c, Numeric))

    @cached_property
    def categorical(self) -> tuple[Categorical, ...]:
        """The categorical features, in order."""
        return tuple(c for c in self.columns if isinstance(c, Categorical))

    @cached_property
    def unbounded(self) -> bool:
        """Whether bounds or categories of a column are not known."""
        return any(column.unbounded for column in self.columns)

    @cached_property
    def open(self) -> bool:
        """Whether a fit can find facts that are not declared."""
        return any(column.open for column in self.columns)

    def kinds_only(self) -> Schema:
        """The names and kinds of the columns, the label and the groups, and no other fact.

        >>> from dpfair import load_adult
        >>> load_adult().schema.kinds_only().unbounded
        True
        """
        columns = tuple(type(column)(column.name) for column in self.columns)
        return replace(self, columns=columns, rows=None, crosses=(), discovery=None)

    def declared(self) -> Schema:
        """The schema without the facts that a fit found; those found before are declared."""
        if self.discovery is not None:
            return self
        return replace(self, columns=tuple(column.declared() for column in self.columns))

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups; one group of everybody without a sensitive column."""
        return self.sensitive.values if self.sensitive else ("everybody",)

    @property
    def names(self) -> list[str]:
        """The columns that a model reads: the features, and those that form the groups."""
        groups = self.sensitive.column_names if self.sensitive else ()
        return [*dict.fromkeys([*(column.name for column in self.columns), *groups])]

    @property
    def families(self) -> tuple[int, ...]:
        """For every group of an intersection its value in the first column; else all alike."""
        parts = self.sensitive.parts if self.sensitive else ()
        others = len(self.groups) // len(parts[0].values) if parts else len(self.groups)
        return tuple(i // others for i in range(len(self.groups)))

    def with_sensitive(self, name: str | Sequence[str]) -> Schema:
        """The same table with its groups in another categorical column, or in several.

        The column that held the groups before becomes a feature. Several columns form a group
        for every combination of their values, and stay features.
        """
        names = (name,) if isinstance(name, str) else tuple(name)
        if self.sensitive is not None and self.sensitive.column_names == names:
            return self
        self._check_groups_apart(names)
        columns = list(self.columns)
        if self.sensitive is not None and not self.sensitive.parts:
            columns.append(Categorical(self.sensitive.name, self.sensitive.values))
        chosen = []
        for wanted in names:
            found = next(
                (c for c in columns if isinstance(c, Categorical) and c.name == wanted), None
            )
            if found is None:
                raise SchemaError(
                    f"The schema has no categorical column {wanted!r} to form groups."
                )
            if found.unbounded or "values" in found.found:
                raise SchemaError(
                    f"The values of {wanted!r} must be declared in the schema to form groups: "
                    "a fit does not find groups."
                )
            chosen.append(found)
        outcomes = [Levels(c.name, c.values) for c in chosen]
        if len(chosen) == 1:
            columns.remove(chosen[0])
            return replace(self, columns=tuple(columns), sensitive=outcomes[0])
        if len(set(names)) != len(names):
            raise SchemaError("Groups need different columns.")
        return replace(self, columns=tuple(columns), sensitive=Levels.intersection(outcomes))

    @staticmethod
    def propose(
        table: Any,
        *,
        label: str,
        sensitive: str | Sequence[str],
        accept: str | None = None,
    ) -> Proposal:
        """Read a schema off a table, which is **not private**: a draft for a person to finish.

        The result has the ``schema`` and ``notes`` about it; ``to_toml()`` writes a commented file.

        >>> import polars as pl
        >>> ages, sexes, repaid = [21, 35, 48, 60, 77] * 12, ["f", "m"] * 30, [1, 1, 0] * 20
        >>> table = pl.DataFrame({"age": ages, "sex": sexes, "repaid": repaid})
        >>> proposal = Schema.propose(table, label="repaid", sensitive="sex")
        >>> proposal.schema.label.values, proposal.schema.reviewed
        (('0', '1'), False)
        """
        from dpfair.data.proposal import propose

        return propose(table, label=label, sensitive=sensitive, accept=accept)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a TOML or JSON file."""
        return schema_file.load(cls, Path(path))

    @classmethod
    def from_toml(cls, text: str) -> Schema:
        """Read a schema from TOML text."""
        return schema_file.from_toml(cls, text)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Schema:
        """Build a schema from plain data, as found in a TOML or JSON file."""
        return schema_file.from_dict(cls, data)

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain data; the reverse of :meth:`from_dict`."""
        return schema_file.to_dict(self)

    def __repr__(self) -> str:
        """Short, since errors of scikit-learn show a model with all its parameters."""
        groups = "" if self.sensitive is None else f", sensitive={self.sensitive.name!r}"
        return f"Schema({len(self.columns)} columns, label={self.label.name!r}{groups})"

    def to_toml(self) -> str:
        """The schema as a TOML file that a person can read, edit and keep."""
        return schema_file.to_toml(self)
