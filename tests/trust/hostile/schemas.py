"""Schemas that are wrong, or too large to be spelled out."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from sample_models import put
from trust.hostile.corpus import Attacks

__all__ = ["ATTACKS"]

ATTACKS = Attacks()


def _numbers(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"c{i}", "kind": "numeric", "bounds": [0, 1], **more} for i in range(count)]


def _words(name: str, values: list[str]) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "values": values}


def _crossed(columns: int, crosses: int, several: int = 2) -> dict[str, Any]:
    pairs = combinations([f"c{i}" for i in range(min(columns, 430))], several)
    return {
        "columns": _numbers(columns),
        "crosses": [list(pair) for pair, _ in zip(pairs, range(crosses), strict=False)],
    }


_LARGE: dict[str, dict[str, Any]] = {
    "forty thousand columns": {"columns": _numbers(40_000)},
    "ten thousand spiky columns": {"columns": _numbers(10_000, spiky=True)},
    "a column of too many words": {"columns": [_words("a", [str(i) for i in range(10**5)])]},
    "forty columns of words": {
        "columns": [_words(f"c{i}", [str(j) for j in range(9000)]) for i in range(40)]
    },
    "columns of endless names": {
        "columns": [_words("c" * 60_000 + str(i), [str(j) for j in range(5000)]) for i in range(30)]
    },
    "two hundred thousand edges": {
        "columns": _numbers(1, edges=[i / 200_000 for i in range(1, 200_000)])
    },
    "forty columns of edges": {"columns": _numbers(40, edges=[i / 4000 for i in range(1, 4000)])},
    "groups without end": {
        "columns": [_words(n, [f"{n}{i}" for i in range(9000)]) for n in "abc"],
        "sensitive": {"columns": ["a", "b", "c"]},
    },
    "groups of endless names": {
        "columns": [_words(n, [n * 19_000 + str(i) for i in range(100)]) for n in "ab"],
        "sensitive": {"columns": ["a", "b"]},
    },
    "ten thousand groups": {
        "sensitive": {"name": "sex", "values": [str(i) for i in range(10_000)]}
    },
    "a hundred and one groups": {
        "sensitive": {"name": "sex", "values": [str(i) for i in range(101)]}
    },
    "ten thousand equal crosses": {"crosses": [["age", "income"]] * 10_000},
    "ninety thousand crosses": _crossed(430, 90_000),
    "three thousand crosses of many": _crossed(5000, 3000, several=4),
}
for _of in ("placed", "flips", "penalty", "logistic", "boosting", "rates"):
    for _name, _facts in _LARGE.items():
        ATTACKS.edit(
            f"{_of}: {_name}", lambda header, facts=_facts: header["schema"].update(facts), of=_of
        )

ATTACKS.put("bounds of nothing", "schema", "columns", 0, "bounds", value=[1e999, -1e999])
ATTACKS.put("label of three values", "schema", "label", "values", value=["no", "yes", "maybe"])
ATTACKS.put("an unknown fact", "schema", "secret", value=True)
for _rows in (-5, 0, 0.5, True, "all", 10**30):
    ATTACKS.put(f"{_rows!r} rows", "schema", "rows", value=_rows)
    ATTACKS.put(f"dp-sgd of {_rows!r} rows", "schema", "rows", value=_rows, of="dp-sgd")
ATTACKS.put("rows that lead to another plan", "schema", "rows", value=3000)
ATTACKS.put("groups of another column", "settings", "sensitive", value="job")
ATTACKS.edit("no groups", lambda header: header["schema"].pop("sensitive"))
ATTACKS.put(
    "groups in another order", "schema", "sensitive", "values", value=["m", "f"], of="rates"
)

# A post-processor has a schema of its own: the groups, and what the classifier decides.

for _name, _change in {
    "more groups": put("schema", "sensitive", "values", value=["f", "m", "x"]),
    "no groups": lambda header: header["schema"].pop("sensitive"),
    "another column": put("schema", "sensitive", "name", value="job"),
    "columns": put("schema", "columns", value=_numbers(3)),
    "rows": put("schema", "rows", value=3000),
    "a schema that was read off the data": put("schema", "reviewed", value=False),
    "other labels": put("schema", "label", "values", value=["1", "0"]),
}.items():
    ATTACKS.edit(f"rates: {_name}", _change, of="rates")
    ATTACKS.edit(f"algorithm 1: {_name}", _change, of="algorithm 1")
