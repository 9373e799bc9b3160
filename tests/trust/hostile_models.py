"""Model files made to do harm: to run code, to exhaust the reader, or to claim what is not so.

Every attack starts from an honest file of some kind and changes what an attacker would. Run as a
program, this module reads one file after the other in a process of its own and says what became of
each: the error, the time, the memory.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import gzip
import io
import json
import os
import pickle
import struct
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ATTACKS", "CANARY", "DEAR", "PLACES", "honest_models", "measure", "rewritten"]

CANARY = "code-ran.txt"
"""The file, in the working directory, that a payload would create."""

Honest = dict[str, bytes]
ATTACKS: dict[str, Callable[[Honest], bytes]] = {}
DEAR: dict[str, Callable[[Honest], bytes]] = {}
"""Files that cost as much to refuse as the dearest honest ones cost to read."""
PLACES: dict[str, Callable[[Path], Path]] = {}


def honest_models() -> Honest:
    """Honest files: one of every kind that is read in its own way."""
    import polars as pl
    from sample_tables import LOANS, make_loans

    from dpfair import (
        PrivateBoosting,
        PrivateFairClassifier,
        PrivateLogisticRegression,
        PrivateSearchCV,
        Schema,
    )
    from dpfair.models.file import model_bytes

    X, y = make_loans()
    schema, quick = Schema.from_dict(LOANS), PrivateLogisticRegression(steps=20)
    large = Schema.from_dict(LOANS | {"rows": 150_000})  # thresholds are placed in large tables

    def fitted(epsilon: float = 2, **settings: Any) -> PrivateFairClassifier:
        settings = {"schema": schema, "learner": quick, "random_state": 1} | settings
        return PrivateFairClassifier(epsilon, **settings).fit(X, y)

    grouped = copy.deepcopy(LOANS) | {"rows": 150_000}
    names = [f"g{i}" for i in range(20)]
    grouped["sensitive"]["values"] = names
    groups = pl.Series("sex", names * (len(y) // 20))
    many = PrivateFairClassifier(
        1, schema=Schema.from_dict(grouped), learner=quick, smallest_group=0, random_state=1
    )
    search = PrivateSearchCV(
        PrivateFairClassifier(schema=schema, learner=quick, notion="equalized_odds"),
        {"tolerance": [0.0, 0.1]},
        epsilon=2,
        mean_runs=2,
        random_state=1,
    )
    trees = PrivateBoosting(trees=3, depth=2, steps=20)
    models = {
        "placed": fitted(schema=large),
        "corrected": fitted(),
        "bands": fitted(schema=large).with_rule(notion="equalized_odds"),
        "flips": fitted(rule="algorithm2", public_sizes=True, composition="basic"),
        "check": fitted(mode="reuse", check_share=0.3),
        "boosted": fitted(learner=trees, notion="equalized_odds"),
        "groups": many.fit(X.with_columns(groups), y),
        "search": search.fit(X, y).best_estimator_,
    }
    return {name: model_bytes(model) for name, model in models.items()}


def header_of(content: bytes) -> dict[str, Any]:
    """What dpfair wrote into a file."""
    [length] = struct.unpack("<Q", content[:8])
    outer = json.loads(content[8 : 8 + length])
    header: dict[str, Any] = json.loads(outer["__metadata__"]["dpfair-model"])
    return header


def file_of(outer: dict[str, Any] | str | bytes, body: bytes = b"", length: int | None = None):
    """A safetensors file by hand, so that it may be a wrong one."""
    text = json.dumps(outer).encode() if isinstance(outer, dict) else outer
    text = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def rewritten(
    content: bytes,
    change: Callable[[dict[str, Any]], object] | None = None,
    *,
    text: Callable[[str], str] | None = None,
    weights: Any = None,
) -> bytes:
    """The same file with another header, other text of the header, or other weights."""
    from safetensors.numpy import load, save

    header, tensors = header_of(content), load(content)
    if change is not None:
        change(header)
    if weights is not None:
        tensors["weights"] = weights
    # Infinity has a name, which a careful reader refuses; but such a number has none.
    written = json.dumps(header).replace("Infinity", "1e999")
    return save(tensors, metadata={"dpfair-model": written if text is None else text(written)})


def attack(name: str) -> Callable[[Callable[[Honest], bytes]], Callable[[Honest], bytes]]:
    def add(build: Callable[[Honest], bytes]) -> Callable[[Honest], bytes]:
        assert name not in ATTACKS
        ATTACKS[name] = build
        return build

    return add


def forged(name: str, *path: Any, value: Any, of: str = "placed") -> None:
    """One entry of an honest header replaced."""

    def change(header: dict[str, Any]) -> None:
        place: Any = header
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    attack(name)(lambda honest: rewritten(honest[of], change))


def edited(name: str, change: Callable[[dict[str, Any]], object], of: str = "placed") -> None:
    """An honest header after a change."""
    attack(name)(lambda honest: rewritten(honest[of], change))


def place(build: Callable[[Path], Path]) -> Callable[[Path], Path]:
    PLACES[build.__name__.replace("_", " ")] = build
    return build


# Files that run code, or unpack without end


class _Payload:
    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, (f"open({CANARY!r}, 'w').close()",))


for _protocol in (0, 2, 5):
    attack(f"pickle, protocol {_protocol}")(
        lambda honest, protocol=_protocol: pickle.dumps(_Payload(), protocol)
    )


@attack("pickle in an array file")
def _(honest):
    buffer = io.BytesIO()
    np.save(buffer, np.array([_Payload()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


@attack("pickle in an archive of arrays")
def _(honest):
    buffer = io.BytesIO()
    np.savez(buffer, weights=np.array([_Payload()], dtype=object))
    return buffer.getvalue()


@attack("pickle behind an honest file")
def _(honest):
    return honest["placed"] + pickle.dumps(_Payload())


@attack("zip bomb")
def _(honest):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for i in range(8):
            archive.writestr(f"{i}.npy", bytes(1 << 22))
    return buffer.getvalue()


@attack("gzip bomb")
def _(honest):
    return gzip.compress(bytes(1 << 25), compresslevel=1)


@attack("honest file in gzip")
def _(honest):
    return gzip.compress(honest["placed"])


# Broken containers

attack("empty file")(lambda honest: b"")
attack("seven bytes")(lambda honest: honest["placed"][:7])
attack("text in utf-16")(lambda honest: "the model is fair".encode("utf-16"))
attack("web page")(lambda honest: b"<!doctype html><script>fetch('/')</script>" * 40)
attack("header alone, as json")(lambda honest: json.dumps(header_of(honest["placed"])).encode())
for _share in range(1, 25):
    attack(f"cut after {_share}/25")(
        lambda honest, share=_share: honest["placed"][: share * len(honest["placed"]) // 25]
    )
attack("one byte short")(lambda honest: honest["placed"][:-1])
attack("one byte more")(lambda honest: honest["placed"] + b"\0")
for _bits in (20, 31, 32, 60, 63):
    attack(f"header of 2^{_bits} bytes")(
        lambda honest, bits=_bits: struct.pack("<Q", 1 << bits) + honest["placed"][8:]
    )
attack("header of no bytes")(lambda honest: struct.pack("<Q", 0) + honest["placed"][8:])
attack("header as long as the file")(
    lambda honest: struct.pack("<Q", len(honest["placed"])) + honest["placed"][8:]
)
attack("outer header nested deeply")(lambda honest: file_of('{"a":' * 60_000 + "1" + "}" * 60_000))
attack("outer header is no utf-8")(lambda honest: file_of(b"\xff\xfe{}"))
attack("outer header is a list")(lambda honest: file_of("[]"))


def _tensor(name: str, dtype: str, shape: list[int], offsets: list[int], body: bytes = b""):
    def build(honest: Honest) -> bytes:
        text = json.dumps(header_of(honest["placed"]))
        entry = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        return file_of({"__metadata__": {"dpfair-model": text}, name: entry}, body)

    return build


_EIGHT = bytes(8)
for _name, _built in {
    "path traversal in a name": _tensor("../../weights", "F64", [1], [0, 8], _EIGHT),
    "absolute path in a name": _tensor("/etc/passwd", "F64", [1], [0, 8], _EIGHT),
    "zero byte in a name": _tensor("weights\0", "F64", [1], [0, 8], _EIGHT),
    "offsets beyond the file": _tensor("weights", "F64", [1 << 40], [0, 8 << 40], _EIGHT),
    "offsets backwards": _tensor("weights", "F64", [1], [8, 0], _EIGHT),
    "negative offsets": _tensor("weights", "F64", [1], [-8, 0], _EIGHT),
    "negative shape": _tensor("weights", "F64", [-1], [0, 8], _EIGHT),
    "shape beyond 2^64": _tensor("weights", "F64", [1 << 33, 1 << 33], [0, 8], _EIGHT),
    "no numbers": _tensor("weights", "F64", [0], [0, 0]),
    "a scalar": _tensor("weights", "F64", [], [0, 8], _EIGHT),
    "sixty dimensions": _tensor("weights", "F64", [1] * 60, [0, 8], _EIGHT),
    "numbers of 16 bits": _tensor("weights", "BF16", [4], [0, 8], _EIGHT),
    "numbers of 8 bits": _tensor("weights", "F8_E4M3", [8], [0, 8], _EIGHT),
    "whole numbers": _tensor("weights", "I64", [1], [0, 8], _EIGHT),
    "truth values": _tensor("weights", "BOOL", [8], [0, 8], _EIGHT),
    "an unknown type": _tensor("weights", "PICKLE", [1], [0, 8], _EIGHT),
}.items():
    attack(_name)(_built)


@attack("overlapping tensors")
def _(honest):
    text = json.dumps(header_of(honest["boosted"]))
    one = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    return file_of({"__metadata__": {"dpfair-model": text}, "weights": one, "leaves": one}, _EIGHT)


@attack("two tensors of one name")
def _(honest):
    text = json.dumps(json.dumps(header_of(honest["placed"])))
    one = '{"dtype":"F64","shape":[1],"data_offsets":[0,8]}'
    meta = f'"__metadata__":{{"dpfair-model":{text}}}'
    return file_of(f'{{{meta},"weights":{one},"weights":{one}}}', _EIGHT)


attack("no metadata")(
    lambda honest: file_of(
        {"weights": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, _EIGHT
    )
)


# Weights


def _weights(honest: Honest, kind: str = "placed") -> Any:
    from safetensors.numpy import load

    return load(honest[kind])["weights"]


for _value in (np.nan, np.inf, -np.inf):
    attack(f"one weight is {_value}")(
        lambda honest, value=_value: rewritten(
            honest["placed"], weights=np.append(_weights(honest)[:-1], value)
        )
    )
attack("one weight too many")(
    lambda honest: rewritten(honest["placed"], weights=np.append(_weights(honest), 0.0))
)
attack("weights in a square")(
    lambda honest: rewritten(honest["placed"], weights=np.zeros((29, 29)))
)
attack("weights of single precision")(
    lambda honest: rewritten(honest["placed"], weights=_weights(honest).astype(np.float32))
)
attack("two million weights")(
    lambda honest: rewritten(honest["placed"], weights=np.zeros(2_000_000))
)


@attack("leaves of a forest that nobody can plant")
def _(honest):
    from safetensors.numpy import load, save

    tensors = load(honest["boosted"]) | {"leaves": np.zeros((400_000, 2))}
    text = json.dumps(header_of(honest["boosted"]))
    return save(tensors, metadata={"dpfair-model": text})


@attack("three leaves to a tree")
def _(honest):
    from safetensors.numpy import load, save

    tensors = load(honest["boosted"]) | {"leaves": np.zeros((3, 3))}
    text = json.dumps(header_of(honest["boosted"]))
    return save(tensors, metadata={"dpfair-model": text})


# The text of the header


def worded(name: str, text: Callable[[str], str], of: str = "placed") -> None:
    attack(name)(lambda honest: rewritten(honest[of], text=text))


worded("header is a number", lambda text: "7")
worded("header is null", lambda text: "null")
worded("header of brackets", lambda text: "[" * 100_000)
worded("header nested in lists", lambda text: "[" * 900 + text + "]" * 900)
for _name, _item in {"empty lists": "[]", "empty objects": "{}", "numbers": "0.1"}.items():
    worded(
        f"two million {_name}",
        lambda text, item=_item: f'{text[:-1]}, "x": [{item}' + f",{item}" * 1_900_000 + "]}",
    )
worded("duplicate names", lambda text: text[:-1] + ', "version": 4}')
worded(
    "duplicate names inside", lambda text: text.replace('"counts":', '"counts": 0, "counts":', 1)
)
worded("not a number", lambda text: text.replace('"confidence": 0.95', '"confidence": NaN'))
worded("infinity", lambda text: text.replace('"confidence": 0.95', '"confidence": Infinity'))
worded("minus infinity", lambda text: text.replace('"confidence": 0.95', '"confidence": -Infinity'))
worded("too large a number", lambda text: text.replace('"confidence": 0.95', '"confidence": 1e999'))
worded(
    "a number of 5000 digits", lambda text: text.replace('"grain": 100', '"grain": ' + "9" * 5000)
)
worded("half of a surrogate", lambda text: text.replace('"f"', '"\\ud800"'))
worded("trailing text", lambda text: text + "{}")
worded("comment", lambda text: "//" + text)
for _version in (2, 3, 5, 999, -1, None, "4", True, [4], 10**30):
    forged(f"version {repr(_version)[:9]}", "version", value=_version)
for _key in (
    "schema",
    "release",
    "ledger",
    "rule",
    "settings",
    "certificate",
    "classes",
    "coin_key",
):
    edited(f"no {_key}", lambda header, key=_key: header.pop(key))
    forged(f"{_key} is a list", _key, value=[])
    forged(f"{_key} is text", _key, value="__import__('os')")


# Schema


def _columns(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"c{i}", "kind": "numeric", "bounds": [0, 1], **more} for i in range(count)]


forged("forty thousand columns", "schema", "columns", value=_columns(40_000))
forged("ten thousand spiky columns", "schema", "columns", value=_columns(10_000, spiky=True))
forged(
    "a column of too many words",
    "schema",
    "columns",
    value=[{"name": "a", "kind": "categorical", "values": [str(i) for i in range(10**5)]}],
)
forged(
    "two hundred thousand edges",
    "schema",
    "columns",
    value=_columns(1, edges=[i / 200_000 for i in range(1, 200_000)]),
)


@attack("groups without end")
def _(honest):
    def change(header):
        header["schema"]["columns"] += [
            {"name": n, "kind": "categorical", "values": [f"{n}{i}" for i in range(9000)]}
            for n in ("a", "b", "c")
        ]
        header["schema"]["sensitive"] = {"columns": ["a", "b", "c"]}

    return rewritten(honest["placed"], change)


@attack("ten thousand crosses")
def _(honest):
    def change(header):
        header["schema"]["crosses"] = [["age", "income"]] * 10_000

    return rewritten(honest["placed"], change)


forged("bounds of nothing", "schema", "columns", 0, "bounds", value=[1e999, -1e999])
forged("label of three values", "schema", "label", "values", value=["no", "yes", "maybe"])
forged("rows below zero", "schema", "rows", value=-5)
forged("schema was read off the data", "schema", "inferred", value=True)
forged("other group names", "schema", "sensitive", "values", value=["m", "f"])


# Release


def _release(name: str, change: Callable[[dict[str, Any]], object], of: str = "placed") -> None:
    edited(name, lambda header: change(header["release"]), of)


def _every_count(release: dict[str, Any], value: int) -> None:
    release["counts"] = [[[value] * len(row) for row in rows] for rows in release["counts"]]


def _table(release: dict[str, Any], groups: int, bins: int, noise: float, count: int) -> None:
    names = [f"g{i}" for i in range(groups)]
    release["groups"], release["noise"] = names, [noise] * groups
    release["edges"] = [[(i + 1) / (bins + 1) for i in range(bins - 1)]] * groups
    release["counts"] = [[[count] * bins] * 2] * groups


def _with_its_rule(header: dict[str, Any]) -> None:
    """The rule that really follows, so that nothing is wrong before the certificate."""
    from dpfair.fairness.choice import best_rule, placed_rule
    from dpfair.fairness.notions import notion_of
    from dpfair.fairness.optimal import Goal
    from dpfair.fairness.release import Release
    from dpfair.models.file import _rule_to_json

    release, goal = (
        Release.from_json(header["release"]),
        Goal(notion_of(header["settings"]["notion"])),
    )
    if header["targets"] is not None:
        decision = placed_rule(release, goal, tuple(header["targets"]))
    else:
        decision = best_rule(release, goal, smallest=0, small_groups="merge")
    header["rule"] = _rule_to_json(decision.rule)
    claim = header["certificate"]["fairness"]
    claim["accuracy_estimate"] = float(decision.accuracy)
    claim["rates_after"] = decision.acceptance.tolist()


def _wide(groups: int, bins: int, noise: float, count: int) -> Callable[[dict[str, Any]], None]:
    """A file with another table, all else being made to fit: it costs as much as a file can.

    Only the certificate is that of another release; what is cheap to check in it is right.
    """

    def change(header: dict[str, Any]) -> None:
        _table(header["release"], groups, bins, noise, count)
        header["schema"]["sensitive"]["values"] = header["release"]["groups"]
        if header["targets"] is not None:
            header["targets"] = [0.1 + 0.8 * i / groups for i in range(groups)]
        header["settings"]["smallest_group"] = 0
        for entry in header["ledger"]["entries"]:
            if entry["purpose"].startswith("count"):
                entry["event"] = {"kind": "DiscreteLaplace", "noise_parameter": noise}
                entry["epsilon"] = noise
        _with_its_rule(header)

    return change


def dear(
    kind: str, groups: int, bins: int, noise: float, count: int
) -> dict[str, Callable[[Honest], bytes]]:
    name = f"{kind}: {groups} groups, {bins} bins, noise {noise:g}, counts {count:.0e}"
    change, weights = _wide(groups, bins, noise, count), np.zeros(27 + groups)
    return {name: lambda honest: rewritten(honest[kind], change, weights=weights)}


for _count in (2**63 - 1, -(2**63), 10**12, -(10**12), 10**40, 0.5, "1", None, True, [1]):
    forged(f"a count of {repr(_count)[:21]}", "release", "counts", 0, 0, 0, value=_count)
_release("ten billion records in every cell", lambda r: _every_count(r, 10**10))
_release("a hundred million records in every cell", lambda r: _every_count(r, 10**8))
_release("as many missing", lambda r: _every_count(r, -(10**8)))
_release("bands over ten billion records a cell", lambda r: _every_count(r, 10**10), "bands")
_release("nobody at all", lambda r: _every_count(r, 0))
for _noise in (0, -1, 1e-300, 1e-5, 1e-3, None, "1", 1e308):
    forged(f"noise {_noise!r}", "release", "noise", value=[_noise] * 2)
    forged(f"noise {_noise!r} under bands", "release", "noise", value=[_noise] * 2, of="bands")
forged("noise of one group", "release", "noise", value=[2.0])
forged("less noise than was paid for", "release", "noise", value=[50.0, 50.0], of="bands")
for _size in (
    (2, 900, 0.3, 9),
    (20, 400, 1.0, 9),
    (20, 64, 0.05, 9),
    (2, 40, 0.02, 9),
    (2, 40, 0.1, 10**7),
    (2, 209, 1.0, 10**4),
):
    ATTACKS.update(dear("placed", *_size))
for _size in (
    (2, 999, 0.01, 9),
    (2, 64, 0.001, 10**5),
    (2, 64, 2.0, 10**7),
    (2, 64, 2.0, 10**10),
    (100, 64, 0.01, 9),
    (101, 8, 1.0, 9),
):
    ATTACKS.update(dear("bands", *_size))
for _size in ((20, 209, 1.0, 50), (5, 200, 1.0, 10**5)):
    DEAR.update(dear("placed", *_size))
for _size in ((100, 199, 1.0, 9), (100, 64, 2.0, 10**4)):
    DEAR.update(dear("bands", *_size))
forged("edges that fall", "release", "edges", 0, 1, value=1e-9)
forged("edges beyond one", "release", "edges", 1, -1, value=7.0)
forged("edges twice the same", "release", "edges", value=[[0.5, 0.5]] * 2)
forged("no edges", "release", "edges", value=[[], []])
for _grain in (0, -100, 7, 10**6, 2**70, "100", [100]):
    forged(f"grain {repr(_grain)[:12]}", "release", "grain", value=_grain)
forged("negative sizes", "release", "sizes", value=[-1, -1], of="flips")
forged("sizes of a galaxy", "release", "sizes", value=[10**18, 10**18], of="flips")
forged("sizes where all is noisy", "release", "sizes", value=[5, 5])
forged("dependence denied", "release", "dependence", value="", of="check")
forged("a thousand names", "release", "groups", value=[str(i) for i in range(1000)])


# Rule, targets, check

forged("rule that favours a group", "rule", "cuts", 0, 0, value=0.001)
forged("rule above certainty", "rule", "accept", 0, -1, value=1.5)
edited(
    "rule of a million cuts",
    lambda header: header["rule"].update(cuts=[[0.5] * 500_000] * 2, accept=[[0.5] * 500_001] * 2),
)
forged("targets of other groups", "targets", value=[0.01, 0.99])
forged("targets beyond one", "targets", value=[0.5, 1e999])
forged("no targets", "targets", value=None)
forged("targets where none are placed", "targets", value=[0.3, 0.3], of="bands")
forged("a plan where none was made", "planned", value={"accept": [[0, 1]] * 2, "cuts": [[0.5]] * 2})
forged("a plan that favours a group", "planned", "cuts", 0, 0, value=0.001, of="corrected")
forged("a plan above certainty", "planned", "accept", 0, -1, value=1.5, of="corrected")
forged("no plan", "planned", value=None, of="corrected")
forged("kinder decisions", "decisions", "counts", value=[[[900, 0], [0, 900]]] * 2, of="corrected")
forged("no decisions", "decisions", value=None, of="corrected")
forged("decisions with less noise", "decisions", "noise", value=[50.0, 50.0], of="corrected")
forged("fewer undeclared labels", "decisions", "undeclared", "label", value=-99, of="corrected")
edited(
    "a plan of a million cuts",
    lambda header: header["planned"].update(
        cuts=[[0.5] * 500_000] * 2, accept=[[0.5] * 500_001] * 2
    ),
    "corrected",
)
forged(
    "kinder counts in the check", "check", "counts", value=[[[900, 0], [0, 900]]] * 2, of="check"
)
forged("no check", "check", value=None, of="check")
edited("check that nobody paid", lambda header: header.update(check=header["release"]))
forged("check of scores", "check", "edges", value=[[0.4], [0.4]], of="check")


# Ledger


def _event(name: str, event: Any, of: str = "placed") -> None:
    forged(name, "ledger", "entries", 0, "event", value=event, of=of)


def _gaussian(noise: Any = 1e6) -> dict[str, Any]:
    return {"kind": "Gaussian", "noise_multiplier": noise}


def _sampled(rate: Any, noise: Any = 1e6) -> dict[str, Any]:
    return {"kind": "PoissonSampled", "sampling_rate": rate, "event": _gaussian(noise)}


def _repeated(event: Any, count: Any) -> dict[str, Any]:
    return {"kind": "Repeated", "count": count, "event": event}


def _nested(depth: int) -> Any:
    event = _gaussian()
    for _ in range(depth):
        event = _repeated(event, 1)
    return event


for _times in (10**9, 10**9 + 1, 10**18, 0, -5, 1.5, True, "7"):
    _event(f"{_times!r} repetitions", _repeated(_gaussian(), _times))
    _event(f"{_times!r} sampled repetitions", _repeated(_sampled(1e-3), _times))
for _noise in (0, -1, 1e-300, 1e-3, 1e300, 1e999, "1", None, True):
    _event(f"Gaussian of {_noise!r}", _gaussian(_noise))
    _event(f"sampled Gaussian of {_noise!r}", _sampled(0.01, _noise))
    _event(f"Laplace of {_noise!r}", {"kind": "DiscreteLaplace", "noise_parameter": _noise})
for _rate in (0, -0.5, 1.0, 2, 1e-300, 1e999):
    _event(f"sampling rate {_rate}", _repeated(_sampled(_rate, 1.0), 1000))
_event("a million steps of little noise", _repeated(_sampled(0.5, 0.4), 10**6))
_event("a million full steps", _repeated(_gaussian(0.06), 10**6))
_event(
    "a thousand different sampled steps",
    {
        "kind": "Composed",
        "events": [_repeated(_sampled(0.01 + i * 1e-6, 50), 9) for i in range(1000)],
    },
)
_event(
    "ten thousand different steps",
    {"kind": "Composed", "events": [_gaussian(1e4 + i) for i in range(10_000)]},
)
_event("nothing composed", {"kind": "Composed", "events": []})
_event("nested four hundred times", _nested(400))
_event(
    "sampled Laplace",
    {
        "kind": "PoissonSampled",
        "sampling_rate": 0.1,
        "event": {"kind": "DiscreteLaplace", "noise_parameter": 1},
    },
)
_event("unknown event", {"kind": "os.system", "command": "true"})
_event("event of another class", {"kind": "Composed", "module_name": "os", "events": "abc"})
for _mean in (0.5, 1, -3, 1e5, 1e300, 1e999, "2"):
    forged(
        f"search of {_mean!r} runs",
        "ledger",
        "entries",
        0,
        "event",
        "mean",
        value=_mean,
        of="search",
    )
for _shape in (-1, 2, 1e999, None):
    forged(
        f"search of shape {_shape}",
        "ledger",
        "entries",
        0,
        "event",
        "shape",
        value=_shape,
        of="search",
    )
forged("search among none", "ledger", "entries", 0, "event", "one_of", value=[], of="search")
forged(
    "search among thousands",
    "ledger",
    "entries",
    0,
    "event",
    "one_of",
    value=[_repeated(_sampled(0.01 + i * 1e-6, 60 + i), 50) for i in range(9000)],
    of="search",
)
edited(
    "search of searches",
    lambda header: header["ledger"]["entries"][0]["event"].update(
        one_of=[copy.deepcopy(header["ledger"]["entries"][0]["event"])]
    ),
    "search",
)


def _entries(name: str, change: Callable[[list[Any]], object], of: str = "placed") -> None:
    edited(name, lambda header: change(header["ledger"]["entries"]), of)


_entries("training never paid", lambda entries: entries.pop(0))
_entries("counting never paid", lambda entries: entries.pop())
_entries("nothing ever paid", lambda entries: entries.clear())
_entries("cheaper training", lambda entries: entries[0].update(epsilon=0.01))
_entries("dearer training", lambda entries: entries[0].update(epsilon=1.9999))
_entries("more noise than was drawn", lambda entries: entries[0].update(event=_gaussian(1e6)))
_entries("scope renamed", lambda entries: entries[0].update(scope="release"))
_entries("scope of nobody", lambda entries: entries[0].update(scope="train/a//b"))
_entries("scope that escapes", lambda entries: entries[0].update(scope="../train"))
_entries("everything in one scope", lambda entries: [e.update(scope="") for e in entries])
_entries("five thousand charges", lambda entries: entries.extend(entries[-1:] * 5000))
_entries(
    "three thousand different charges",
    lambda entries: entries.extend(
        entries[0] | {"event": _gaussian(1e5 + i), "scope": f"train/{i}"} for i in range(3000)
    ),
)
_entries(
    "a purpose for the terminal",
    lambda entries: entries[0].update(purpose="\x1b[2J\x1b[31mroot\n" * 2000, epsilon=0.5),
)
for _epsilon in (
    "1e999999999",
    "-2",
    "0",
    "inf",
    "nan",
    "1/0",
    "9" * 5000,
    "1e-999999999",
    2,
    None,
):
    forged(f"budget {repr(_epsilon)[:14]}", "ledger", "epsilon", value=_epsilon)
for _delta in (0, 1, -1e-5, 1e-320, 1e999, "0"):
    forged(f"delta {_delta!r}", "ledger", "delta", value=_delta)
for _rows in (0, -1, 2, 10**9, 10**400, "x"):
    forged(f"{repr(_rows)[:12]} rows per unit", "ledger", "rows_per_unit", value=_rows)
forged("another relation", "ledger", "relation", value="replace_one")
forged("no relation", "ledger", "relation", value="none")
forged("basic composition", "ledger", "composition", value="basic")
forged("private ledger", "ledger", "private", value=True)


# Forgeries with everything derived again: only what was paid for gives them away


def certified_again(name: str, of: str, change: Callable[[Any], object]) -> None:
    """The file of a model after a change, with the rule and the certificate that follow from it."""

    def build(honest: Honest) -> bytes:
        from safetensors.numpy import load, save

        from dpfair import load_model
        from dpfair.models.file import _header

        with tempfile.NamedTemporaryFile(suffix=".dpfair") as file:
            Path(file.name).write_bytes(honest[of])
            model = load_model(file.name)
        change(model)
        model._decide()
        model.certificate_ = model._certify(model.ledger_)
        return save(load(honest[of]), metadata={"dpfair-model": json.dumps(_header(model))})

    attack(f"{name}, certified again")(build)


def _less_noise(model: Any) -> None:
    model.release_ = dataclasses.replace(model.release_, noise=(50.0,) * len(model.release_.noise))


def _other_entries(change: Callable[[list[Any]], object]) -> Callable[[Any], None]:
    def apply(model: Any) -> None:
        data = model.ledger_.to_json()
        change(data["entries"])
        model.ledger_ = type(model.ledger_).from_json(data)

    return apply


certified_again("less noise than was paid for", "bands", _less_noise)
certified_again("less noise than was paid for, flipped", "flips", _less_noise)
certified_again("training never paid", "placed", _other_entries(lambda entries: entries.pop(0)))
certified_again("planning never paid", "placed", _other_entries(lambda entries: entries.pop(1)))
certified_again(
    "training of nobody", "placed", _other_entries(lambda e: e[0].update(scope="elsewhere"))
)
certified_again("check never paid", "check", _other_entries(lambda entries: entries.pop()))


# Certificate and the rest

forged("smaller epsilon in the certificate", "certificate", "privacy", "epsilon", value=0.5)
forged("smaller cost in the certificate", "certificate", "privacy", "spent", value=0.5)
forged("private certificate", "certificate", "privacy", "private", value=True)
forged("certificate without leaks", "certificate", "privacy", "leaks", value=[])
forged("smaller gap in the certificate", "certificate", "fairness", "gap_bound", value=0.001)
forged(
    "smaller gap of many groups", "certificate", "fairness", "gap_bound", value=0.001, of="groups"
)
forged("smaller gap in the band", "certificate", "fairness", "gap_bound", value=0.001, of="bands")
forged("more certain", "certificate", "fairness", "confidence", value=0.9999)
forged("more confidence", "confidence", value=0.9999)
edited("certificate with a spare claim", lambda h: h["certificate"].update(approved="by us"))
edited("certificate without fairness", lambda h: h["certificate"].pop("fairness"))
forged("classes the other way round", "classes", "values", value=["yes", "no"])
forged("classes that are the same", "classes", "values", value=["yes", "yes"])
forged("classes of other words", "classes", "values", value=["0", "1"])
forged("classes of another kind", "classes", value={"kind": "integer", "values": [0, 1]})
forged("classes of code", "classes", "kind", value="__reduce__")
for _coin in ("", "00", "zz" * 32, "0" * 63, "0" * 10**6, None, 7, ["00"] * 32):
    forged(f"coin key {repr(_coin)[:14]} of {len(str(_coin))}", "coin_key", value=_coin)
forged("unknown coins", "coins", value="loaded")
forged("unknown solver", "solver", value="os.system")
forged("unknown features", "features", value="__import__")
forged("unit is a list", "unit", value=["a"])
forged("unit is true", "unit", value=True)
forged("another unit", "unit", value="job")
edited("unknown setting", lambda header: header["settings"].update(learner="os.system"))
edited("missing setting", lambda header: header["settings"].pop("costs"))
for _name, _value in {
    "mode": "eval",
    "notion": "fair",
    "rule": "exec",
    "tolerance": 1e999,
    "costs": [1e999, 1],
    "capacity": -1,
    "target": "midpoint",
    "smallest_group": 1e999,
    "small_groups": "drop",
}.items():
    forged(f"{_name} of {_value}", "settings", _name, value=_value)


# Places that are no files


@place
def a_directory(folder: Path) -> Path:
    path = folder / "directory"
    path.mkdir()
    return path


@place
def link_to_a_device(folder: Path) -> Path:
    path = folder / "zero"
    path.symlink_to("/dev/zero")
    return path


@place
def link_to_a_directory(folder: Path) -> Path:
    path = folder / "link"
    path.symlink_to(folder)
    return path


@place
def link_to_itself(folder: Path) -> Path:
    path = folder / "loop"
    path.symlink_to(path)
    return path


@place
def pipe_without_a_writer(folder: Path) -> Path:
    path = folder / "pipe"
    os.mkfifo(path)
    return path


@place
def memory_of_the_process(folder: Path) -> Path:
    return Path("/proc/self/mem")


@place
def sparse_file_of_ten_gigabytes(folder: Path) -> Path:
    path = folder / "sparse"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    return path


@place
def sparse_file_of_thirty_megabytes(folder: Path) -> Path:
    path = folder / "sparse30"
    with path.open("wb") as file:
        file.truncate(30 << 20)
    return path


@place
def name_that_is_too_long(folder: Path) -> Path:
    return folder / ("m" * 5000)


@place
def name_with_a_zero_byte(folder: Path) -> Path:
    return folder / "a\0b"


# What becomes of them


def measure(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Read the files one after the other: the error, its text, the seconds and the megabytes.

    Seconds are those of the processor: other work on the machine must not be blamed on a file.
    """
    from dpfair import load_model

    found = []
    for path in paths:
        before, start = _fresh_peak(), time.process_time()
        try:
            load_model(path)
            error: BaseException | None = None
        except BaseException as raised:
            error = raised
        found.append(
            {
                "error": type(error).__name__ if error is not None else None,
                "text": str(error),
                "seconds": time.process_time() - start,
                "megabytes": (_peak() - before) / 1024,
            }
        )
    return found


def _fresh_peak() -> int:
    """Forget the largest size that the process had, in kilobytes; where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    honest_file, *files = map(Path, json.load(sys.stdin))
    assert measure([honest_file])[0]["error"] is None  # and everything is imported now
    json.dump(measure(files), sys.stdout)
