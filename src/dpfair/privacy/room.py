"""The room of a ledger: the largest epsilon of a next job that would be granted.

This is not the budget minus the amount spent. Jobs that are chosen after earlier results are known
are composed by a filter (:mod:`dpfair.privacy.adaptive`), whose price for a second job is not its
epsilon; jobs that are planned beforehand are composed tightly and cost less than their sum. The job
is therefore planned at several epsilons, and each plan is priced like a charge.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from dpfair.errors import BudgetError, InputError
from dpfair.privacy.events import DpEvent, noisy_table

__all__ = ["Kind", "largest", "pure", "rounded_down"]

# Digits of the answer; the next larger number with as many digits is refused.
DIGITS = 4
# Steps by interpolation, before halving takes over.
INTERPOLATED = 7
# Smaller jobs, as a part of the budget, are not considered.
LEAST = 1e-4


@dataclass(frozen=True)
class Kind:
    """A kind of job: the event that it costs a record, as a function of its epsilon.

    ``most`` is the largest epsilon to try. ``said`` is the epsilon that a user has to set to get
    the event, if it is different.
    """

    name: str
    event: Callable[[float], DpEvent]
    most: float
    said: Callable[[float], float] = float


def pure(relation: str, rows_per_unit: int, most: float) -> Kind:
    """Jobs of (epsilon, 0) per person, such as an evaluation: one table with Laplace noise."""
    return Kind(
        "a pure job, of delta 0",
        lambda epsilon: noisy_table(Fraction(epsilon) / rows_per_unit, relation),
        most,
    )


def largest(kind: Kind, excess: Callable[[DpEvent], Fraction], least: float) -> float | None:
    """The largest epsilon, rounded down to four digits, at which a job is granted; or None.

    ``excess`` is the amount by which an event exceeds the budget. It grows with epsilon; the event
    is granted if it is zero or negative. Its root is found by the secant method, between an epsilon
    that is granted (or too small for such a job to be planned) and one that is refused (or too
    large).
    """
    low, high, answer = least, math.inf, None
    known: list[tuple[float, float]] = []
    guess = kind.most
    for step in count():
        guess = float(f"{guess:.{DIGITS}g}")
        try:
            over = excess(kind.event(guess))
        except (InputError, BudgetError):  # no such job can be planned
            # Between a granted and a refused job, no epsilon is too small.
            small = bool(known) and answer is None
            low, high = (guess, high) if small else (low, guess)
        else:
            known.append((guess, float(over)))
            if over > 0:
                high = guess
            else:
                low = answer = guess
        if math.isinf(high) or high < low + 1.5 * float(_unit(high)):
            break
        guess = math.sqrt(low * high)
        if step < INTERPOLATED and len(known) > 1:
            guess = _secant(*known[-2:])
        # Inside the bracket, so that both of its ends converge.
        guess = min(max(guess, low + float(_unit(high))), high - float(_unit(high)))
    return None if answer is None else rounded_down(kind.said(answer))


def _secant(one: tuple[float, float], other: tuple[float, float]) -> float:
    slope = (other[1] - one[1]) / (other[0] - one[0])
    return other[0] - other[1] / slope if slope > 0 else 0.0


def rounded_down(epsilon: float) -> float:
    """An epsilon with four digits that is no larger.

    >>> rounded_down(0.123456), rounded_down(0.5), rounded_down(12345.6)
    (0.1234, 0.5, 12340.0)
    """
    unit = _unit(epsilon)
    return float(math.floor(Fraction(str(epsilon)) / unit) * unit)


def _unit(epsilon: float) -> Fraction:
    """One unit of the last digit."""
    return Fraction(10) ** (math.floor(math.log10(epsilon)) + 1 - DIGITS)
