"""Files of one method that claim to be of another, and settings that no fit can have had."""

from __future__ import annotations

from inspect import signature
from typing import Any

from sample_models import OF_METHOD, header_of, put, rewritten
from trust.hostile.corpus import Attacks, Build

from dpfair.methods import METHODS

__all__ = ["ATTACKS"]

ATTACKS = Attacks()

ELSEWHERE = {"schema", "ledger", "random_state", "strict", "verbose"} | {
    *("epsilon", "delta", "relation", "composition", "rows_per_unit"),
}
"""Parameters that are no settings of a file."""


def _borrowed(of: str, other: str, entry: str) -> Build:
    """An honest file with one entry of another."""
    return lambda honest: rewritten(honest[of], put(entry, value=header_of(honest[other])[entry]))


for _method, _of in OF_METHOD.items():
    for _other, _kind in OF_METHOD.items():
        if _other != _method:
            ATTACKS.put(f"{_of}: as {_other}", "method", value=_other, of=_of)
            for _entry in ("plan", "settings"):
                ATTACKS[f"{_of}: {_entry} of {_kind}"] = _borrowed(_of, _kind, _entry)
    ATTACKS.put(f"{_of}: unknown setting", "settings", "command", value="os.system", of=_of)
    for _name in sorted(set(signature(METHODS[_method]).parameters) - ELSEWHERE):
        ATTACKS.edit(
            f"{_of}: no setting {_name}",
            lambda header, name=_name: header["settings"].pop(name),
            of=_of,
        )
        ATTACKS.put(
            f"{_of}: setting {_name} is an object", "settings", _name, value={"a": 1}, of=_of
        )
for _other in ("corrected", "check", "search"):
    ATTACKS[f"placed: plan of {_other}"] = _borrowed("placed", _other, "plan")
for _method in ("os.system", "PrivateFairClassifier", "Fair", "", "fair\0", None, 7, ["fair"]):
    ATTACKS.put(f"method {_method!r}", "method", value=_method)


# One setting that is impossible, or leads to another plan or rule


def _settings(of: str, *path: str, **values: list[Any]) -> None:
    for name, several in values.items():
        for value in several:
            ATTACKS.put(f"{of}: {name} {value!r}", "settings", *path, name, value=value, of=of)


_settings(
    "placed",
    mode=["eval", "reuse", None],
    confidence=[0, 1, 0.9999999, -1, 1e999, "0.95", True],
    unit=[["age"], True, 0.5],
    sensitive=["job", ["sex", "job"], True, {}],
)
_settings(
    "placed",
    "rule",
    notion=["fair", "equalized_odds", "parity_ratio", None],
    tolerance=[1e999, -0.1, "0", None],
    target=["midpoint", 7, -1],
    capacity=[-1, 2, "all"],
    costs=[[1e999, 1], [-1, 1], [0, 0], [1], [1, 1, 1], "11"],
    smallest_group=[1e999, -1, None],
    small_groups=["drop", None],
    coins=["loaded", None],
)
_settings(
    "placed",
    "division",
    release_epsilon=[0.1, 0, -1, 50, 1e999, "1"],
    release_share=[0.9, 0, 1, -1],
    check_share=[0.3, 1, -1, None],
    values_epsilon=[0.1, 0, 1e-5, 5],
)
_settings("check", "division", check_share=[0.0, 0.5], release_share=[0.5])
_settings("values", "division", values_epsilon=[None, 0.1])
_settings(
    "placed",
    "learner",
    name=["os.system", "boosting", "LogisticLearner", None],
    settings=[None, {}, {"steps": 20}, []],
)
_settings(
    "placed",
    "learner",
    "settings",
    solver=["os.system", "sgd"],
    features=["__import__", "standardised"],
    arithmetic=["float64", "half"],
    steps=[0, -1, 21, 10**9, 10**18, 0.5, True, None],
    epochs=[0, -1],
    batch_size=[0, -1],
    learning_rate=[0, -1, 1e999],
    clip=[0, -1, 1e300],
    noise_multiplier=[0, -1, 1e-300, 1e300, 1.0],
)
_settings("logistic", steps=[None, 10**9], solver=["sgd"], noise_multiplier=[1.0])
_settings("dp-sgd", epochs=[3, 10**18], batch_size=[1, 10**18], steps=[7], solver=["full_batch"])
_settings(
    "boosting",
    trees=[0, 4, 2001, 10**18],
    depth=[0, 3, 11, 10**9],
    tree_share=[0, 0.5, 1],
    steps=[0, 21],
    arithmetic=["float64"],
)
_settings(
    "blocks",
    "learner",
    "settings",
    steps=[0, 21, 10**18, None, 0.5],
    draws=[0, -1, 9, 31, 10**18, None, 0.5],
    evidence=[0, -1, 1e999, "3", [3]],
    clip=[0, 1e300],
    learning_rate=[0, -1],
)
_settings(
    "flips",
    target=["midway", 2, -1, "upper", 0.5],
    composition=["basic"],
    release_epsilon=[0.1, 5, 0, -1],
    release_share=[0.5, 0, 1],
    public_sizes=[True, 1],
)
_settings("public sizes", public_sizes=[False], release_epsilon=[1.0])
_settings(
    "penalty",
    variant=["paper", "reference", "private"],
    notion=["equalized_odds", "fair"],
    only_group=["x", 0],
    epochs=[3, 0, 10**18],
    batch_size=[100, 0, -1],
    weight=[-1, 1e999],
    clip=[0, 1e300],
    radius=[0, 1e300],
)
_settings("stated penalty", variant=["tight"], radius=[6.0], notion=["equalized_odds"])
_settings("published penalty", variant=["tight", "paper"], only_group=["x"])
_settings(
    "rates",
    public_sizes=[True],
    groups=[["m", "f"], ["f"], [], [1, 2], "fm"],
    classifier=[{"trained_here": True}, {"trained_here": 0}, {}, None, "__import__"],
    sensitive=["job", ["sex", "job"], None],
    release_share=[0, 1],
)
_settings("rates, trained in fit", held_out=[True], release_share=[0.5])
_settings("rates, trained in fit", "classifier", trained_here=[False])
_settings("rates of public sizes", public_sizes=[False])
