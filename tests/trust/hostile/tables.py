"""Released tables and assumed facts that are wrong, or too large to be worked with."""

from __future__ import annotations

from typing import Any

from trust.hostile.corpus import Attacks, Change
from trust.hostile.dear import sized

__all__ = ["ATTACKS"]

ATTACKS = Attacks()

COUNTS = ("releases", "count", "counts")
EDGES = ("releases", "count", "edges")


def _every_count(value: int) -> Change:
    def change(header: dict[str, Any]) -> None:
        table = header["releases"]["count"]
        table["counts"] = [[[value] * len(row) for row in rows] for rows in table["counts"]]

    return change


for _of in ("placed", "flips", "rates", "exact rates"):
    for _count in (2**63 - 1, -(2**63), 10**12, -(10**12), 10**40, 0.5, "1", None, True, [1]):
        ATTACKS.put(
            f"{_of}: a count of {repr(_count)[:21]}", *COUNTS, 0, 0, 0, value=_count, of=_of
        )
    for _length in (10**5, 3 * 10**6):
        ATTACKS.put(f"{_of}: {_length} digits", *COUNTS, 0, 0, 0, value="1" * _length, of=_of)
    ATTACKS.edit(f"{_of}: ten billion records in every cell", _every_count(10**10), of=_of)
    ATTACKS.edit(f"{_of}: nobody at all", _every_count(0), of=_of)
    ATTACKS.put(f"{_of}: no counts", *COUNTS, value=[], of=_of)
    ATTACKS.put(f"{_of}: a million counts", *COUNTS, value=[[[0] * 10**6]], of=_of)
    ATTACKS.put(f"{_of}: no edges", *EDGES, value=[[], []], of=_of)
    ATTACKS.put(f"{_of}: other edges", *EDGES, value=[[0.4], [0.4]], of=_of)
    for _name in ("count", "spare"):
        ATTACKS.put(f"{_of}: {_name} is a list", "releases", _name, value=[], of=_of)
    ATTACKS.edit(f"{_of}: no table", lambda header: header["releases"].clear(), of=_of)
ATTACKS.edit("a hundred million records in every cell", _every_count(10**8))
ATTACKS.edit("as many missing", _every_count(-(10**8)))
ATTACKS.edit("bands over ten billion records a cell", _every_count(10**10), of="bands")
ATTACKS.put("fewer than none, exactly", *COUNTS, 0, 0, 0, value=-1, of="exact rates")
ATTACKS.put("edges that fall", *EDGES, 0, 1, value=1e-9)
ATTACKS.put("edges beyond one", *EDGES, 1, -1, value=7.0)
ATTACKS.put("edges below zero", *EDGES, 1, 0, value=-1.0)
ATTACKS.put("edges twice the same", *EDGES, value=[[0.5, 0.5]] * 2)
ATTACKS.put("edges of one group", *EDGES, value=[[0.5]])
ATTACKS.put("an edge of many digits", *EDGES, 0, 0, value="0." + "1" * 10**6)
ATTACKS.put("edges that were not planned", *EDGES, 0, 0, value=1e-3, of="corrected")
for _of in ("flips", "rates"):
    ATTACKS.put(f"{_of}: counts by label", *COUNTS, value=[[[9, 9], [9, 9]]] * 2, of=_of)
ATTACKS.put("counts without labels", *COUNTS, value=[[[9] * 305]] * 2)
for _table in ("decisions", "check", "values"):
    for _of in ("placed", "logistic", "flips"):
        ATTACKS.edit(
            f"{_of}: {_table} that nobody paid",
            lambda header, table=_table: header["releases"].update(
                {table: {"edges": [[0.5]] * 2, "counts": [[[9, 9]] * 2] * 2, "undeclared": {}}}
            ),
            of=_of,
        )
ATTACKS.edit("no table of values", lambda header: header["releases"].pop("values"), of="values")
ATTACKS.put(
    "values of two groups", "releases", "values", "counts", value=[[[9, 9]]] * 2, of="values"
)
ATTACKS.put("values by label", "releases", "values", "counts", value=[[[9, 9]] * 2], of="values")
ATTACKS.put("values of scores", "releases", "values", "edges", value=[[0.4]], of="values")
for _of in ("placed", "flips", "rates"):
    for _undeclared in ({}, {"group": 0}, {"label": 0}, {"x": 0}, {"group": 10**12, "label": 0}):
        if _of != "rates" or _undeclared != {"group": 0}:
            ATTACKS.put(
                f"{_of}: undeclared {_undeclared}",
                *("releases", "count", "undeclared"),
                value=_undeclared,
                of=_of,
            )
ATTACKS.put(
    "undeclared where sizes are public",
    *COUNTS[:2],
    "undeclared",
    value={"group": 1},
    of="public sizes",
)


# Facts that are taken as public

for _of in ("public sizes", "penalty", "penalty, size assumed", "stated penalty"):
    for _counts in ([-1, -1], [10**18, 10**18], [5], [], [0.5, 0.5], ["5", "5"], None):
        ATTACKS.put(f"{_of}: assumed {_counts}", "facts", 0, "counts", value=_counts, of=_of)
    ATTACKS.put(f"{_of}: assumed by age", "facts", 0, "by", value=["age"], of=_of)
    ATTACKS.put(f"{_of}: assumed by nothing", "facts", 0, "by", value=[], of=_of)
    ATTACKS.put(f"{_of}: assumed elsewhere", "facts", 0, "scope", value="elsewhere", of=_of)
    ATTACKS.put(f"{_of}: nothing assumed", "facts", value=[], of=_of)
    ATTACKS.edit(f"{_of}: twice", lambda header: header["facts"].append(header["facts"][0]), of=_of)
for _of in ("placed", "flips", "rates", "logistic"):
    _fact = {"by": ["group"], "scope": "release", "counts": [5, 5]}
    ATTACKS.put(f"{_of}: sizes where all is noisy", "facts", value=[_fact], of=_of)
for _of in ("public sizes", "rates of public sizes"):
    ATTACKS.put(f"{_of}: sizes of others", "facts", 0, "counts", value=[700, 300], of=_of)
    ATTACKS.put(f"{_of}: counts of others", *COUNTS, 0, 0, 0, value=123, of=_of)
ATTACKS.put(
    "sizes that lead to other noise", "facts", 0, "counts", value=[1, 2999], of="stated penalty"
)
ATTACKS.put("sizes in contradiction", "facts", 1, "counts", value=[7], of="penalty, size assumed")


# Files in which everything follows, beyond what can be read in a short time

_RELEASE = "division__release_epsilon"
for _size, _settings in (
    (("placed", 2, 9, 900), {}),
    (("placed", 20, 9, 401), {_RELEASE: 1}),
    (("placed", 2, 10**7, 200), {}),
    (("placed", 20, 10**5, 300), {}),
    (("bands", 2, 10**6, 999), {}),
    (("bands", 20, 2 * 10**4, 999), {}),
    (("bands", 2, 10**7, 64), {}),
    (("other rule", 100, 10**5), {}),
    (("other rule", 2, 10**10), {}),
    (("other rule", 100, 9), {_RELEASE: 0.02}),
    (("other rule", 100, 20_000), {_RELEASE: 0.03}),
    (("other rule", 2, 9), {_RELEASE: 4e-4}),
    (("flips", 100, 4 * 10**6), {}),
    (("flips", 2, 10**9), {}),
    (("flips", 100, 2 * 10**5), {"release_epsilon": 0.006}),
    (("public sizes", 100, 4 * 10**6), {}),
    (("rates", 100, 4 * 10**6), {}),
    (("rates", 100, 4 * 10**5), {"epsilon": 0.006}),
    (("rates", 2, 9), {"epsilon": 1.01e-4}),
    (("exact rates", 100, 4 * 10**6), {}),
    (("algorithm 1", 2, 10**9), {}),
):
    ATTACKS[f"too large: {_size} {[*_settings.values()]}"] = sized(*_size, **_settings)
