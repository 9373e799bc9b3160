"""Events as plain data, for ledger files and model files.

Only the kinds that are written here can be read: a file cannot name any other class.
"""

from __future__ import annotations

import math
from typing import Any

from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RepeatAndSelectDpEvent,
    SelfComposedDpEvent,
)

from dpfair.errors import InputError
from dpfair.privacy.events import (
    DpEvent,
    GridGaussianDpEvent,
    OneOfDpEvent,
    ThresholdedDpEvent,
    parts,
)

__all__ = ["alike", "event_from_json", "event_to_json"]


def event_to_json(event: DpEvent) -> dict[str, Any]:
    """An event as plain data; the reverse of :func:`event_from_json`."""
    if isinstance(event, SelfComposedDpEvent):
        return {"kind": "Repeated", "count": event.count, "event": event_to_json(event.event)}
    if isinstance(event, ComposedDpEvent):
        return {"kind": "Composed", "events": [event_to_json(e) for e in event.events]}
    if isinstance(event, PoissonSampledDpEvent):
        return {
            "kind": "PoissonSampled",
            "sampling_rate": event.sampling_probability,
            "event": event_to_json(event.event),
        }
    if isinstance(event, GaussianDpEvent):
        kind = "GridGaussian" if isinstance(event, GridGaussianDpEvent) else "Gaussian"
        return {"kind": kind, "noise_multiplier": event.noise_multiplier}
    if isinstance(event, ThresholdedDpEvent):
        return {
            "kind": "Thresholded",
            "noise_multiplier": event.noise_multiplier,
            "delta": event.delta,
        }
    if isinstance(event, DiscreteLaplaceDpEvent):
        return {"kind": "DiscreteLaplace", "noise_parameter": event.noise_parameter}
    if isinstance(event, RepeatAndSelectDpEvent):
        return {
            "kind": "BestOfRuns",
            "mean": event.mean,
            "shape": event.shape,
            "one_of": [event_to_json(e) for e in event.event.events],
        }
    if isinstance(event, OneOfDpEvent):
        return {"kind": "OneOf", "events": [event_to_json(e) for e in event.events]}
    raise InputError(f"Expected a Gaussian or discrete Laplace event, got {event}.")


def event_from_json(data: dict[str, Any]) -> DpEvent:
    """Read an event back; only the kinds written by :func:`event_to_json` exist.

    >>> from dpfair.privacy.events import gaussian_steps
    >>> event = gaussian_steps(2.0, 0.01, 10)
    >>> event_from_json(event_to_json(event)) == event
    True
    """
    try:
        event = _event_from_json(data)
        parts(event)
    except (KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError("Expected a privacy event, got something else.") from error
    return event


def alike(one: Any, other: Any) -> bool:
    """Whether plain data is the same, up to the last digits of another machine's numbers.

    >>> alike({"a": [1, 0.1 + 0.2]}, {"a": [1, 0.3]}), alike([1], [1, 1])
    (True, False)
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=1e-6)
    return bool(one == other)


def _event_from_json(data: dict[str, Any]) -> DpEvent:
    kind = data["kind"]
    if kind == "Repeated":
        return SelfComposedDpEvent(_event_from_json(data["event"]), _whole(data["count"]))
    if kind == "Composed":
        return ComposedDpEvent([_event_from_json(e) for e in data["events"]])
    if kind == "PoissonSampled":
        rate = _number(data["sampling_rate"])
        return PoissonSampledDpEvent(rate, _event_from_json(data["event"]))
    if kind == "Gaussian":
        return GaussianDpEvent(_number(data["noise_multiplier"]))
    if kind == "GridGaussian":
        return GridGaussianDpEvent(_number(data["noise_multiplier"]))
    if kind == "Thresholded":
        return ThresholdedDpEvent(_number(data["noise_multiplier"]), _number(data["delta"]))
    if kind == "DiscreteLaplace":
        return DiscreteLaplaceDpEvent(_number(data["noise_parameter"]), 1)
    if kind == "BestOfRuns":
        one_of = OneOfDpEvent(tuple(_event_from_json(e) for e in data["one_of"]))
        return RepeatAndSelectDpEvent(one_of, _number(data["mean"]), _number(data["shape"]))
    if kind == "OneOf":
        return OneOfDpEvent(tuple(_event_from_json(e) for e in data["events"]))
    raise InputError("Expected a known kind of privacy event.")


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value
