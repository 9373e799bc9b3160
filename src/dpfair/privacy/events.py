"""Privacy costs as the frozen events of dp_accounting.

dpfair uses three leaves: a Gaussian (also on a grid of integers), a Poisson-sampled Gaussian and a
discrete Laplace of sensitivity one, and composes them. Accountants and ledgers use only the *parts*
of an event: a list of leaves with their multiplicities. The best of several runs is another leaf:
its runs are not composed, and only Renyi DP has its cost. One of several mechanisms is also a
leaf, which costs as much as the most expensive of them.

The meaning of an event depends on the relation: a Gaussian's noise multiplier is relative to the
largest norm of **one record's contribution** (the accountant doubles it for ``replace_one``),
while a discrete Laplace event lists every table cell that one neighbour can change.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Rational

from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RepeatAndSelectDpEvent,
    SelfComposedDpEvent,
)
from dp_accounting.privacy_accountant import NeighboringRelation

from dpfair import validate
from dpfair.errors import InputError

__all__ = [
    "RELATIONS",
    "DpEvent",
    "GridGaussianDpEvent",
    "OneOfDpEvent",
    "ThresholdedDpEvent",
    "best_of_runs",
    "chooses",
    "compose",
    "drawable",
    "exact_epsilon",
    "exact_sum",
    "from_parts",
    "gaussian_steps",
    "has_floating_noise",
    "names_values",
    "noisy_table",
    "parts",
    "path_events",
    "pure_epsilon",
    "scopes_overlap",
    "searches",
    "step_event",
]

# More repetitions than any run has; a larger count is a mistake or an attack.
MAX_REPETITIONS = 10**9
MAX_ALTERNATIVES = 10**4
# A fit has at most three scopes with different costs; each is composed separately.
MAX_SCOPES = 16
MAX_RUNS = 10**4

RELATIONS = {
    "add_remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace_one": NeighboringRelation.REPLACE_ONE,
}


class GridGaussianDpEvent(GaussianDpEvent):  # type: ignore[misc]
    """A sum of integer vectors with discrete Gaussian noise: no rounding anywhere.

    It costs what the Gaussian of its noise multiplier costs, for every accountant: see
    :mod:`dpfair.privacy.grid`. It is a separate event because its noise is drawn differently, and
    so that a ledger shows which arithmetic was used.
    """

    __slots__ = ()


@dataclass(frozen=True)
class ThresholdedDpEvent(DpEvent):  # type: ignore[misc]
    r"""Counts of values that are not known beforehand, such as the words of a column.

    Only values that occur are counted, each count gets discrete Gaussian noise, and a value is
    named only if its noisy count reaches a threshold. To add a record changes the counts of
    values that others have, which costs what the Gaussian of the ``noise_multiplier`` costs, and
    it may bring values that nobody else has. Those are counted once, and their noise reaches the
    threshold with probability ``delta`` at most, all of them together. Their noise is independent
    of the rest, so the whole is the composition of a Gaussian with a mechanism whose outputs
    differ by ``delta`` in total variation: a (0, delta)-private one. To replace a record may also
    remove such values, which costs ``delta`` once more.
    """

    noise_multiplier: float
    delta: float


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

    Adding or removing a record changes one cell by one; replacing a record changes two cells by
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
            validate.positive(epsilon=float(epsilon))  # "1e999999999" would be a huge number
        exact = Fraction(epsilon if isinstance(epsilon, (str, Rational)) else float(epsilon))
        rounded = float(exact)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise InputError(f"Expected epsilon > 0 and finite, got {epsilon}.") from error
    validate.positive(epsilon=rounded)
    return exact


@dataclass(frozen=True)
class OneOfDpEvent(DpEvent):  # type: ignore[misc]
    """One of several mechanisms, chosen without looking at a record.

    The choice may be a coin for every record (which scope it is in: a whole fit with disjoint
    scopes is one such event) or for the whole run (which settings it has). Given the coin, both
    neighbours have the same alternative, and hockey-stick divergences are jointly convex: the
    mixture's delta at any epsilon is at most that of the alternative that is the worst there.
    Renyi divergences are quasi-convex, so the same holds at every order. The cost
    of several choices together is described in :mod:`dpfair.privacy.alternatives`.

    The order of the alternatives and the way they were composed have no meaning.
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
    """A random number of runs, each one of the alternatives; only the best run is released.

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
    """The whole cost of a record, for every scope that it may be in.

    >>> len(path_events([("", step_event(1, 1)), ("a", step_event(2, 1)), ("b", step_event(3, 1))]))
    3
    """
    listed = list(charges)
    leaves = dict.fromkeys(scope for scope, _ in listed)
    return [compose([e for scope, e in listed if _contains(scope, leaf)]) for leaf in leaves]


def scopes_overlap(one: str, other: str) -> bool:
    """Whether a record may be in both scopes.

    >>> scopes_overlap("", "train"), scopes_overlap("train", "release")
    (True, False)
    """
    return _contains(one, other) or _contains(other, one)


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
    """What a mechanism may draw for one payment: leaves, and repeated Laplace events as a whole.

    The repetition of a table's Laplace event lists the cells that one neighbour changes. It pays
    for one table, not for several. A choice is not drawn at all: the job that makes the choice has
    its own ledger, with a charge for every scope.

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
    if isinstance(event, SelfComposedDpEvent) and (pure_epsilon(event) is None or chooses(event)):
        return Counter({e: n * event.count for e, n in drawable(event.event).items()})
    return Counter() if isinstance(event, OneOfDpEvent) else Counter({event: 1})


def chooses(event: DpEvent) -> bool:
    """Whether one of several mechanisms is part of the event."""
    return any(isinstance(leaf, OneOfDpEvent) for leaf in parts(event))


def names_values(event: DpEvent) -> bool:
    """Whether values that are not known beforehand are counted and named."""
    return any(
        any(map(names_values, leaf.events))
        if isinstance(leaf, OneOfDpEvent)
        else names_values(leaf.event)
        if isinstance(leaf, RepeatAndSelectDpEvent)
        else isinstance(leaf, ThresholdedDpEvent)
        for leaf in parts(event)
    )


def searches(event: DpEvent) -> bool:
    """Whether the best of several runs is part of the event, or of an alternative in it."""
    return any(
        any(map(searches, leaf.events))
        if isinstance(leaf, OneOfDpEvent)
        else isinstance(leaf, RepeatAndSelectDpEvent)
        for leaf in parts(event)
    )


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
    return not isinstance(leaf, (GridGaussianDpEvent, DiscreteLaplaceDpEvent, ThresholdedDpEvent))


def _check_leaf(event: DpEvent) -> None:
    if isinstance(event, PoissonSampledDpEvent) and isinstance(event.event, GaussianDpEvent):
        validate.in_open_interval(0, 1, sampling_rate=event.sampling_probability)
        validate.positive(noise_multiplier=event.event.noise_multiplier)
    elif isinstance(event, GaussianDpEvent):
        validate.positive(noise_multiplier=event.noise_multiplier)
    elif isinstance(event, ThresholdedDpEvent):
        validate.positive(noise_multiplier=event.noise_multiplier)
        validate.in_open_interval(0, 1, delta=event.delta)
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
