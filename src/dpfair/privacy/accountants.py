"""From events to epsilon: four accountants behind one call, and calibration.

========  ==================================================  ===============
name      what it is                                          a guarantee?
========  ==================================================  ===============
``pld``   privacy loss distributions (dp_accounting)          yes: the gate
``rdp``   Renyi DP, the moments accountant (dp_accounting)    yes, looser
``prv``   privacy random variables (prv_accountant)           cross-check
``gdp``   central limit theorem (Bu et al. 2020)              **no**
========  ==================================================  ===============

Pure mechanisms enter ``rdp``, ``prv`` and ``gdp`` by adding their epsilon, which is always
valid; ``pld`` composes them properly. The best of several runs has no known distribution of
losses: whatever contains a search is left to ``rdp``. One of several mechanisms is known to ``pld``
and ``rdp`` (:mod:`dpfair.privacy.alternatives`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from dp_accounting import NeighboringRelation
from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RepeatAndSelectDpEvent,
)
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant, compute_epsilon
from numpy.typing import NDArray

from dpfair import validate
from dpfair.errors import InputError
from dpfair.privacy.alternatives import choices, worst_of
from dpfair.privacy.events import (
    RELATIONS,
    DpEvent,
    OneOfDpEvent,
    compose,
    from_parts,
    gaussian_steps,
    parts,
    pure_epsilon,
)
from dpfair.privacy.repetition import best_of_runs_curve

# Beyond this the distributions of the privacy loss fill the memory, and nothing is protected.
MAX_EPSILON = 200
MAX_LOSS = 60

__all__ = [
    "ACCOUNTANTS",
    "ORDERS",
    "Epsilon",
    "calibrate",
    "calibrate_event",
    "cost",
    "epsilon",
    "epsilons",
    "renyi_curve",
]


# The logarithm of the largest noise multiplier that calibration tries.
_MAX_NOISE = 40.0

# The orders of Renyi DP, as dp_accounting chooses them; ledgers rely on them to stay the same.
ORDERS = np.concatenate([np.arange(11, 110) / 10, np.arange(11, 64), [128.0, 256.0, 512.0, 1024.0]])


@dataclass(frozen=True)
class Epsilon:
    """An accountant's answer: the epsilon at a delta, and whether it is an upper bound."""

    epsilon: float
    delta: float
    accountant: str
    is_bound: bool


def epsilon(
    event: DpEvent, delta: float, *, relation: str = "add_remove", accountant: str = "pld"
) -> Epsilon:
    """The epsilon of an event at a delta.

    Examples
    --------
    >>> from dpfair.privacy.events import gaussian_steps
    >>> round(epsilon(gaussian_steps(3.13 / 1.5, 0.034, 1500), 1e-5).epsilon, 2)
    2.83
    """
    validate.in_open_interval(0, 1, delta=delta)
    validate.one_of(RELATIONS, relation=relation)
    validate.one_of(ACCOUNTANTS, accountant=accountant)
    known = _accountants_for(event, relation)
    if accountant == "pld":
        accountant = known[0]  # the gate
    if accountant not in known:
        what = "search" if _searches(event) else "choice" if _chooses(event) else relation
        raise InputError(f"The {accountant} accountant knows no {what}; use {known[0]}.")
    _refuse_hopeless(event)
    value = max(
        _rounded_up(accountant, from_parts(paid), delta, relation) for paid in choices(parts(event))
    )
    return Epsilon(value, delta, accountant, ACCOUNTANTS[accountant][1])


def cost(event: DpEvent, delta: float, relation: str) -> Fraction:
    """What a budget pays: an exact sum where all noise is Laplace's, else the certified epsilon.

    Among alternatives the dearest counts, each in its own way: a fit whose table costs exactly
    what was left is not refused because its training needs an accountant.
    """
    pure = pure_epsilon(event)
    if pure is not None:
        return pure
    _refuse_hopeless(event)
    return max(_exact_cost(from_parts(paid), delta, relation) for paid in choices(parts(event)))


def _exact_cost(event: DpEvent, delta: float, relation: str) -> Fraction:
    pure = pure_epsilon(event)
    if pure is not None:
        return pure
    gate = _accountants_for(event, relation)[0]
    return Fraction(_rounded_up(gate, event, delta, relation))


def _refuse_hopeless(event: DpEvent) -> None:
    if _hopeless(event):
        raise InputError("The noise is too small for so many steps: it protects nobody.")


def _rounded_up(accountant: str, event: DpEvent, delta: float, relation: str) -> float:
    value = ACCOUNTANTS[accountant][0](event, delta, RELATIONS[relation])
    if not (math.isfinite(value) and value >= 0):
        raise InputError(f"The {accountant} accountant has no finite answer for this event.")
    return math.nextafter(value, math.inf)


def epsilons(event: DpEvent, delta: float, *, relation: str = "add_remove") -> dict[str, Epsilon]:
    """Every accountant's answer that exists for the relation, side by side."""
    names = _accountants_for(event, relation)
    return {n: epsilon(event, delta, relation=relation, accountant=n) for n in names}


def calibrate(
    epsilon: float,
    delta: float,
    sampling_rate: float,
    steps: int,
    *,
    relation: str = "add_remove",
    other_events: Sequence[DpEvent] = (),
    exact: bool = False,
) -> float:
    """The smallest noise multiplier that the PLD accountant certifies for the budget.

    Parameters
    ----------
    epsilon, delta
        The budget of the whole run.
    sampling_rate, steps
        Each of ``steps`` noisy sums sees every record with this probability.
    other_events
        Other events that the same budget pays for, on the same records.
    exact
        For sums of integers with discrete Gaussian noise, which needs no larger multiplier.

    Returns
    -------
    float
        Standard deviation of the noise divided by the clipping norm. Never optimistic: the
        certified epsilon of the returned value is at most the one asked for.

    Examples
    --------
    >>> round(calibrate(2.9, 1e-5, sampling_rate=1024 / 22611, steps=1150), 2)
    2.35
    """
    validate.positive(sampling_rate=sampling_rate, steps=steps)
    validate.in_open_interval(0, 1, delta=delta)

    def event_of(multiplier: float) -> DpEvent:
        return compose(
            [gaussian_steps(multiplier, sampling_rate, steps, exact=exact), *other_events]
        )

    return calibrate_event(
        event_of,
        epsilon,
        delta,
        relation=relation,
        start=max(0.3, sampling_rate * math.sqrt(steps) * math.sqrt(2 * math.log(1 / delta)) / 4),
    )


def calibrate_event(
    event_of: Callable[[float], DpEvent],
    target: float,
    delta: float,
    *,
    relation: str = "add_remove",
    start: float = 1.0,
) -> float:
    """The smallest multiplier, to one part in ten thousand, whose event stays within the target.

    The epsilon falls smoothly and about like a power of the multiplier, so the secant method
    on logarithms converges in a few evaluations; the bracket guarantees that it ends, and on
    the certified side.
    """
    validate.positive(epsilon=target)
    if target > MAX_EPSILON:
        raise InputError(f"Expected epsilon <= {MAX_EPSILON}, got {target}: it protects nobody.")
    validate.in_open_interval(0, 1, delta=delta)

    def excess(log_multiplier: float) -> float:
        if _hopeless(event_of(math.exp(log_multiplier))):
            return 1.0
        spent = epsilon_of(event_of(math.exp(log_multiplier)), delta, relation)
        return math.log(max(spent, 1e-12) / target)

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


def epsilon_of(event: DpEvent, delta: float, relation: str) -> float:
    """The certified epsilon as a plain number."""
    return epsilon(event, delta, relation=relation).epsilon


@lru_cache(maxsize=256)
def _leaf_distribution(
    leaf: DpEvent, count: int, interval: float, relation: NeighboringRelation
) -> pld.PrivacyLossDistribution:
    if isinstance(leaf, OneOfDpEvent):
        alternatives = [_distribution(_grouped(e), interval, relation) for e in leaf.events]
        return worst_of(alternatives, interval).self_compose(count)
    if isinstance(leaf, DiscreteLaplaceDpEvent):
        # The event already lists every cell that a neighbour moves, under either relation.
        return pld.from_discrete_laplace_mechanism(
            leaf.noise_parameter, sensitivity=1, value_discretization_interval=interval
        ).self_compose(count)
    if isinstance(leaf, PoissonSampledDpEvent):
        return pld.from_gaussian_mechanism(
            leaf.event.noise_multiplier,
            value_discretization_interval=interval,
            sampling_prob=leaf.sampling_probability,
            neighboring_relation=relation,
        ).self_compose(count)
    return pld.from_gaussian_mechanism(
        leaf.noise_multiplier / math.sqrt(count),
        value_discretization_interval=interval,
        neighboring_relation=relation,
    )


def _hopeless(event: DpEvent) -> bool:
    """Noise so small that its distribution of losses would fill the memory protects nobody."""
    return _squared_loss(event) > MAX_LOSS**2


def _squared_loss(event: DpEvent) -> float:
    squared = 0.0
    for leaf, count in parts(event).items():
        if isinstance(leaf, DiscreteLaplaceDpEvent):
            continue
        if isinstance(leaf, RepeatAndSelectDpEvent):
            if any(map(_hopeless, leaf.event.events)):
                return math.inf
            continue
        if isinstance(leaf, OneOfDpEvent):
            squared += count * max(map(_squared_loss, leaf.events))
            continue
        rate = getattr(leaf, "sampling_probability", 1.0)
        multiplier = getattr(leaf, "event", leaf).noise_multiplier
        if multiplier < 0.05 and rate < 1:
            squared = math.inf
        else:
            squared += count * (
                rate**2 * math.expm1(multiplier**-2) if rate < 1 else multiplier**-2
            )
    return squared


def _discretisation(leaf: DpEvent, count: int) -> float:
    """A grid for the privacy loss, about a hundredth of what one step loses; always pessimistic."""
    scale: float
    if isinstance(leaf, OneOfDpEvent):
        return min(_discretisation(*part) for e in leaf.events for part in parts(e).items())
    if isinstance(leaf, PoissonSampledDpEvent):
        scale = leaf.sampling_probability / (8 * leaf.event.noise_multiplier)
    elif isinstance(leaf, DiscreteLaplaceDpEvent):
        scale = leaf.noise_parameter / 100
    else:
        scale = math.sqrt(count) / (100 * leaf.noise_multiplier)
    # Below 1e-4 the answer hardly moves while the distributions grow beyond memory.
    return min(1e-3, max(scale, 1e-4))


@lru_cache(maxsize=1024)
def _pld_epsilon_of_parts(
    leaves: frozenset[tuple[DpEvent, int]], delta: float, relation: NeighboringRelation
) -> float:
    interval = min(_discretisation(leaf, count) for leaf, count in leaves)
    left = delta - _rounding(leaves)
    if left <= 0:
        return math.inf
    return float(_distribution(leaves, interval, relation).get_epsilon_for_delta(left))


def _distribution(
    leaves: frozenset[tuple[DpEvent, int]], interval: float, relation: NeighboringRelation
) -> pld.PrivacyLossDistribution:
    # In a fixed order, or the last digits would differ from one process to the next.
    one, *others = (
        _leaf_distribution(leaf, n, interval, relation) for leaf, n in sorted(leaves, key=repr)
    )
    for other in others:
        one = one.compose(other)
    return one


def _rounding(leaves: frozenset[tuple[DpEvent, int]]) -> float:
    """An allowance, in delta, for the Fourier transforms that compose distributions.

    Against the exact Gaussian answer their error was at most 6e-17 per composition, of either
    sign; without an allowance the result falls below the truth from delta = 1e-12 on.
    """
    counts = [_transforms(leaf, count) for leaf, count in leaves]
    return 0.0 if counts == [1] else sum(counts) * 2.0**-52


def _transforms(leaf: DpEvent, count: int) -> int:
    if isinstance(leaf, OneOfDpEvent):
        return count * max(1 + sum(_transforms(*p) for p in parts(e).items()) for e in leaf.events)
    return 1 if isinstance(leaf, GaussianDpEvent) else count


def _grouped(event: DpEvent) -> frozenset[tuple[DpEvent, int]]:
    return frozenset(parts(event).items())


def _pld_epsilon(event: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    spent = _pld_epsilon_of_parts(_grouped(event), delta, relation)
    pure = pure_epsilon(event)
    return spent if pure is None else min(spent, float(pure))


def _split(event: DpEvent) -> tuple[list[tuple[float, float, int]], float]:
    """(sampling rate, multiplier, count) of the Gaussian leaves; summed epsilon of the rest."""
    gaussians, pure = [], 0.0
    for leaf, count in parts(event).items():
        if isinstance(leaf, DiscreteLaplaceDpEvent):
            pure += leaf.noise_parameter * count
        elif isinstance(leaf, PoissonSampledDpEvent):
            rate, multiplier = leaf.sampling_probability, leaf.event.noise_multiplier
            gaussians.append((rate, multiplier, count))
        else:
            gaussians.append((1.0, leaf.noise_multiplier, count))
    return gaussians, pure


def _searches(event: DpEvent) -> bool:
    return any(
        any(map(_searches, leaf.events))
        if isinstance(leaf, OneOfDpEvent)
        else isinstance(leaf, RepeatAndSelectDpEvent)
        for leaf in parts(event)
    )


def _chooses(event: DpEvent) -> bool:
    return any(isinstance(leaf, OneOfDpEvent) for leaf in parts(event))


def _rdp_epsilon(event: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    if _searches(event) or _chooses(event):
        return float(compute_epsilon(ORDERS, _curve(event, relation), delta)[0])
    gaussians, pure = _split(event)
    if not gaussians:
        return pure
    accountant = RdpAccountant(neighboring_relation=relation)
    for rate, multiplier, count in gaussians:
        accountant.compose(gaussian_steps(multiplier, rate, count))
    return float(accountant.get_epsilon(delta)) + pure


def renyi_curve(event: DpEvent, relation: str) -> NDArray[np.float64]:
    """The Renyi divergence of an event at every one of ``ORDERS``."""
    return _curve(event, RELATIONS[relation])


def _curve(event: DpEvent, relation: NeighboringRelation) -> NDArray[np.float64]:
    curves = [count * _leaf_curve(leaf, relation) for leaf, count in parts(event).items()]
    return np.asarray(np.sum(curves, axis=0))


@lru_cache(maxsize=1024)
def _leaf_curve(leaf: DpEvent, relation: NeighboringRelation) -> NDArray[np.float64]:
    if isinstance(leaf, OneOfDpEvent):
        return np.asarray(np.max([_curve(e, relation) for e in leaf.events], axis=0))
    if isinstance(leaf, RepeatAndSelectDpEvent):
        one_run = _leaf_curve(leaf.event, relation)
        return best_of_runs_curve(ORDERS, one_run, leaf.mean, leaf.shape)
    if isinstance(leaf, DiscreteLaplaceDpEvent):
        # |z| and |z - 1| differ by exactly 1, so the loss is t or -t and nothing between: this
        # is randomised response, the worst of all t-DP mechanisms. (The continuous Laplace
        # mechanism of the same parameter costs less, and would be no bound.)
        t = leaf.noise_parameter
        log_sum = np.logaddexp(ORDERS * t, (1 - ORDERS) * t) - np.logaddexp(0.0, t)
        return np.asarray(log_sum / (ORDERS - 1))
    if isinstance(leaf, GaussianDpEvent):
        # Replacing a record moves the sum by the contributions of two.
        moved = 1 if relation is NeighboringRelation.ADD_OR_REMOVE_ONE else 2
        return np.asarray(ORDERS * (moved / leaf.noise_multiplier) ** 2 / 2)
    accountant = RdpAccountant(ORDERS, relation)
    if not accountant.supports(leaf):
        raise InputError(
            "DP-SGD in a search, or beside other jobs that are not planned, is accounted for under "
            "add_remove only."
        )
    return np.asarray(accountant.compose(leaf).rdp)


def _gdp_epsilon(event: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    """Bu et al.: mu^2 = sum of q^2 T (exp(1/s^2) - 1), read off the Gaussian trade-off curve."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    gaussians, pure = _split(event)
    if not gaussians:
        return pure
    # A full-batch Gaussian is exactly 1/s-GDP; the limit theorem is needed only below rate 1.
    mu = math.sqrt(
        sum(
            count * (rate**2 * math.expm1(multiplier**-2) if rate < 1 else multiplier**-2)
            for rate, multiplier, count in gaussians
        )
    )

    def excess(eps: float) -> float:
        tail = norm.cdf(-eps / mu + mu / 2) - math.exp(eps) * norm.cdf(-eps / mu - mu / 2)
        return float(tail) - delta

    top = 1.0
    while excess(top) > 0:
        top *= 2
    return (float(brentq(excess, 0.0, top)) if excess(0.0) > 0 else 0.0) + pure


def _prv_epsilon(event: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    """The upper estimate of prv_accountant, whose stated error is 0.01."""
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    gaussians, pure = _split(event)
    if not gaussians:
        return pure
    counts = [count for _, _, count in gaussians]
    accountant = PRVAccountant(
        prvs=[
            PoissonSubsampledGaussianMechanism(noise_multiplier=s, sampling_probability=q)
            for q, s, _ in gaussians
        ],
        max_self_compositions=counts,
        eps_error=0.01,
        delta_error=delta * 1e-5,
    )
    return float(accountant.compute_epsilon(delta, counts)[2]) + pure


Compute = Callable[[DpEvent, float, NeighboringRelation], float]

ACCOUNTANTS: dict[str, tuple[Compute, bool]] = {
    "pld": (_pld_epsilon, True),
    "rdp": (_rdp_epsilon, True),
    "prv": (_prv_epsilon, True),
    "gdp": (_gdp_epsilon, False),
}


def _accountants_for(event: DpEvent, relation: str) -> tuple[str, ...]:
    if _searches(event):
        return ("rdp",)
    if _chooses(event):
        return ("pld", "rdp") if relation == "add_remove" else ("pld",)
    # The other libraries measure a record's contribution, not the exchange of two.
    return tuple(ACCOUNTANTS) if relation == "add_remove" else ("pld",)
