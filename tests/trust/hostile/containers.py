"""Files that run code, unpack without end or are broken; places that are no files."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sample_models import header_of
from trust.hostile.corpus import Attacks, Build, Honest

__all__ = ["ATTACKS", "CANARY", "PLACES"]

ATTACKS = Attacks()
PLACES: dict[str, Callable[[Path], Path]] = {}
CANARY = "code-ran.txt"
"""The file, in the working directory, that a payload would create."""


class _Payload:
    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, (f"open({CANARY!r}, 'w').close()",))


def _array_file(honest: Honest) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([_Payload()], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def _array_archive(honest: Honest) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, weights=np.array([_Payload()], dtype=object))
    return buffer.getvalue()


def _zip_bomb(honest: Honest) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for i in range(8):
            archive.writestr(f"{i}.npy", bytes(1 << 22))
    return buffer.getvalue()


for _protocol in (0, 2, 5):
    ATTACKS[f"pickle, protocol {_protocol}"] = lambda honest, protocol=_protocol: pickle.dumps(
        _Payload(), protocol
    )
ATTACKS["pickle in an array file"] = _array_file
ATTACKS["pickle in an archive of arrays"] = _array_archive
ATTACKS["pickle behind an honest file"] = lambda honest: honest["placed"] + pickle.dumps(_Payload())
ATTACKS["zip bomb"] = _zip_bomb
ATTACKS["gzip bomb"] = lambda honest: gzip.compress(bytes(1 << 25), compresslevel=1)
ATTACKS["honest file in gzip"] = lambda honest: gzip.compress(honest["placed"])


# Broken containers


def _file(outer: dict[str, Any] | str | bytes, body: bytes = b"") -> bytes:
    """A safetensors file by hand, so that it may be a wrong one."""
    text = json.dumps(outer) if isinstance(outer, dict) else outer
    content = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(content)) + content + body


def _with_length(length: int) -> Build:
    return lambda honest: struct.pack("<Q", length) + honest["placed"][8:]


def _tensors(of: str = "placed", body: bytes = bytes(8), **entries: Any) -> Build:
    """The header of an honest file with these tensors: (type, shape, offsets) by name."""

    def build(honest: Honest) -> bytes:
        outer: dict[str, Any] = {
            "__metadata__": {"dpfair-model": json.dumps(header_of(honest[of]))}
        }
        for name, entry in entries.items():
            outer[name] = dict(zip(("dtype", "shape", "data_offsets"), entry, strict=True))
        return _file(outer, body)

    return build


def _two_of_one_name(honest: Honest) -> bytes:
    text = json.dumps(json.dumps(header_of(honest["placed"])))
    one = '{"dtype":"F64","shape":[1],"data_offsets":[0,8]}'
    meta = f'"__metadata__":{{"dpfair-model":{text}}}'
    return _file(f'{{{meta},"weights":{one},"weights":{one}}}', bytes(8))


_ONE = ("F64", [1], [0, 8])
ATTACKS["empty file"] = lambda honest: b""
ATTACKS["seven bytes"] = lambda honest: honest["placed"][:7]
ATTACKS["text in utf-16"] = lambda honest: "the model is fair".encode("utf-16")
ATTACKS["web page"] = lambda honest: b"<!doctype html><script>fetch('/')</script>" * 40
ATTACKS["header alone"] = lambda honest: json.dumps(header_of(honest["placed"])).encode()
for _share in range(1, 25):
    ATTACKS[f"cut after {_share}/25"] = lambda honest, share=_share: honest["placed"][
        : share * len(honest["placed"]) // 25
    ]
ATTACKS["one byte short"] = lambda honest: honest["placed"][:-1]
ATTACKS["one byte more"] = lambda honest: honest["placed"] + b"\0"
for _bits in (20, 31, 32, 60, 63):
    ATTACKS[f"header of 2^{_bits} bytes"] = _with_length(1 << _bits)
ATTACKS["header of no bytes"] = _with_length(0)
ATTACKS["header as long as the file"] = lambda honest: _with_length(len(honest["placed"]))(honest)
ATTACKS["outer header nested deeply"] = lambda honest: _file('{"a":' * 60_000 + "1" + "}" * 60_000)
ATTACKS["outer header is no utf-8"] = lambda honest: _file(b"\xff\xfe{}")
ATTACKS["outer header is a list"] = lambda honest: _file("[]")
ATTACKS["no metadata"] = lambda honest: _file(
    {"weights": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)
)
ATTACKS["path traversal in a name"] = _tensors(**{"../../weights": _ONE})
ATTACKS["absolute path in a name"] = _tensors(**{"/etc/passwd": _ONE})
ATTACKS["zero byte in a name"] = _tensors(**{"weights\0": _ONE})
ATTACKS["no numbers"] = _tensors(body=b"", weights=("F64", [0], [0, 0]))
ATTACKS["no tensors"] = _tensors(body=b"")
ATTACKS["no tensors of trees"] = _tensors("boosting", body=b"")
ATTACKS["overlapping tensors"] = _tensors("boosted", weights=_ONE, leaves=_ONE)
ATTACKS["two tensors of one name"] = _two_of_one_name
for _name, _entry in {
    "offsets beyond the file": ("F64", [1 << 40], [0, 8 << 40]),
    "offsets backwards": ("F64", [1], [8, 0]),
    "negative offsets": ("F64", [1], [-8, 0]),
    "negative shape": ("F64", [-1], [0, 8]),
    "shape beyond 2^64": ("F64", [1 << 33, 1 << 33], [0, 8]),
    "a scalar": ("F64", [], [0, 8]),
    "sixty dimensions": ("F64", [1] * 60, [0, 8]),
    "numbers of 16 bits": ("BF16", [4], [0, 8]),
    "numbers of 8 bits": ("F8_E4M3", [8], [0, 8]),
    "whole numbers": ("I64", [1], [0, 8]),
    "truth values": ("BOOL", [8], [0, 8]),
    "an unknown type": ("PICKLE", [1], [0, 8]),
}.items():
    ATTACKS[_name] = _tensors(weights=_entry)


# Wrong numbers

for _of in ("placed", "penalty", "logistic", "boosting"):
    for _value in (np.nan, np.inf, -np.inf):
        ATTACKS.weigh(
            f"{_of}: one weight is {_value}",
            lambda weights, value=_value: np.append(weights[:-1], value),
            "weights",
            _of,
        )
    ATTACKS.weigh(f"{_of}: a weight too many", lambda w: np.append(w, 0.0), "weights", _of)
ATTACKS.weigh("weights in a square", lambda w: np.zeros((29, 29)), "weights", "placed")
ATTACKS.weigh("weights of single precision", lambda w: w.astype("f4"), "weights", "placed")
ATTACKS.weigh("two million weights", lambda w: np.zeros(2_000_000), "weights", "placed")
ATTACKS.weigh("weights of a function", lambda w: np.zeros(9), "weights", "rates")
ATTACKS.weigh("spare numbers", lambda spare: np.zeros(9), "spare", "placed")
ATTACKS.weigh("leaves without trees", lambda leaves: np.zeros((3, 4)), "leaves", "placed")
for _of in ("boosted", "boosting"):
    ATTACKS.weigh(f"{_of}: many leaves", lambda w: np.zeros((400_000, 2)), "leaves", _of)
    ATTACKS.weigh(f"{_of}: three leaves to a tree", lambda w: np.zeros((3, 3)), "leaves", _of)
    ATTACKS.weigh(f"{_of}: an endless leaf", lambda w: w + np.inf, "leaves", _of)
ATTACKS.weigh("blocks: one weight is nan", lambda w: np.append(w[:-1], np.nan), "weights", "blocks")
ATTACKS.weigh("blocks: a weight too many", lambda w: np.append(w, 0.0), "weights", "blocks")
ATTACKS.weigh("cells without blocks", lambda cells: np.zeros(36), "cells", "placed")
ATTACKS["no tensors of blocks"] = _tensors("blocks", body=b"")
ATTACKS["overlapping tensors of blocks"] = _tensors(
    "blocks", weights=_ONE, pair_groups=_ONE, triple_groups=_ONE, blocks=_ONE, cells=_ONE
)
for _tensor in ("pair_groups", "triple_groups", "blocks", "cells"):
    for _value in (np.nan, np.inf, -np.inf):
        ATTACKS.weigh(
            f"blocks: {_tensor} are {_value}", lambda t, v=_value: t + v, _tensor, "blocks"
        )
    ATTACKS.weigh(f"blocks: no {_tensor}", lambda t: t[:0], _tensor, "blocks")
    ATTACKS.weigh(f"blocks: one of the {_tensor} less", lambda t: t[:-1], _tensor, "blocks")
    ATTACKS.weigh(f"blocks: {_tensor} in a square", lambda t: np.zeros((9, 9)), _tensor, "blocks")
    ATTACKS.weigh(f"blocks: many {_tensor}", lambda t: np.zeros(700_000), _tensor, "blocks")
for _tensor in ("pair_groups", "triple_groups", "blocks"):
    for _name, _change in {
        "half": lambda t: t + 0.5,
        "below": lambda t: t - 2,
        "above": lambda t: t + 10,
        "far above": lambda t: t + 2.0**60,
        "beyond whole numbers": lambda t: t + 1e300,
    }.items():
        ATTACKS.weigh(f"blocks: {_tensor} {_name}", _change, _tensor, "blocks")
ATTACKS.weigh("blocks: columns backwards", lambda t: t[:, [1, 0, 2]], "blocks", "blocks")
ATTACKS.weigh("blocks: a column twice", lambda t: t[:, [0, 0, 2]], "blocks", "blocks")
ATTACKS.weigh("blocks: a hundred blocks", lambda t: t[[0] * 100], "blocks", "blocks")
ATTACKS.weigh("blocks: all in one group", lambda t: 0 * t, "pair_groups", "blocks")


# Places that are no files


def _place(build: Callable[[Path], Path]) -> Callable[[Path], Path]:
    PLACES[build.__name__.replace("_", " ")] = build
    return build


def _link(path: Path, target: Path | str) -> Path:
    path.symlink_to(target)
    return path


def _sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


@_place
def a_directory(folder: Path) -> Path:
    path = folder / "directory"
    path.mkdir()
    return path


@_place
def pipe_without_a_writer(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


PLACES["link to a device"] = lambda folder: _link(folder / "zero", "/dev/zero")
PLACES["link to a directory"] = lambda folder: _link(folder / "link", folder)
PLACES["link to itself"] = lambda folder: _link(folder / "loop", folder / "loop")
PLACES["memory of the process"] = lambda folder: Path("/proc/self/mem")
PLACES["sparse file of ten gigabytes"] = lambda folder: _sparse(folder / "sparse", 10 << 30)
PLACES["sparse file of thirty megabytes"] = lambda folder: _sparse(folder / "sparse30", 30 << 20)
PLACES["name that is too long"] = lambda folder: folder / ("m" * 5000)
PLACES["name with a zero byte"] = lambda folder: folder / "a\0b"
