"""How much noise a budget needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import cast

from dp_accounting.dp_event import GaussianDpEvent, PoissonSampledDpEvent

from dpfair import validate
from dpfair.cache import kept
from dpfair.errors import InputError
from dpfair.privacy.accountants.answers import epsilon_of
from dpfair.privacy.accountants.estimate import estimated_epsilon
from dpfair.privacy.accountants.formula import formula_epsilon
from dpfair.privacy.accountants.loss import is_large
from dpfair.privacy.accountants.pld import grid_of
from dpfair.privacy.event_json import alike, event_to_json
from dpfair.privacy.events import DpEvent, compose, gaussian_steps, parts

__all__ = ["MAX_EPSILON", "calibrate", "calibrate_event", "smallest_multiplier"]

# A larger epsilon gives no useful protection.
MAX_EPSILON = 200

Quick = Callable[[float], float]

# The logarithm of the largest noise multiplier that calibration tries.
_MAX_NOISE = 40.0

# The part of the target that may be left over.
_TOLERANCE = 2e-5

# So many steps by the secant method, before halving takes over.
_MOST_SECANTS = 20

# The factor by which the noise of a stated run may be too large: other versions were less tight.
_SLACK = 1.1


def calibrate(
    epsilon: float,
    delta: float,
    sampling_rate: float,
    steps: int,
    *,
    relation: str = "add_remove",
    other_events: Sequence[DpEvent] = (),
    exact: bool = False,
    stated: DpEvent | None = None,
) -> float:
    """The smallest noise multiplier that the PLD accountant certifies for the budget.

    Parameters
    ----------
    epsilon, delta
        The budget of the whole run.
    sampling_rate, steps
        Each of ``steps`` noisy sums includes every record with this probability.
    other_events
        Other events that the same budget pays for, on the same records.
    exact
        For sums of integers with discrete Gaussian noise, which needs no larger multiplier.
    stated
        The event of a run that is finished: its multiplier is checked instead of searched for.

    Returns
    -------
    float
        Standard deviation of the noise divided by the clipping norm. The certified epsilon of the
        returned value is at most the one asked for.

    Examples
    --------
    >>> round(calibrate(2.9, 1e-5, sampling_rate=1024 / 22611, steps=1150), 2)
    2.35
    """
    validate.positive(sampling_rate=sampling_rate, steps=steps)
    validate.in_open_interval(0, 1, delta=delta)

    def event_of(multiplier: float) -> DpEvent:
        return gaussian_steps(multiplier, sampling_rate, steps, exact=exact)

    return calibrate_event(
        event_of,
        epsilon,
        delta,
        relation=relation,
        other_events=other_events,
        stated=stated,
        start=max(0.3, sampling_rate * math.sqrt(steps) * math.sqrt(2 * math.log(1 / delta)) / 4),
    )


def calibrate_event(
    event_of: Callable[[float], DpEvent],
    target: float,
    delta: float,
    *,
    relation: str = "add_remove",
    other_events: Sequence[DpEvent] = (),
    stated: DpEvent | None = None,
    start: float = 1.0,
) -> float:
    """The smallest multiplier, or hardly more, whose event stays within the target.

    It leaves at most one part in 50,000 of the target.

    ``event_of`` is the event as a function of the multiplier, to which its noise is proportional,
    ``other_events`` is what else the target pays for, and ``start`` is where the search begins.
    With ``stated``, the event of a finished run, its multiplier is returned if this target could
    have led to it, and refused if not.
    """
    validate.positive(epsilon=target)
    if target > MAX_EPSILON:
        raise InputError(f"Expected epsilon <= {MAX_EPSILON}, got {target}: it protects nothing.")
    validate.in_open_interval(0, 1, delta=delta)

    def whole(multiplier: float) -> DpEvent:
        return compose([event_of(multiplier), *other_events])

    def spent(multiplier: float) -> float:
        event = whole(multiplier)
        return math.inf if is_large(event) else epsilon_of(event, delta, relation)

    if stated is not None:
        return _checked(stated, event_of, spent, target)

    def expected(multiplier: float) -> float | None:
        leaves = parts(whole(multiplier))
        return formula_epsilon(leaves, delta, relation, grid=grid_of(leaves))

    @cache
    def estimated(multiplier: float) -> float | None:
        event = whole(multiplier)
        return math.inf if is_large(event) else estimated_epsilon(parts(event), delta, relation)

    def search() -> float:
        return smallest_multiplier(spent, target, *_likely(expected, estimated, target, start))

    def certified(found: object) -> bool:
        if not (isinstance(found, float) and math.exp(-_MAX_NOISE) < found < math.exp(_MAX_NOISE)):
            return False
        return target * (1 - _TOLERANCE) <= spent(found) <= target

    if not any(isinstance(leaf, PoissonSampledDpEvent) for leaf in parts(whole(start))):
        return search()  # by a formula, in no more time than certifies what is kept
    events = [event_to_json(event) for event in (event_of(1.0), *other_events)]
    inputs = [events, float(target), delta, relation, start]
    return float(kept("noise of sampled batches", inputs, search, certified))


def _checked(
    stated: DpEvent,
    event_of: Callable[[float], DpEvent],
    spent: Callable[[float], float],
    target: float,
) -> float:
    """The multiplier of a finished run, if the target could have led to it."""
    multiplier = _noise_of(stated) / _noise_of(event_of(1.0))
    # The cost is computed only if the events agree in everything but the noise.
    if not alike(event_to_json(stated), event_to_json(event_of(multiplier))):
        raise InputError("The stated event is another one than the settings lead to.")
    cost = spent(multiplier)
    # With a cost of nearly the target, the noise is not too large, however slowly costs fall there.
    enough = cost > target * (1 - 2 * _TOLERANCE) or spent(multiplier / _SLACK) > target
    if cost > target * (1 + 1e-6) or not enough:
        raise InputError("The stated noise is not what the budget leads to.")
    return multiplier


def _likely(
    expected: Callable[[float], float | None],
    estimated: Callable[[float], float | None],
    target: float,
    start: float,
) -> tuple[float, float]:
    """Where the certified multiplier is likely to be, and the power by which costs fall there.

    To evaluate a formula takes no time compared with an accountant, and an estimate takes a part of
    its time. Then the accountant has to be asked once or twice. Without a formula, the search
    begins at ``start``.
    """
    if expected(start) is None:
        return start, 1.0
    found = smallest_multiplier(cast(Quick, expected), target, start, 1.0, 1e-7)
    costs = expected(found), expected(1.01 * found)
    power = math.log(costs[0] / costs[1]) / math.log(1.01) if costs[0] and costs[1] else 1.0
    if estimated(found) is None:
        return found * (1 + _TOLERANCE / 2 / power), power
    found = smallest_multiplier(cast(Quick, estimated), target, found, power, _TOLERANCE / 2)
    return found * (1 + _TOLERANCE / 4 / power), power


def _noise_of(event: DpEvent) -> float:
    """The multiplier of the first Gaussian of an event."""
    found = (getattr(leaf, "event", leaf) for leaf in parts(event))
    noise = [leaf.noise_multiplier for leaf in found if isinstance(leaf, GaussianDpEvent)]
    if not noise:
        raise InputError("Expected an event with Gaussian noise.")
    return float(noise[0])


def smallest_multiplier(
    spent: Callable[[float], float],
    target: float,
    start: float,
    power: float = 1.0,
    tolerance: float = _TOLERANCE,
) -> float:
    """The smallest multiplier, or hardly more, at which at most ``target`` is spent.

    ``spent`` falls smoothly and about like a ``power`` of the multiplier, so steps by this power
    and then the secant method on logarithms converge in a few evaluations, or in one if the search
    starts at the answer; the bracket guarantees that it ends, and that the target is not exceeded.
    ``spent`` may be infinite if the noise is too small to account for. ``tolerance`` is the part of
    the target that may be left over.

    Examples
    --------
    >>> 0.5 <= smallest_multiplier(lambda multiplier: 1 / multiplier, 2.0, start=1.0) < 0.5001
    True
    """

    def excess(log_multiplier: float) -> float:
        value = spent(math.exp(log_multiplier))
        return 1.0 if math.isinf(value) else math.log(max(value, 1e-12) / target)

    low = high = None  # too little noise and enough of it, with their excess
    guess, steps = math.log(start), 0
    while True:
        if guess > _MAX_NOISE:
            raise InputError(f"No amount of noise is certified for epsilon = {target:g}.")
        value = excess(guess)
        if value > 0:
            low = (guess, value)
        else:
            high = (guess, value)
        if high and (high[1] > -tolerance or (low and high[0] - low[0] <= 5 * tolerance)):
            return math.exp(high[0])
        steps += 1
        if low is None:
            guess += max(value, -1.0) / power
        elif high is None:
            guess += (min(value, 1.0) + tolerance / 2) / power
        elif steps < _MOST_SECANTS:
            guess = _secant(low, high, tolerance)
        else:
            guess = (low[0] + high[0]) / 2


def _secant(low: tuple[float, float], high: tuple[float, float], tolerance: float) -> float:
    """Where half the tolerance is left over, on a line; strictly between the two."""
    share = (tolerance / 2 + high[1]) / (high[1] - low[1])
    guess = high[0] - share * (high[0] - low[0])
    return min(max(guess, low[0] + tolerance / 2), high[0] - tolerance / 2)
