"""What a mechanism costs, as dp_accounting's frozen event data.

dpfair uses three leaves: a Gaussian (also on a grid of integers), a Poisson-sampled Gaussian and a
discrete Laplace of sensitivity one, and composes them. Everything an accountant or the ledger
needs to know about an event is its *parts*: a list of leaves with their multiplicities. The best
of several runs is one more leaf: what happens inside is not composed, and only Renyi DP knows its
cost. So is one of several mechanisms, which costs what the dearest of them costs.

A relation is part of what an event means: a Gaussian's noise multiplier is relative to the
largest norm of **one record's contribution** (the accountant doubles it for ``replace_one``),
while a discrete Laplace event lists every table cell that one neighbour can move.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any

from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RepeatAndSelectDpEvent,
    SelfComposedDpEvent,
)

from dpfair import validate
from dpfair.errors import InputError

__all__ = [
    "RELATIONS",
    "DpEvent",
    "GridGaussianDpEvent",
    "OneOfDpEvent",
    "best_of_runs",
    "compose",
    "drawable",
    "event_from_json",
    "event_to_json",
    "exact_epsilon",
    "exact_sum",
    "from_parts",
    "gaussian_steps",
    "has_floating_noise",
    "noisy_table",
    "parts",
    "path_events",
    "pure_epsilon",
    "step_event",
]

# More repetitions than any run has; beyond it a count is a mistake or an attack.
MAX_REPETITIONS = 10**9
MAX_ALTERNATIVES = 10**4
# A fit has three scopes with different costs at most; each is composed on its own.
MAX_SCOPES = 16
MAX_RUNS = 10**4

RELATIONS = {
    "add_remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace_one": NeighboringRelation.REPLACE_ONE,
}


class GridGaussianDpEvent(GaussianDpEvent):  # type: ignore[misc]
    """A sum of integer vectors with discrete Gaussian noise: no rounding anywhere.

    It costs what the Gaussian of its noise multiplier costs, for every accountant: see
    :mod:`dpfair.privacy.grid`. It is an event of its own because its noise must be drawn there;
    so a ledger shows which arithmetic protects the records.
    """

    __slots__ = ()


def step_event(noise_multiplier: float, sampling_rate: float, *, exact: bool = False) -> DpEvent:
    """One noisy sum over a Poisson batch (the whole scope when the rate is 1).

    ``exact``: a sum of integers, with batch and noise drawn by integers too.
    """
    validate.positive(noise_multiplier=noise_multiplier, sampling_rate=sampling_rate)
    if sampling_rate > 1:
        raise InputError(f"Expected sampling_rate <= 1, got {sampling_rate}.")
    gaussian = (GridGaussianDpEvent if exact else GaussianDpEvent)(float(noise_multiplier))
    if sampling_rate == 1:
        return gaussian
    return PoissonSampledDpEvent(float(sampling_rate), gaussian)


def gaussian_steps(
    noise_multiplier: float, sampling_rate: float, steps: int, *, exact: bool = False
) -> DpEvent:
    """The same noisy sum, ``steps`` times."""
    validate.positive(steps=steps)
    validate.at_least(1, steps=steps)
    return SelfComposedDpEvent(step_event(noise_multiplier, sampling_rate, exact=exact), int(steps))


def noisy_table(epsilon: Fraction | float | str, relation: str) -> DpEvent:
    """A table of counts with discrete Laplace noise that costs ``epsilon`` in all.

    Adding or removing a record moves one cell by one; replacing a record moves two cells by
    one, so each cell then gets noise for ``epsilon / 2``. The parameter is rounded down to a
    float, hence the true cost never exceeds the stated one.
    """
    validate.one_of(RELATIONS, relation=relation)
    exact = exact_epsilon(epsilon)
    cells = 1 if relation == "add_remove" else 2
    parameter = float(exact / cells)
    if Fraction(parameter) * cells > exact:
        parameter = math.nextafter(parameter, 0.0)
    validate.positive(noise_parameter=parameter)
    leaf = DiscreteLaplaceDpEvent(parameter, 1)
    return leaf if cells == 1 else SelfComposedDpEvent(leaf, cells)


def exact_epsilon(epsilon: Fraction | float | str) -> Fraction:
    """An amount of privacy without rounding; anything but a positive number is refused.

    >>> exact_epsilon("0.1")
    Fraction(1, 10)
    """
    try:
        if isinstance(epsilon, str) and "/" not in epsilon:
            validate.positive(epsilon=float(epsilon))  # "1e999999999" is short, the number is not
        exact = Fraction(epsilon if isinstance(epsilon, (str, Rational)) else float(epsilon))
        rounded = float(exact)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise InputError(f"Expected epsilon > 0 and finite, got {epsilon}.") from error
    validate.positive(epsilon=rounded)
    return exact


@dataclass(frozen=True)
class OneOfDpEvent(DpEvent):  # type: ignore[misc]
    """One of several mechanisms, chosen without looking at a record.

    The choice may be a coin for every record (in which scope it lies: a whole fit with disjoint
    scopes is one such event) or for the whole run (with which settings). Given the coin, both
    neighbours face the same alternative, and hockey-stick divergences are jointly convex: the
    mixture's delta at any epsilon is at most that of the alternative that is the worst there.
    Renyi divergences are quasi-convex, so the same holds at every order. What several choices
    cost together is said in :mod:`dpfair.privacy.alternatives`.

    The order of the alternatives and the way they were composed mean nothing.
    """

    events: tuple[DpEvent, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOfDpEvent) and self._unordered == other._unordered

    def __hash__(self) -> int:
        return hash(self._unordered)

    @cached_property
    def _unordered(self) -> frozenset[frozenset[tuple[DpEvent, int]]]:
        return frozenset(frozenset(parts(event).items()) for event in self.events)


def best_of_runs(alternatives: Iterable[DpEvent], mean: float, shape: float) -> DpEvent:
    """A random number of runs, each one of the alternatives, of which only the best is released.

    ``mean`` and ``shape`` are those of :mod:`dpfair.privacy.repetition`.
    """
    distinct: list[DpEvent] = []
    for event in alternatives:
        if event not in distinct:
            distinct.append(event)
    event = RepeatAndSelectDpEvent(OneOfDpEvent(tuple(distinct)), float(mean), float(shape))
    _check_leaf(event)
    return event


def path_events(charges: Iterable[tuple[str, DpEvent]]) -> list[DpEvent]:
    """All that a record pays, for every scope that it may lie in.

    >>> len(path_events([("", step_event(1, 1)), ("a", step_event(2, 1)), ("b", step_event(3, 1))]))
    3
    """
    listed = list(charges)
    leaves = dict.fromkeys(scope for scope, _ in listed)
    return [compose([e for scope, e in listed if _contains(scope, leaf)]) for leaf in leaves]


def _contains(scope: str, leaf: str) -> bool:
    return scope == "" or leaf == scope or leaf.startswith(scope + "/")


def compose(events: list[DpEvent]) -> DpEvent:
    """All of the events on the same records."""
    return events[0] if len(events) == 1 else ComposedDpEvent(events)


def parts(event: DpEvent) -> Counter[DpEvent]:
    """The leaves of an event with their multiplicities.

    >>> parts(gaussian_steps(2.0, 1.0, 200))
    Counter({GaussianDpEvent(noise_multiplier=2.0): 200})
    """
    if isinstance(event, SelfComposedDpEvent):
        # A count below one would refund a charge.
        validate.positive(count=event.count)
        validate.at_least(1, count=event.count)
        leaves = {leaf: n * int(event.count) for leaf, n in parts(event.event).items()}
        if max(leaves.values()) > MAX_REPETITIONS:
            raise InputError(f"Expected at most {MAX_REPETITIONS} repetitions of an event.")
        return Counter(leaves)
    if isinstance(event, ComposedDpEvent):
        if not event.events:
            raise InputError("Expected at least one event to compose.")
        total: Counter[DpEvent] = Counter()
        for inner in event.events:
            total.update(parts(inner))
        return total
    _check_leaf(event)
    return Counter({event: 1})


def from_parts(leaves: Mapping[DpEvent, int]) -> DpEvent:
    """An event with these leaves.

    >>> from_parts({step_event(2.0, 1.0): 3}) == gaussian_steps(2.0, 1.0, 3)
    True
    """
    return compose([e if n == 1 else SelfComposedDpEvent(e, n) for e, n in leaves.items()])


def drawable(event: DpEvent) -> Counter[DpEvent]:
    """What one payment lets a mechanism draw: leaves, but a repeated Laplace event as a whole.

    The repetition of a table's Laplace event lists the cells that one neighbour moves. It is one
    table, and its parts do not pay for several. A choice is not drawn at all: whoever makes it
    has a ledger of its own, with a charge for every scope.

    >>> drawable(gaussian_steps(2.0, 1.0, 3))
    Counter({GaussianDpEvent(noise_multiplier=2.0): 3})
    >>> sum(drawable(noisy_table(1, "replace_one")).values())
    1
    """
    if isinstance(event, ComposedDpEvent):
        total: Counter[DpEvent] = Counter()
        for inner in event.events:
            total.update(drawable(inner))
        return total
    if isinstance(event, SelfComposedDpEvent) and (pure_epsilon(event) is None or _chooses(event)):
        return Counter({e: n * event.count for e, n in drawable(event.event).items()})
    return Counter() if isinstance(event, OneOfDpEvent) else Counter({event: 1})


def _chooses(event: DpEvent) -> bool:
    return any(isinstance(leaf, OneOfDpEvent) for leaf in parts(event))


def pure_epsilon(event: DpEvent) -> Fraction | None:
    """The exact epsilon of an event made of Laplace noise only, else None."""
    return exact_sum(parts(event))


def exact_sum(leaves: Mapping[DpEvent, int]) -> Fraction | None:
    """The exact epsilon of leaves with Laplace noise only, else None."""
    total = Fraction(0)
    for leaf, count in leaves.items():
        if isinstance(leaf, DiscreteLaplaceDpEvent):
            total += Fraction(leaf.noise_parameter) * count
        elif isinstance(leaf, OneOfDpEvent):
            amounts = [amount for e in leaf.events if (amount := pure_epsilon(e)) is not None]
            if len(amounts) < len(leaf.events):
                return None
            total += max(amounts) * count
        else:
            return None
    return total


def has_floating_noise(event: DpEvent) -> bool:
    """Whether any noise of the event is drawn in floating point.

    >>> has_floating_noise(compose([step_event(2.0, 0.1), noisy_table(1, "add_remove")]))
    True
    >>> has_floating_noise(step_event(2.0, 0.1, exact=True))
    False
    """
    return any(map(_floats, parts(event)))


def _floats(leaf: DpEvent) -> bool:
    if isinstance(leaf, OneOfDpEvent):
        return any(map(has_floating_noise, leaf.events))
    if isinstance(leaf, (RepeatAndSelectDpEvent, PoissonSampledDpEvent)):
        return _floats(leaf.event)
    return not isinstance(leaf, (GridGaussianDpEvent, DiscreteLaplaceDpEvent))


def _check_leaf(event: DpEvent) -> None:
    if isinstance(event, PoissonSampledDpEvent) and isinstance(event.event, GaussianDpEvent):
        validate.in_open_interval(0, 1, sampling_rate=event.sampling_probability)
        validate.positive(noise_multiplier=event.event.noise_multiplier)
    elif isinstance(event, GaussianDpEvent):
        validate.positive(noise_multiplier=event.noise_multiplier)
    elif isinstance(event, DiscreteLaplaceDpEvent) and event.sensitivity == 1:
        validate.positive(noise_parameter=event.noise_parameter)
    elif isinstance(event, RepeatAndSelectDpEvent) and isinstance(event.event, OneOfDpEvent):
        _check_runs(event)
    elif isinstance(event, OneOfDpEvent):
        _check_alternatives(event, MAX_SCOPES)
    else:
        raise InputError(f"Expected a Gaussian or discrete Laplace event, got {event}.")


def _check_runs(event: RepeatAndSelectDpEvent) -> None:
    if not 1 < event.mean <= MAX_RUNS:
        raise InputError(f"Expected 1 < mean number of runs <= {MAX_RUNS}, got {event.mean}.")
    if not 0 <= event.shape <= 1:
        raise InputError(f"Expected 0 <= shape <= 1, got {event.shape}.")
    _check_alternatives(event.event, MAX_ALTERNATIVES)
    for alternative in event.event.events:
        if any(isinstance(leaf, RepeatAndSelectDpEvent) for leaf in parts(alternative)):
            raise InputError("Expected runs that are no searches themselves.")


def _check_alternatives(event: OneOfDpEvent, most: int) -> None:
    if not 0 < len(event.events) <= most:
        raise InputError(f"Expected 1 to {most} alternatives of a run.")
    for alternative in event.events:
        if any(isinstance(leaf, OneOfDpEvent) for leaf in parts(alternative)):
            raise InputError("Expected alternatives that offer no choice themselves.")


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
