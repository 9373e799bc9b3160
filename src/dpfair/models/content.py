"""The bytes of a model file: safetensors with one JSON text. Reading them never runs code."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.errors import InputError, ModelFileError
from dpfair.learners.protocols import Tensors
from dpfair.methods.header_limits import MAX_HEADER, check_text
from dpfair.models.kinds import kind_of_file

__all__ = ["FORMAT_VERSION", "NotAModelError", "header_text", "read_content", "write_content"]

FORMAT = "dpfair-model"
FORMAT_VERSION = 7


class NotAModelError(InputError):
    """The file is of another kind; the text of the error says what it looks like."""


def header_text(header: Any) -> str:
    """The one way to write plain data down; numpy's numbers and fractions become plain ones.

    >>> header_text({"b": np.int64(1), "a": 0.5})
    '{"a": 0.5, "b": 1}'
    """
    return json.dumps(header, allow_nan=False, sort_keys=True, default=_plain)


def write_content(header: dict[str, Any], tensors: Tensors) -> bytes:
    """The content of a file that says this."""
    from safetensors.numpy import save

    text = header_text(header)
    check_text(text)
    # One entry only: safetensors writes several in random order.
    content: bytes = save(
        {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()},
        metadata={FORMAT: text},
    )
    return content


def read_content(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """What a file of this version says, and its finite numbers."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as start:
            length = int.from_bytes(start.read(8), "little")
            if start.read(1) != b"{":  # of the JSON text that every safetensors file starts with
                raise NotAModelError(kind_of_file(path))
            if length > 2 * MAX_HEADER:  # quotes take two bytes
                raise InputError("Its header is too long.")
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            names = list(file.keys())
            for name in names:
                tensor = file.get_slice(name)
                if tensor.get_dtype() != "F64" or len(tensor.get_shape()) > 3:
                    raise InputError(f"Its {name} must be float64 numbers.")
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise InputError("It cannot be read.") from error
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise InputError("Its weights must be finite numbers.")
    return _read_text(metadata[FORMAT]), tensors


def _read_text(text: str) -> dict[str, Any]:
    check_text(text)
    header: dict[str, Any] = json.loads(
        text,
        parse_constant=_no_constant,
        parse_float=_finite,
        parse_int=_of_64_bits,
        object_pairs_hook=_no_duplicates,
    )
    if header["version"] != FORMAT_VERSION:
        raise ModelFileError(_other_version(header))
    return header


def _other_version(header: dict[str, Any]) -> str:
    """What to do with a file that this dpfair does not read."""
    version, writer = str(header["version"])[:10], str(header.get("dpfair"))[:20]
    found = f"It has version {version} of the format, and this dpfair reads {FORMAT_VERSION}."
    if version in ("3", "4"):
        return (
            f"{found} It lacks settings that its charges follow from, so it cannot be converted: "
            f"use dpfair {writer}, which wrote it, or fit the model again."
        )
    if version == "5":
        return (
            f"{found} Its records would get other coins, and some of them other decisions: use "
            f"dpfair {writer}, which wrote it, or fit the model again."
        )
    if version == "6":
        return (
            f"{found} It does not say what its scorer is: use dpfair {writer}, which wrote it, or "
            "fit the model again."
        )
    return f"{found} Use the dpfair that wrote it."


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Fraction):
        return float(value)
    raise TypeError(f"Expected plain data, got {type(value).__name__}.")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number.")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("A number is too large.")
    return value


def _of_64_bits(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else 2**64
    if not -(2**63) <= value < 2**63:
        raise ValueError("A number is too large.")
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("A name appears twice.")
    return result
