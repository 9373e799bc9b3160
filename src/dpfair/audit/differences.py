"""Where two objects differ: everything that hangs on them, private attributes included."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.privacy.noise import Noise

__all__ = ["IGNORED", "PerRecord", "differences", "parts_of"]

# Neither says anything about a record: the source of noise is what the audit itself put there.
IGNORED = (Noise, type(threading.Lock()), type(threading.RLock()))
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type)


@dataclass(frozen=True, eq=False)
class PerRecord:
    """Outputs that go to one record's owner each; compared for those whom both tables have."""

    values: NDArray[Any]


def differences(first: Any, second: Any, name: str = "", *, shared: int = 0) -> Iterator[str]:
    """The names of the innermost parts that differ; ``shared`` records are in both tables.

    Numbers must be equal to the last bit: whatever was released is a function of the same noisy
    answers and the same coins.

    Examples
    --------
    >>> list(differences({"a": [1, 2.0], "b": 3}, {"a": [1, 2.5], "b": 3}, "model"))
    ['model.a[1]']
    """
    yield from _walk(first, second, name, shared, set())


def _walk(
    first: Any, second: Any, name: str, shared: int, seen: set[tuple[int, int]]
) -> Iterator[str]:
    if first is second or isinstance(first, IGNORED) or (id(first), id(second)) in seen:
        return
    if type(first) is not type(second):
        yield name
    elif isinstance(first, PerRecord):
        if not _equal_arrays(first.values[:shared], second.values[:shared]):
            yield name
    elif isinstance(first, (np.ndarray, np.generic)):
        if not _equal_arrays(np.asarray(first), np.asarray(second)):
            yield name
    elif isinstance(first, _PLAIN):
        if not (first == second or _both_nan(first, second)):
            yield name
    else:
        seen.add((id(first), id(second)))
        parts, others = parts_of(first), parts_of(second)
        if parts is None or others is None:
            if first != second:
                yield name
            return
        for key in parts | others:
            if key in parts and key in others:
                yield from _walk(parts[key], others[key], name + key, shared, seen)
            else:
                yield name + key


def parts_of(item: Any) -> dict[str, Any] | None:
    """What an object consists of, by the way to it; None for what has no parts."""
    if isinstance(item, Mapping):
        return {f".{key}": value for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return {f"[{i}]": value for i, value in enumerate(item)}
    if isinstance(item, FunctionType):
        cells = [cell.cell_contents for cell in item.__closure__ or ()]
        return {".name": item.__qualname__, ".closure": cells}
    slots = [s for kind in type(item).__mro__ for s in getattr(kind, "__slots__", ())]
    held = {s: getattr(item, s) for s in slots if hasattr(item, s)} | getattr(item, "__dict__", {})
    return {f".{key}": value for key, value in held.items()} or None


def _equal_arrays(first: NDArray[Any], second: NDArray[Any]) -> bool:
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if first.dtype == object:
        return bool(first.tolist() == second.tolist())
    return first.tobytes() == second.tobytes()


def _both_nan(first: Any, second: Any) -> bool:
    numbers = isinstance(first, float) and isinstance(second, float)
    return numbers and math.isnan(first) and math.isnan(second)
