"""Pairs of tables to compare: neighbours, and unrelated tables.

Two neighbours differ in one person's records, which come last in both tables. Every other record
has the same position, and therefore the same coins (see :mod:`dpfair.audit.tape`). A replaced
person keeps the name: the key that assigns names to scopes is drawn in the fit and discarded, so
any other name could have the same coin. Every method refuses an empty table, so both tables
contain other records.

*Unrelated* tables have nobody in common. The output of a method may depend only on its coins and
its noisy answers, so it must be the same for the same answers. This finds choices that depend on
exact values, which a single record rarely changes.

Some unrelated tables are *matched*: they have as many records, and every one of them agrees with
the record in the same place in its group, in its label, in both or in neither. A fact that is
assumed public must not change with what it does not declare to count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

from dpfair import validate
from dpfair.audit.sample import PERSON, Record, Table, group_columns, sample_records, table_of
from dpfair.audit.situations import Situation, end_groups, situations
from dpfair.data.columns import Levels
from dpfair.data.encode import group_codes_of, level_codes
from dpfair.data.schema import Schema
from dpfair.privacy.assumptions import MEMBERSHIP, PARTS
from dpfair.privacy.events import RELATIONS

__all__ = ["Pair", "neighbours"]

SOMEONE = "the person in question"

# The coins decide which scope and which batches a record is in. For each scope of every method, one
# of these seeds assigns the person in question to it.
COINS = (5, 6, 7)

# Sizes of unrelated tables: one is too large for the rules for small tables, the other is tiny.
UNRELATED_SIZES = (1500, 2)


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables, or two unrelated ones.

    Parameters
    ----------
    name
        The situation.
    first, second
        The tables; the run on the first is recorded, that on the second is a replay. Pairs with
        the same first table and the same seed can share one recording.
    shared
        How many records, the first ones, are the same in both.
    seed
        The seed of the coins.
    relation, rows_per_unit
        What makes them neighbours: one record, or a person with at most so many records.
    differs
        In which of ``"membership"``, ``"group"`` and ``"label"`` they differ, besides features.
    near
        Whether they are neighbours; unrelated tables share only public facts.
    """

    name: str
    first: Table
    second: Table
    shared: int
    seed: int
    relation: str
    rows_per_unit: int
    differs: frozenset[str]
    near: bool = True


def neighbours(
    schema: Schema,
    relation: str,
    *,
    at_least: int = 0,
    rows_per_unit: int = 1,
    unknown_groups: bool = True,
    size: int = 40,
    seed: int = 0,
) -> list[Pair]:
    """Every situation once, and unrelated tables.

    Random neighbours are added until there are ``at_least`` neighbours. ``unknown_groups`` includes
    records of no declared group, ``size`` is the size of the larger table, and ``seed`` determines
    the records and the coins.

    Examples
    --------
    >>> from dpfair.audit.sample import sample_schema
    >>> pairs = neighbours(sample_schema(), "add_remove", at_least=60)
    >>> sum(pair.near for pair in pairs) >= 60, pairs[0].name, pairs[-1].name
    (True, 'one more record of group f', '2 unrelated records alike, of class no')
    """
    validate.one_of(RELATIONS, relation=relation)
    base = _with_persons(sample_records(schema, size - rows_per_unit, seed), rows_per_unit)
    new = sample_records(schema, 1 + (2 + at_least) * rows_per_unit, seed + 1)
    names = [] if unknown_groups else [part.name for part in group_columns(schema)]
    found = [s for s in situations(schema, base, new, rows_per_unit) if not s.lacks(names)]
    for start in range(1, 1 + (at_least - len(found)) * rows_per_unit, rows_per_unit):
        found.append(Situation("a random person", base, new[start : start + rows_per_unit]))
    maker = _Maker(schema, relation, rows_per_unit, seed, base)
    pairs = [maker.pair(i, situation) for i, situation in enumerate(found)]
    pairs += maker.matched(seed + 3)
    # The number of records is public if records are replaced.
    sizes = UNRELATED_SIZES if relation == "add_remove" else (len(pairs[0].first.y),)
    for name, records in _unrelated(schema, max(sizes), seed + 2):
        named = _with_persons(records, rows_per_unit, "unrelated ")
        pairs += [
            maker.unrelated(f"{size} {name}", coin, named[:size])
            for size in sizes
            for coin in COINS
        ]
    return pairs


def _unrelated(schema: Schema, count: int, seed: int) -> Iterator[tuple[str, list[Record]]]:
    """Records that have little in common with the other table and with each other."""
    label, (negative, positive) = schema.label.name, schema.label.values
    records = sample_records(schema, count, seed)
    other = {negative: positive, positive: negative}
    yield "unrelated records with opposite labels", [r | {label: other[r[label]]} for r in records]
    for place, value in ((0, positive), (-1, negative)):
        alike: Record = {number.name: number.bounds[place] for number in schema.numeric}
        alike |= {label: value}
        for group in end_groups(schema)[place:][:1]:
            alike |= group
        yield f"unrelated records alike, of class {value}", [record | alike for record in records]


def _with_persons(records: list[Record], rows_per_unit: int, called: str = "p") -> list[Record]:
    """The same records, several of them of one person; the first person has more than count."""
    if rows_per_unit == 1:
        return records
    owners = [max(0, i // rows_per_unit - 1) for i in range(len(records))]
    return [r | {PERSON: f"{called}{owner}"} for r, owner in zip(records, owners, strict=True)]


@dataclass(frozen=True)
class _Maker:
    """Makes pairs of tables, by the relation."""

    schema: Schema
    relation: str
    rows_per_unit: int
    seed: int
    base: list[Record]
    tables: dict[tuple[int, bool], Table] = field(default_factory=dict)

    def pair(self, number: int, situation: Situation) -> Pair:
        """The others without and with the person, or with another in this one's place."""
        mine = [{PERSON: SOMEONE} | _without_name(record) for record in situation.mine]
        first = self._without(situation)
        others = situation.others
        second = table_of(self.schema, [*others, *mine], as_text=situation.as_text)
        if situation.swapped:
            first, second = second, first
        shares = others is self.base and not situation.as_text
        return Pair(
            name=situation.name,
            first=first,
            second=second,
            shared=len(others),
            seed=self.seed + COINS[(number if shares else len(others)) % len(COINS)],
            relation=self.relation,
            rows_per_unit=self.rows_per_unit,
            differs=self._differs(first, second),
        )

    def unrelated(self, name: str, coin: int, records: list[Record]) -> Pair:
        """The table that most situations share, and an unrelated one."""
        first = self._without(Situation(name, self.base, []))
        second = table_of(self.schema, records)
        return Pair(
            name=name,
            first=first,
            second=second,
            shared=0,
            seed=self.seed + coin,
            relation=self.relation,
            rows_per_unit=self.rows_per_unit,
            differs=self._differs(first, second),
            near=False,
        )

    def matched(self, seed: int) -> Iterator[Pair]:
        """The table that most situations share, and unrelated ones that agree in some parts."""
        records = self._with_another(self.base)
        others = sample_records(self.schema, len(records), seed)
        others = _with_persons(others, self.rows_per_unit, "matched ")
        columns = {"group": group_columns(self.schema), "label": (self.schema.label,)}
        for kept in chain.from_iterable(combinations(PARTS, r) for r in range(len(PARTS) + 1)):
            matched = [
                other
                | {
                    column.name: record[column.name] if part in kept else _next(column, record)
                    for part in PARTS
                    for column in columns[part]
                }
                for other, record in zip(others, records, strict=True)
            ]
            name = f"unrelated records, matched in {' and '.join(kept) or 'nothing'}"
            yield self.unrelated(name, COINS[0], matched)

    def _without(self, situation: Situation) -> Table:
        """The table without the person, or with another one instead; made once and shared."""
        key = id(situation.others), situation.as_text
        if key not in self.tables:
            records = self._with_another(situation.others)
            self.tables[key] = table_of(self.schema, records, as_text=situation.as_text)
        return self.tables[key]

    def _with_another(self, others: list[Record]) -> list[Record]:
        instead = [] if self.relation == "add_remove" else [others[-1] | {PERSON: SOMEONE}]
        return [*others, *instead]

    def _differs(self, first: Table, second: Table) -> frozenset[str]:
        one, two = self._parts(first), self._parts(second)
        return frozenset(part for part in one if one[part] != two[part])

    def _parts(self, table: Table) -> dict[str, list[Any]]:
        """What assumed facts may depend on; the coins of persons depend on their names."""
        labels = level_codes(table.y, self.schema.label).tolist()
        sensitive = self.schema.sensitive
        groups = [0] * len(labels)
        if sensitive is not None:
            groups = group_codes_of(table.X, sensitive).tolist()
        declared = [(group >= 0, label >= 0) for group, label in zip(groups, labels, strict=True)]
        persons = table.X[PERSON].to_list() if self.rows_per_unit > 1 else []
        return {MEMBERSHIP: [*declared, *persons], "group": groups, "label": labels}


def _next(column: Levels, record: Record) -> str:
    """A value of a column that differs from that of a record."""
    return column.values[(column.values.index(record[column.name]) + 1) % len(column.values)]


def _without_name(record: Record) -> Record:
    """A record without its sampled owner; a record that belongs to nobody is not changed."""
    return {k: v for k, v in record.items() if k != PERSON or v is None}
