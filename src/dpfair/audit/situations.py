"""Boundary situations where privacy bugs occur: the records of one person and of others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dpfair.audit.sample import PERSON, Record, group_columns, sample_records, table_of
from dpfair.data.columns import Categorical, Levels, Numeric
from dpfair.data.encode import encode
from dpfair.data.schema import Schema
from dpfair.learners.features import design

__all__ = ["Situation", "end_groups", "situations"]

UNDECLARED = "never declared"

# Group sizes that code may use as limits for small groups.
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
class Situation:
    """Records of one person and of others; ``swapped``: the run with the person is recorded."""

    name: str
    others: list[Record]
    mine: list[Record]
    as_text: bool = False
    swapped: bool = False

    def lacks(self, columns: Sequence[str]) -> bool:
        """Whether the person has no declared value in some of these columns."""
        return any(r[name] in (None, UNDECLARED) for r in self.mine for name in columns)


def situations(
    schema: Schema, base: list[Record], new: list[Record], rows_per_unit: int
) -> list[Situation]:
    """All situations; ``base`` are the usual others, ``new`` are records for the person."""
    found = [*_beside_all(schema, base, new[0]), *_beside_few(schema, base, new[0])]
    if rows_per_unit > 1:
        found += _persons(base, new, rows_per_unit)
    return [situation for situation in found if situation.others]


def _beside_all(schema: Schema, base: list[Record], new: Record) -> Iterator[Situation]:
    """Records that are special by themselves."""

    def situation(name: str, changes: Record, as_text: bool = False) -> Situation:
        return Situation(name, base, [new | changes], as_text)

    label, numbers = schema.label.name, [c.name for c in schema.numeric]
    for group in end_groups(schema):
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


def _beside_few(schema: Schema, base: list[Record], new: Record) -> Iterator[Situation]:
    """Records that are special because of the others."""
    columns = {c.name: c.values for c in _lists(schema) if len(c.values) > 1}
    for end, next_to_it in ((0, 1), (-1, -2)):
        special = {name: values[end] for name, values in columns.items()}
        instead = {name: values[next_to_it] for name, values in columns.items()}
        others = [
            r | {name: instead[name] for name in special if r[name] == special[name]} for r in base
        ]
        for name, value in special.items():
            yield Situation(f"the only record with {name} = {value}", others, [new | {name: value}])
        yield Situation("a record like no other", others, [new | special], swapped=True)
    for group in end_groups(schema)[:1]:
        for size in SMALL_GROUPS:
            own = [record | group for record in base[: size - 1]]
            others = own + [r for r in base[size - 1 :] if not group.items() <= r.items()]
            name = f"number {size} of group {', '.join(group.values())}"
            yield Situation(name, others, [new | group])
    for number in schema.numeric:
        if number.spiky:
            one, two = _collision(schema, number)
            others = [*base[:-1], new | {number.name: one}]
            name = f"{number.name} in the bucket of another value"
            yield Situation(name, others, [new | {number.name: two}])
    low = base[0] | {number.name: number.bounds[0] for number in schema.numeric}
    high = base[0] | {number.name: number.bounds[1] for number in schema.numeric}
    others = [low] * len(base)
    yield Situation("one of many duplicates", others, [low])
    yield Situation("an outlier among duplicates", others, [high])
    yield Situation("the second record of a table", base[:1], [new])
    yield Situation("the third record of a table", base[:2], [new], swapped=True)


def _persons(base: list[Record], rows: list[Record], most: int) -> list[Situation]:
    """Persons with few or many records, when several records of a person count."""
    return [
        Situation("a person with one record", base, rows[:1]),
        Situation("a person with as many records as count", base, rows[:most]),
        Situation("a person with more records than count", base, rows[: most + 2]),
        Situation("records of nobody", base, [row | {PERSON: None} for row in rows[:most]]),
    ]


def end_groups(schema: Schema) -> list[dict[str, str]]:
    """The first and the last group, by their columns."""
    parts = group_columns(schema)
    return [{part.name: part.values[i] for part in parts} for i in (0, -1)] if parts else []


def _lists(schema: Schema) -> list[Categorical | Levels]:
    """The columns with declared values: groups, categories and the label."""
    found: list[Categorical | Levels] = [*group_columns(schema), *schema.categorical, schema.label]
    return [c for i, c in enumerate(found) if c.name not in [other.name for other in found[:i]]]


@lru_cache(maxsize=64)
def _collision(schema: Schema, number: Numeric) -> tuple[float, float]:
    """Two values that share a bucket of the hash, so that the binned design equates them."""
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
