"""The text of a header, its entries, and those of them that nothing else depends on."""

from __future__ import annotations

from collections.abc import Callable

from trust.hostile.corpus import Attacks

__all__ = ["ATTACKS"]

ATTACKS = Attacks()


def _swap(old: str, new: str) -> Callable[[str], str]:
    def text(header: str) -> str:
        assert old in header, old
        return header.replace(old, new, 1)

    return text


CONFIDENCE = '"confidence": 0.95'

ATTACKS.say("header is a number", lambda text: "7")
ATTACKS.say("header is null", lambda text: "null")
ATTACKS.say("header of brackets", lambda text: "[" * 100_000)
ATTACKS.say("header nested in lists", lambda text: "[" * 900 + text + "]" * 900)
for _name, _item in {"empty lists": "[]", "empty objects": "{}", "numbers": "0.1"}.items():
    ATTACKS.say(
        f"two million {_name}",
        lambda text, item=_item: f'{text[:-1]}, "x": [{item}' + f",{item}" * 1_900_000 + "]}",
    )
ATTACKS.say("duplicate names", lambda text: text[:-1] + ', "version": 7}')
ATTACKS.say("duplicate names inside", _swap('"counts":', '"counts": 0, "counts":'))
for _number in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5000):
    ATTACKS.say(f"confidence {_number[:9]}", _swap(CONFIDENCE, f'"confidence": {_number}'))
ATTACKS.say("half of a surrogate", _swap('"f"', '"\\ud800"'))
ATTACKS.say("trailing text", lambda text: text + "{}")
ATTACKS.say("comment", lambda text: "//" + text)
for _version in (2, 3, 4, 5, 6, 8, 999, -1, None, "7", True, [7], 10**30):
    ATTACKS.put(f"version {repr(_version)[:9]}", "version", value=_version)

# One entry missing or of another kind; each is taken from a file in which it says something.

for _key, _of in {
    "dpfair": "placed",
    "method": "placed",
    "settings": "placed",
    "schema": "placed",
    "classes": "placed",
    "plan": "placed",
    "search": "search",
    "seeded": "placed",
    "row": "placed",
    "facts": "penalty",
    "notion": "placed",
    "scorer": "placed",
    "releases": "placed",
    "planned": "corrected",
    "rates": "placed",
    "rule": "placed",
    "coin_key": "placed",
}.items():
    ATTACKS.edit(f"no {_key}", lambda header, key=_key: header.pop(key), of=_of)
    for _kind, _value in {"a list": [], "text": "__import__('os')", "an object": {}}.items():
        ATTACKS.put(f"{_key} is {_kind}", _key, value=_value, of=_of)
for _form in ("boosted", "linear"):
    ATTACKS.put(f"scorer of the kind {_form}", "scorer", "kind", value=_form, of="blocks")
ATTACKS.put("scorer with other features", "scorer", "features", value="paper")
ATTACKS.put("scorer that does not see the group", "scorer", "blind", value=True)
ATTACKS.put("a spare entry", "approved", value="by us")
ATTACKS.put("a forged certificate", "certificate", value={"fairness": {"gap_bound": 0.001}})
ATTACKS.put("a forged account", "ledger", value={"spent": 0.001})

# Entries of their own

ATTACKS.put("classes the other way round", "classes", "values", value=["yes", "no"])
ATTACKS.put("classes that are the same", "classes", "values", value=["yes", "yes"])
ATTACKS.put("classes of other words", "classes", "values", value=["0", "1"])
ATTACKS.put("three classes", "classes", "values", value=["no", "yes", "maybe"])
ATTACKS.put("classes of code", "classes", "kind", value="__reduce__")
for _kind, _values in {
    "integer": [0, 1],
    "number": [0.0, 1.0],
    "boolean": [False, True],
}.items():
    ATTACKS.put(f"{_kind} classes", "classes", value={"kind": _kind, "values": _values})
    ATTACKS.put(f"{_kind}, twice", "classes", value={"kind": _kind, "values": _values[:1] * 2})
ATTACKS.put("classes of a classifier", "classes", "values", value=[1, 0], of="rates")
for _coin in ("", "00", "zz" * 32, "0" * 63, "A" * 64, "0" * 10**6, None, 7, ["00"] * 32):
    ATTACKS.put(f"coin key {repr(_coin)[:14]} of {len(str(_coin))}", "coin_key", value=_coin)
for _of in ("logistic", "penalty"):
    ATTACKS.put(f"{_of}: coins where none are tossed", "coin_key", value="00" * 32, of=_of)
for _row in ("", "0" * 63, "G" * 64, "0" * 64 + "\n", 7, True):
    ATTACKS.put(f"row {repr(_row)[:9]} of {len(str(_row))}", "row", value=_row)
for _seeded in (0, 1, "false", None):
    ATTACKS.put(f"seeded {_seeded!r}", "seeded", value=_seeded)
for _dpfair in ("", "x" * 10**6, "\x1b[2J", 7):
    ATTACKS.put(f"written by {repr(_dpfair)[:9]}", "dpfair", value=_dpfair)
for _notion in ("", "fair", "equalized_odds", 7):
    ATTACKS.put(f"planned for {_notion!r}", "notion", value=_notion)
for _of in ("flips", "rates", "penalty", "boosting"):
    ATTACKS.put(f"{_of}: a notion", "notion", value="demographic_parity", of=_of)
