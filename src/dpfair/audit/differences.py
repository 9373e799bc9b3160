"""Where two objects differ: all their parts are compared, including private attributes."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfair.privacy.noise import Noise

__all__ = ["IGNORED", "PerRecord", "differences", "parts_of"]

# These do not depend on records: the audit itself provides the source of noise.
IGNORED = (Noise, type(threading.Lock()), type(threading.RLock()))
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type)
_WITHOUT_PARTS = frozenset({*_PLAIN, np.ndarray, set, frozenset, CodeType})


@dataclass(frozen=True, eq=False)
class PerRecord:
    """Outputs for the owners of single records; compared for the records in both tables."""

    values: NDArray[Any]


def differences(first: Any, second: Any, name: str = "", *, shared: int = 0) -> Iterator[str]:
    """The names of the innermost parts that differ; ``shared`` records are in both tables.

    Numbers must be equal to the last bit: the output is a function of the same noisy answers and
    the same coins.

    Examples
    --------
    >>> list(differences({"a": [1, 2.0], "b": 3}, {"a": [1, 2.5], "b": 3}, "model"))
    ['model.a[1]']
    """
    yield from _walk(first, second, name, shared, {})


def _walk(
    first: Any, second: Any, name: str, shared: int, seen: dict[tuple[int, int], Any]
) -> Iterator[str]:
    if first is second or isinstance(first, IGNORED) or (id(first), id(second)) in seen:
        return
    if type(first) is not type(second):
        yield name
        return
    seen[id(first), id(second)] = first, second  # kept alive, so that no id is used again
    if isinstance(first, PerRecord):
        if not _equal_arrays(first.values[:shared], second.values[:shared]):
            yield name
        return
    parts, others = parts_of(first), parts_of(second)
    if not _same_value(first, second, alone=parts is None or others is None):
        yield name
        return
    parts, others = parts or {}, others or {}
    for key in parts | others:
        if key in parts and key in others:
            yield from _walk(parts[key], others[key], name + key, shared, seen)
        else:
            yield name + key
    if parts.keys() == others.keys() and [*parts] != [*others]:
        yield f"{name} (the order of its parts)"


def _same_value(first: Any, second: Any, *, alone: bool) -> bool:
    """Whether two objects are equal apart from their parts; ``alone``: they have no parts."""
    if isinstance(first, (np.ndarray, np.generic)):
        return _equal_arrays(np.asarray(first), np.asarray(second))
    if isinstance(first, (*_PLAIN, set, frozenset)) or alone:
        return bool(first == second) or _both_nan(first, second)
    return True


def parts_of(item: Any) -> dict[str, Any] | None:
    """The parts of an object by their paths; None if it has no parts."""
    if type(item) in _WITHOUT_PARTS or isinstance(item, type):
        return None
    attributes, contents = _attributes(item), _contents(item)
    if contents is None:
        own = {f".{key}": value for key, value in attributes.items()}
        return own if own or _of_python_class(item) else None
    return contents | ({".__dict__": attributes} if attributes else {})


class _Empty:
    pass


def _of_python_class(item: Any) -> bool:
    """Whether an object holds nothing but attributes; the state of C code would be missed."""
    return hasattr(item, "__dict__") and type(item).__basicsize__ == _Empty.__basicsize__


def _contents(item: Any) -> dict[str, Any] | None:
    """What a container or a function holds in addition to its attributes."""
    if isinstance(item, Mapping):
        return {f".{k}" if isinstance(k, str) else f"[{k!r}]": v for k, v in item.items()}
    if isinstance(item, (list, tuple, deque)):
        return {f"[{i}]": value for i, value in enumerate(item)}
    if isinstance(item, FunctionType):
        return {
            ".name": item.__qualname__,
            ".code": item.__code__,
            ".closure": [cell.cell_contents for cell in item.__closure__ or ()],
            ".defaults": item.__defaults__,
            ".kwdefaults": item.__kwdefaults__,
        }
    return None


def _attributes(item: Any) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for kind in type(item).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            hidden = slot.startswith("__") and not slot.endswith("__")
            name = f"_{kind.__name__.lstrip('_')}{slot}" if hidden else slot
            if hasattr(item, name) and name not in ("__dict__", "__weakref__"):
                held[name] = getattr(item, name)
    return held | getattr(item, "__dict__", {})


def _equal_arrays(first: NDArray[Any], second: NDArray[Any]) -> bool:
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if first.dtype == object:
        return bool(first.tolist() == second.tolist())
    return first.tobytes() == second.tobytes()


def _both_nan(first: Any, second: Any) -> bool:
    numbers = isinstance(first, float) and isinstance(second, float)
    return numbers and math.isnan(first) and math.isnan(second)
