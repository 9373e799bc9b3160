r"""The cost of charges when each may be chosen after seeing the results of earlier ones.

Accountants compose a list of mechanisms that was fixed beforehand. Jobs that share a ledger are
not fixed: the next job may depend on earlier results, and then a budget that every possible list
respects may still be overspent. (After a Gaussian with :math:`\mu = 0.2`, three counts of epsilon 1
or a Gaussian with :math:`\mu = 0.836` both cost 3.677 at delta = 1e-5; choosing between them by the
first result costs 1.99e-5 at that epsilon.)

A rule that is valid at every step for any earlier results is a *filter*. Let the budget be
:math:`(\varepsilon, \delta)`, L the privacy loss of all that one record has paid for, and accept
a charge if one of these holds afterwards:

* *Sum.* All charges are pure and add up to :math:`\varepsilon` at most.
* *Renyi*, for one of the orders :math:`\alpha_k`. The divergences of order :math:`\alpha_k` add up
  to at most the R that gives :math:`(\varepsilon, \delta_k)` (Feldman and Zrnic 2021: sums of
  Renyi divergences may be compared with a fixed R however the charges were chosen). Orders and
  :math:`\delta_k` are fixed with the budget. Jobs that name values which are not declared
  (:class:`~dpfair.privacy.events.ThresholdedDpEvent`) add up their own deltas to at most
  :math:`\delta_0`, also fixed, and :math:`\delta_0` and all :math:`\delta_k` add up to
  :math:`\delta`.
* *First.* It is the only charge, and the accountant allows it.

Then the whole is :math:`(\varepsilon, \delta)`-private. Sums only grow, so a rule that holds at the
end of a history has held since its beginning. Histories that end with *Sum* have
:math:`L \le \varepsilon`, which adds nothing to :math:`E[(1 - e^{\varepsilon - L})_+]`. Those that
end with :math:`\alpha_k` are histories of a process that stops before it would violate that rule,
and add :math:`\delta_k` at most. That a value is named which one person alone has adds
:math:`\delta_0` at most. Those that end with *First* alone have one charge; it was chosen
before any result was seen, no rule but *Sum* can follow it, and it adds :math:`\delta` at most.

Gaussian noise within the budget costs up to a fifth more than in a fixed list; pure charges, and
the first one, cost no more.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpfair.errors import BudgetError, InputError
from dpfair.privacy.accountants import ORDERS, renyi_curve
from dpfair.privacy.alternatives import choices
from dpfair.privacy.events import (
    DpEvent,
    OneOfDpEvent,
    ThresholdedDpEvent,
    from_parts,
    parts,
    pure_epsilon,
    step_event,
)

__all__ = ["SHARES", "filter_cost"]

SHARES = {1: 1 / 2, 2: 1 / 4, 4: 1 / 8, 8: 1 / 16}
"""Multiples of the first order, and the part of delta of each.

The first order suits Gaussian noise that uses up the budget; large pure charges leave less of it
to Gaussian noise, for which higher orders are better.
"""

NAMING = 1 / 16
"""The part of delta for jobs that name values which are not declared."""

# Divergences are rounded by less than this part of them, and those of sampled noise by less than
# 1e-15 for every step; two million steps are the most that a model may have.
_ROUNDING, _SAMPLED = 1 + 1e-12, 1e-8


def filter_cost(event: DpEvent, epsilon: Fraction, delta: float, relation: str) -> Fraction:
    """The epsilon of all charges of a record, two at least, under a budget of (epsilon, delta).

    Among alternatives the most expensive one counts, since coins are tossed beforehand.

    >>> from dpfair.privacy.accountants import cost
    >>> from dpfair.privacy.events import compose, gaussian_steps
    >>> twice = compose([gaussian_steps(2.0, 1.0, 1)] * 2)
    >>> round(float(cost(twice, 1e-5, "add_remove")), 2)
    2.94
    >>> round(float(filter_cost(twice, Fraction(3), 1e-5, "add_remove")), 2)
    3.31
    """
    rules = _rules(float(epsilon), delta)
    return max(
        _dearest(from_parts(_without_naming(paid, NAMING * delta, relation)), rules, relation)
        for paid in choices(parts(event))
    )


def _without_naming(paid: Counter[DpEvent], most: float, relation: str) -> Counter[DpEvent]:
    """The same noise without the deltas of naming, if these add up to ``most`` at most."""
    moved = 1 if relation == "add_remove" else 2
    others, delta = _noise_and_naming(paid)
    if moved * delta > most:
        raise BudgetError(
            f"Jobs that find undeclared values may use {most:.3g} of this budget's delta together, "
            f"and this one would exceed it: use a smaller delta (the budget's is "
            f"{most / NAMING:.3g}), or declare what an earlier job found (dpfair schema export "
            "MODEL writes it)."
        )
    return others


def _noise_and_naming(paid: Counter[DpEvent]) -> tuple[Counter[DpEvent], float]:
    """The noise of all events and the sum of their naming deltas.

    The delta of alternatives is the largest of theirs: both neighbours have the same one.
    """
    noise: Counter[DpEvent] = Counter()
    delta = 0.0
    for leaf, n in paid.items():
        kept, own = leaf, 0.0
        if isinstance(leaf, ThresholdedDpEvent):
            kept, own = step_event(leaf.noise_multiplier, 1.0, exact=True), leaf.delta
        elif isinstance(leaf, OneOfDpEvent):
            split = [_noise_and_naming(parts(event)) for event in leaf.events]
            kept = OneOfDpEvent(tuple(from_parts(each) for each, _ in split))
            own = max(each for _, each in split)
        noise[kept] += n
        delta += n * own
    return noise, delta


def _dearest(event: DpEvent, rules: tuple[tuple[int, float], ...], relation: str) -> Fraction:
    pure = pure_epsilon(event)
    if pure is not None:
        return pure
    curve = renyi_curve(event, relation)
    found = [max(float(curve[order]), 0.0) * _ROUNDING + overhead for order, overhead in rules]
    finite = [value for value in found if math.isfinite(value)]  # sampled noise lacks low orders
    if not finite:
        raise InputError("The noise is too small for so many steps: it protects nothing.")
    return Fraction(min(finite))


@lru_cache(maxsize=64)
def _rules(epsilon: float, delta: float) -> tuple[tuple[int, float], ...]:
    """The position of every order, and the epsilon that it needs besides the divergence."""
    left = [(epsilon - _overhead(float(order), SHARES[1] * delta)) / order for order in ORDERS]
    main = float(ORDERS[int(np.argmax(left))])
    places = [int(np.argmin(np.abs(ORDERS - factor * main))) for factor in SHARES]
    return tuple(
        (place, _overhead(float(ORDERS[place]), share * delta) + _SAMPLED)
        for place, share in zip(places, SHARES.values(), strict=True)
    )


def _overhead(order: float, delta: float) -> float:
    """R at an order gives R + this at delta (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    return math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
