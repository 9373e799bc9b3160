"""Neighbouring tables: random ones, and those at which privacy bugs have been found before.

Two neighbours differ in one person's records, which come last in both tables: every other record
has the same position, hence the same coins (see :mod:`dpfair.audit.tape`). A replaced person keeps
the name: the key that sends names to scopes is drawn in the fit and thrown away, so another
name would draw the same coin just as well.

An empty table is refused by every method, so there is always somebody else.

*Strangers* are no neighbours: tables that have nobody in common. What a method puts out may depend
on its coins and its noisy answers only, so even then it must be the same when the answers are. A
choice that looks at exact values shows here, though one record alone rarely turns it.

*Twins* are strangers, too, as many as there are others, and every one agrees with the record in the
same place in the group, in the label, in both or in neither. A fact that is assumed public must not
change with what it does not declare to count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations
from typing import Any

from dpfair import validate
from dpfair.audit.sample import PERSON, Record, Table, group_columns, sample_records, table_of
from dpfair.data.schema import Categorical, Levels, Numeric, Schema
from dpfair.data.table import as_texts, encode, group_codes_of, level_codes
from dpfair.learners.features import design
from dpfair.privacy.assumptions import MEMBERSHIP, PARTS
from dpfair.privacy.events import RELATIONS

__all__ = ["Pair", "neighbours"]

SOMEONE = "the person in question"
UNDECLARED = "never declared"

# With other coins a record lies in another scope and in other batches. Of these seeds, each scope
# of every method has one that sends the person in question there.
COINS = (5, 6, 7)

# So many that no rule for small tables applies, and few of them.
STRANGERS = (1500, 2)

# Sizes from which on code may think a group large enough to be looked at.
SMALL_GROUPS = (5, 10)

EXTREMES = {
    "the largest number": 1e308,
    "the smallest number": -1e308,
    "a subnormal number": 5e-324,
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "nothing": None,
}
# As a CSV file would bring them.
TEXTS = {"a word for a number": "many", "an empty text": "", "a long number": "9" * 400}


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables, or two of strangers.

    Parameters
    ----------
    name
        What is special about them.
    first, second
        The tables; the run on the first is recorded, that on the second is a replay. Pairs with
        the same first table and the same seed can share one recording.
    shared
        How many records, the first ones, are the same in both.
    seed
        Of the coins.
    relation, rows_per_unit
        What makes them neighbours: one record, or a person of whom so many records count.
    differs
        In which of ``"membership"``, ``"group"`` and ``"label"`` they differ, beside features.
    near
        Whether they are neighbours; strangers share what is public, and nothing else.
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
    """All situations once, random records until there are ``at_least`` so many, and strangers.

    ``unknown_groups`` are records of no declared group; ``size`` is that of the larger table;
    ``seed`` gives other records and other coins.

    Examples
    --------
    >>> from dpfair.audit.sample import sample_schema
    >>> pairs = neighbours(sample_schema(), "add_remove", at_least=60)
    >>> sum(pair.near for pair in pairs) >= 60, pairs[0].name, pairs[-1].name
    (True, 'one more record of group f', '2 strangers alike, of class no')
    """
    validate.one_of(RELATIONS, relation=relation)
    base = _with_persons(sample_records(schema, size - rows_per_unit, seed), rows_per_unit)
    new, *more = sample_records(schema, 1 + (2 + at_least) * rows_per_unit, seed + 1)
    situations = [*_beside_all(schema, base, new), *_beside_few(schema, base, new)]
    if rows_per_unit > 1:
        situations += _persons(base, [new, *more], rows_per_unit)
    names = [] if unknown_groups else [part.name for part in group_columns(schema)]
    situations = [s for s in situations if s.others and not s.lacks(names)]
    for start in range(0, (at_least - len(situations)) * rows_per_unit, rows_per_unit):
        mine = more[start : start + rows_per_unit]
        situations.append(_Situation("a random person", base, mine))
    maker = _Maker(schema, relation, rows_per_unit, seed, base)
    pairs = [maker.pair(i, situation) for i, situation in enumerate(situations)]
    pairs += maker.twins(seed + 3)
    # The number of records is public if records are replaced.
    sizes = STRANGERS if relation == "add_remove" else (len(pairs[0].first.y),)
    for name, strangers in _strangers(schema, max(sizes), seed + 2):
        named = _with_persons(strangers, rows_per_unit, "stranger ")
        pairs += [
            maker.far_pair(f"{size} {name}", coin, named[:size]) for size in sizes for coin in COINS
        ]
    return pairs


@dataclass(frozen=True)
class _Situation:
    """One person's records beside those of others; ``swapped``: the run with them is recorded."""

    name: str
    others: list[Record]
    mine: list[Record]
    as_text: bool = False
    swapped: bool = False

    def lacks(self, columns: Sequence[str]) -> bool:
        """Whether the person has no declared value in some of these columns."""
        return any(r[name] in (None, UNDECLARED) for r in self.mine for name in columns)


def _beside_all(schema: Schema, base: list[Record], new: Record) -> Iterator[_Situation]:
    """Records that are special by themselves."""

    def situation(name: str, changes: Record, as_text: bool = False) -> _Situation:
        return _Situation(name, base, [new | changes], as_text)

    label, numbers = schema.label.name, [c.name for c in schema.numeric]
    for group in _groups(schema):
        yield situation(f"one more record of group {', '.join(group.values())}", group)
    for value in schema.label.values:
        yield situation(f"one more record of class {value}", {label: value})
    yield situation("a duplicate", base[0])
    negative, positive = schema.label.values
    opposite = positive if base[-1][label] == negative else negative
    yield situation("another's record with the other label", base[-1] | {label: opposite})
    for what, extreme in EXTREMES.items():
        yield situation(f"{what} in every column", dict.fromkeys(numbers, extreme))
    for what, text in TEXTS.items():
        yield situation(f"{what} in every column", dict.fromkeys(numbers, text), as_text=True)
    for column in _lists(schema):
        yield situation(f"an undeclared value of {column.name}", {column.name: UNDECLARED})
        yield situation(f"no value of {column.name}", {column.name: None})
    usual = {c.name: c.usual for c in schema.columns if c.usual is not None}
    yield situation("a record of usual values", usual)
    for number in schema.numeric:
        yield situation(f"{number.name} on the edge of a bin", {number.name: number.cuts[0]})
        yield situation(f"{number.name} at its bound", {number.name: number.bounds[1]})


def _beside_few(schema: Schema, base: list[Record], new: Record) -> Iterator[_Situation]:
    """Records that are special because of the others."""
    columns = {c.name: c.values for c in _lists(schema) if len(c.values) > 1}
    for end, next_to_it in ((0, 1), (-1, -2)):
        special = {name: values[end] for name, values in columns.items()}
        instead = {name: values[next_to_it] for name, values in columns.items()}
        others = [
            r | {name: instead[name] for name in special if r[name] == special[name]} for r in base
        ]
        for name, value in special.items():
            yield _Situation(
                f"the only record with {name} = {value}", others, [new | {name: value}]
            )
        yield _Situation("a record like no other", others, [new | special], swapped=True)
    for group in _groups(schema)[:1]:
        for size in SMALL_GROUPS:
            own = [record | group for record in base[: size - 1]]
            others = own + [r for r in base[size - 1 :] if not group.items() <= r.items()]
            name = f"number {size} of group {', '.join(group.values())}"
            yield _Situation(name, others, [new | group])
    for number in schema.numeric:
        if number.spiky:
            one, two = _collision(schema, number)
            others = [*base[:-1], new | {number.name: one}]
            name = f"{number.name} in the bucket of another value"
            yield _Situation(name, others, [new | {number.name: two}])
    low = base[0] | {number.name: number.bounds[0] for number in schema.numeric}
    high = base[0] | {number.name: number.bounds[1] for number in schema.numeric}
    others = [low] * len(base)
    yield _Situation("one of many duplicates", others, [low])
    yield _Situation("an outlier among duplicates", others, [high])
    yield _Situation("the second record of a table", base[:1], [new])
    yield _Situation("the third record of a table", base[:2], [new], swapped=True)


def _persons(base: list[Record], rows: list[Record], most: int) -> list[_Situation]:
    """Persons with few or many records, when several records of a person count."""
    return [
        _Situation("a person with one record", base, rows[:1]),
        _Situation("a person with as many records as count", base, rows[:most]),
        _Situation("a person with more records than count", base, rows[: most + 2]),
        _Situation("records of nobody", base, [row | {PERSON: None} for row in rows[:most]]),
    ]


def _strangers(schema: Schema, count: int, seed: int) -> Iterator[tuple[str, list[Record]]]:
    """Records that have nothing in common with the others', and little with each other's."""
    label, (negative, positive) = schema.label.name, schema.label.values
    records = sample_records(schema, count, seed)
    other = {negative: positive, positive: negative}
    yield "strangers with opposite labels", [r | {label: other[r[label]]} for r in records]
    for place, value in ((0, positive), (-1, negative)):
        alike: Record = {number.name: number.bounds[place] for number in schema.numeric}
        alike |= {label: value}
        for group in _groups(schema)[place:][:1]:
            alike |= group
        yield f"strangers alike, of class {value}", [record | alike for record in records]


def _groups(schema: Schema) -> list[dict[str, str]]:
    """The first and the last group, by their columns."""
    parts = group_columns(schema)
    return [{part.name: part.values[i] for part in parts} for i in (0, -1)] if parts else []


def _lists(schema: Schema) -> list[Categorical | Levels]:
    """The columns with declared values: groups, categories and the label."""
    found: list[Categorical | Levels] = [*group_columns(schema), *schema.categorical, schema.label]
    return [c for i, c in enumerate(found) if c.name not in [other.name for other in found[:i]]]


@lru_cache(maxsize=64)
def _collision(schema: Schema, number: Numeric) -> tuple[float, float]:
    """Two values that the binned design cannot tell apart, though it means to."""
    [record], (low, high) = sample_records(schema, 1), number.bounds
    values = [low + (high - low) * i / 2048 for i in range(1, 2048)]
    table = table_of(schema, [record | {number.name: value} for value in values])
    rows = design("binned", schema, encode(table.X, schema).in_first_group())
    seen: dict[tuple[int, ...], float] = {}
    for value, codes in zip(values, rows.codes.tolist(), strict=True):
        earlier = seen.setdefault(tuple(codes), value)
        if earlier != value:
            return earlier, value
    return values[0], values[0]


def _with_persons(records: list[Record], rows_per_unit: int, called: str = "p") -> list[Record]:
    """The same records, several of them of one person; the first person has more than count."""
    if rows_per_unit == 1:
        return records
    owners = [max(0, i // rows_per_unit - 1) for i in range(len(records))]
    return [r | {PERSON: f"{called}{owner}"} for r, owner in zip(records, owners, strict=True)]


@dataclass(frozen=True)
class _Maker:
    """Makes a pair of tables of a situation, by the relation."""

    schema: Schema
    relation: str
    rows_per_unit: int
    seed: int
    base: list[Record]
    tables: dict[tuple[int, bool], Table] = field(default_factory=dict)

    def pair(self, number: int, situation: _Situation) -> Pair:
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

    def far_pair(self, name: str, coin: int, strangers: list[Record]) -> Pair:
        """The table that most situations share, and strangers."""
        first = self._without(_Situation(name, self.base, []))
        second = table_of(self.schema, strangers)
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

    def twins(self, seed: int) -> Iterator[Pair]:
        """The table that most situations share, and strangers who agree with it in some parts."""
        records = self._with_another(self.base)
        strangers = sample_records(self.schema, len(records), seed)
        strangers = _with_persons(strangers, self.rows_per_unit, "twin ")
        columns = {"group": group_columns(self.schema), "label": (self.schema.label,)}
        for kept in chain.from_iterable(combinations(PARTS, r) for r in range(len(PARTS) + 1)):
            twins = [
                stranger
                | {
                    column.name: record[column.name] if part in kept else _next(column, record)
                    for part in PARTS
                    for column in columns[part]
                }
                for stranger, record in zip(strangers, records, strict=True)
            ]
            yield self.far_pair(f"twins in {' and '.join(kept) or 'nothing'}", COINS[0], twins)

    def _without(self, situation: _Situation) -> Table:
        """The table without the person, or with another instead; one for all who share it."""
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
        """What assumptions may depend on; the coins of persons depend on their names."""
        labels = level_codes(as_texts(table.y), self.schema.label).tolist()
        sensitive = self.schema.sensitive
        groups = [0] * len(labels)
        if sensitive is not None:
            groups = group_codes_of(table.X, sensitive).tolist()
        declared = [(group >= 0, label >= 0) for group, label in zip(groups, labels, strict=True)]
        persons = table.X[PERSON].to_list() if self.rows_per_unit > 1 else []
        return {MEMBERSHIP: [*declared, *persons], "group": groups, "label": labels}


def _next(column: Levels, record: Record) -> str:
    """Another value of a column than that of a record."""
    return column.values[(column.values.index(record[column.name]) + 1) % len(column.values)]


def _without_name(record: Record) -> Record:
    """A record without its sampled owner; one that was said to be nobody's stays so."""
    return {k: v for k, v in record.items() if k != PERSON or v is None}
