"""Rules, planned rules and rates that do not follow from what was released."""

from __future__ import annotations

from typing import Any

from sample_models import put
from trust.hostile.corpus import Attacks

__all__ = ["ATTACKS"]

ATTACKS = Attacks()

HALVES = {"accept": [[0, 1]] * 2, "cuts": [[0.5]] * 2}
MILLION = {"cuts": [[0.5] * 500_000] * 2, "accept": [[0.5] * 500_001] * 2}

# Every method with a rule, and some whose rule was found in another way

for _of in ("placed", "corrected", "bands", "boosted", "search", "flips", "rates", "algorithm 1"):
    ATTACKS.put(f"{_of}: rule that favours a group", "rule", "accept", 0, 0, value=0.9, of=_of)
    ATTACKS.put(f"{_of}: rule above certainty", "rule", "accept", 0, -1, value=1.5, of=_of)
    ATTACKS.put(f"{_of}: another cut", "rule", "cuts", 0, 0, value=0.001, of=_of)
    ATTACKS.put(f"{_of}: rule of words", "rule", "accept", 0, 0, value="0.5", of=_of)
    ATTACKS.put(f"{_of}: rule of one group", "rule", "cuts", value=[[0.5]], of=_of)
    ATTACKS.put(f"{_of}: no rule", "rule", value=None, of=_of)
    ATTACKS.put(
        f"{_of}: rule of halves",
        "rule",
        value={"accept": [[0.5, 0.5]] * 2, "cuts": [[0.5]] * 2},
        of=_of,
    )
    ATTACKS.put(f"{_of}: rule of a million cuts", "rule", value=MILLION, of=_of)
for _of in ("logistic", "boosting", "penalty"):
    ATTACKS.put(f"{_of}: a rule", "rule", value=HALVES, of=_of)
    ATTACKS.edit(
        f"{_of}: a rule and a key",
        put("rule", value=HALVES),
        put("coin_key", value="00" * 32),
        of=_of,
    )
    ATTACKS.put(f"{_of}: rates", "rates", value=[0.5, 0.5], of=_of)
    ATTACKS.put(f"{_of}: a planned rule", "planned", value=HALVES, of=_of)

# Rates that thresholds were placed at

for _name, _rates in {
    "of other groups": [0.01, 0.99],
    "beyond one": [0.5, 1.5],
    "below zero": [-0.5, 0.5],
    "without end": [0.5, 1e999],
    "of one group": [0.3],
    "of words": ["0.3", "0.3"],
    "of nobody": [None, None],
    "of a million groups": [0.5] * 10**6,
    "that were not planned": None,
}.items():
    ATTACKS.put(f"rates {_name}", "rates", value=_rates)
for _of in ("bands", "corrected", "reuse", "flips", "rates"):
    ATTACKS.put(f"{_of}: rates where none are placed", "rates", value=[0.3, 0.3], of=_of)


# Rules that were planned and corrected, or checked


def _decisions(of: str, table: str, name: str, entry: str, value: Any) -> None:
    ATTACKS.put(f"{of}: {name} {table}", "releases", table, entry, value=value, of=of)


ATTACKS.put("a planned rule where none was made", "planned", value=HALVES)
ATTACKS.put(
    "a planned rule that favours a group", "planned", "cuts", 0, 0, value=0.001, of="corrected"
)
ATTACKS.put("a planned rule above certainty", "planned", "accept", 0, -1, value=1.5, of="corrected")
ATTACKS.put("a planned rule of a million cuts", "planned", value=MILLION, of="corrected")
ATTACKS.put("no planned rule", "planned", value=None, of="corrected")
ATTACKS.edit("no decisions", lambda header: header["releases"].pop("decisions"), of="corrected")
ATTACKS.edit(
    "neither plan nor decisions",
    put("planned", value=None),
    lambda header: header["releases"].pop("decisions"),
    of="corrected",
)
for _of, _table in (("corrected", "decisions"), ("check", "check"), ("search", "decisions")):
    _decisions(_of, _table, "scores in", "edges", [[0.4], [0.4]])
    _decisions(_of, _table, "unlabelled", "counts", [[[900, 900]]] * 2)
    _decisions(_of, _table, "huge", "counts", [[[10**9, 0], [0, 10**9]]] * 2)
    _decisions(_of, _table, "no undeclared in", "undeclared", {})
_decisions("corrected", "decisions", "kinder", "counts", [[[900, 0], [0, 900]]] * 2)
ATTACKS.edit(
    "check of another notion",
    put("settings", "rule", "notion", value="equalized_odds"),
    of="check",
)
ATTACKS.edit(
    "decisions of another notion",
    put("settings", "rule", "notion", value="equalized_odds"),
    of="corrected",
)
