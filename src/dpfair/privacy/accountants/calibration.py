"""How much noise a budget needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dp_accounting.dp_event import GaussianDpEvent

from dpfair import validate
from dpfair.errors import InputError
from dpfair.privacy.accountants.answers import epsilon_of
from dpfair.privacy.accountants.loss import is_large
from dpfair.privacy.event_json import alike, event_to_json
from dpfair.privacy.events import DpEvent, compose, gaussian_steps, parts

__all__ = ["MAX_EPSILON", "calibrate", "calibrate_event", "smallest_multiplier"]

# A larger epsilon gives no useful protection.
MAX_EPSILON = 200

# The logarithm of the largest noise multiplier that calibration tries.
_MAX_NOISE = 40.0

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
    """The smallest multiplier, to one part in ten thousand, whose event stays within the target.

    ``event_of`` is the event as a function of the multiplier, to which its noise is proportional,
    ``other_events`` is what else the target pays for, and ``start`` is where the search begins.
    With ``stated``, the event of a finished run, its multiplier is returned if this target could
    have led to it, and refused if not.
    """
    validate.positive(epsilon=target)
    if target > MAX_EPSILON:
        raise InputError(f"Expected epsilon <= {MAX_EPSILON}, got {target}: it protects nothing.")
    validate.in_open_interval(0, 1, delta=delta)

    def spent(multiplier: float) -> float:
        event = compose([event_of(multiplier), *other_events])
        return math.inf if is_large(event) else epsilon_of(event, delta, relation)

    if stated is None:
        return smallest_multiplier(spent, target, start)
    multiplier = _noise_of(stated) / _noise_of(event_of(1.0))
    # The cost is computed only if the events agree in everything but the noise.
    if not alike(event_to_json(stated), event_to_json(event_of(multiplier))):
        raise InputError("The stated event is another one than the settings lead to.")
    if spent(multiplier) > target * (1 + 1e-6) or spent(multiplier / _SLACK) <= target:
        raise InputError("The stated noise is not what the budget leads to.")
    return multiplier


def _noise_of(event: DpEvent) -> float:
    """The multiplier of the first Gaussian of an event."""
    found = (getattr(leaf, "event", leaf) for leaf in parts(event))
    noise = [leaf.noise_multiplier for leaf in found if isinstance(leaf, GaussianDpEvent)]
    if not noise:
        raise InputError("Expected an event with Gaussian noise.")
    return float(noise[0])


def smallest_multiplier(spent: Callable[[float], float], target: float, start: float) -> float:
    """The smallest multiplier, to one part in ten thousand, at which at most ``target`` is spent.

    ``spent`` falls smoothly and about like a power of the multiplier, so the secant method on
    logarithms converges in a few evaluations; the bracket guarantees that it ends, and that the
    target is not exceeded. ``spent`` may be infinite if the noise is too small to account for.

    Examples
    --------
    >>> 0.5 <= smallest_multiplier(lambda multiplier: 1 / multiplier, 2.0, start=1.0) < 0.5001
    True
    """

    def excess(log_multiplier: float) -> float:
        value = spent(math.exp(log_multiplier))
        return 1.0 if math.isinf(value) else math.log(max(value, 1e-12) / target)

    high = math.log(start)
    value_high = excess(high)
    while value_high > 0:
        if high > _MAX_NOISE:
            raise InputError(f"No amount of noise is certified for epsilon = {target:g}.")
        high += max(0.05, min(1.0, value_high))
        value_high = excess(high)
    low, value_low = high - 0.05, excess(high - 0.05)
    while value_low <= 0:
        high, value_high = low, value_low
        low -= max(0.05, min(1.0, -value_low))
        value_low = excess(low)
    while high - low > 1e-4 and value_high < -1e-6:
        guess = high + value_high * (high - low) / (value_low - value_high)
        guess = min(max(guess + 1e-5, low + 1e-5), high - 1e-5)
        value = excess(guess)
        if value <= 0:
            high, value_high = guess, value
        else:
            low, value_low = guess, value
    return math.exp(high)
