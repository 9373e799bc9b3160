"""What an event costs, by every accountant and for a budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpfair import validate
from dpfair.errors import InputError
from dpfair.privacy.accountants.accountant import Accountant
from dpfair.privacy.accountants.gdp import GDP
from dpfair.privacy.accountants.loss import refuse_large_loss
from dpfair.privacy.accountants.pld import PLD
from dpfair.privacy.accountants.prv import PRV
from dpfair.privacy.accountants.renyi import RDP
from dpfair.privacy.alternatives import choices
from dpfair.privacy.events import (
    RELATIONS,
    DpEvent,
    chooses,
    from_parts,
    parts,
    pure_epsilon,
    searches,
)

__all__ = ["ACCOUNTANTS", "Epsilon", "cost", "epsilon", "epsilon_of", "epsilons"]

# The first that supports an event certifies it.
ACCOUNTANTS = {accountant.name: accountant for accountant in (PLD, RDP, PRV, GDP)}


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

    The default is the accountant that certifies the event: ``pld``, or ``rdp`` for a search.

    Examples
    --------
    >>> from dpfair.privacy.events import gaussian_steps
    >>> round(epsilon(gaussian_steps(3.13 / 1.5, 0.034, 1500), 1e-5).epsilon, 2)
    2.83
    """
    validate.in_open_interval(0, 1, delta=delta)
    validate.one_of(RELATIONS, relation=relation)
    validate.one_of(ACCOUNTANTS, accountant=accountant)
    certifying = _certifying(event, relation)
    chosen = certifying if accountant == "pld" else ACCOUNTANTS[accountant]
    if not chosen.supports(event, relation):
        what = "a search" if searches(event) else "a choice" if chooses(event) else relation
        raise InputError(
            f"The {accountant} accountant does not support {what}; use {certifying.name}."
        )
    refuse_large_loss(event)
    value = max(chosen.epsilon(e, delta, relation) for e in _combinations(event))
    return Epsilon(value, delta, chosen.name, chosen.is_bound)


def epsilon_of(event: DpEvent, delta: float, relation: str) -> float:
    """The certified epsilon as a plain number."""
    return epsilon(event, delta, relation=relation).epsilon


def epsilons(event: DpEvent, delta: float, *, relation: str = "add_remove") -> dict[str, Epsilon]:
    """The answers of all accountants that support the event and are installed.

    ``ACCOUNTANTS[name].installed`` says whether an accountant is left out because its package is
    missing.
    """
    return {
        name: epsilon(event, delta, relation=relation, accountant=name)
        for name, row in ACCOUNTANTS.items()
        if row.installed and row.supports(event, relation)
    }


def cost(event: DpEvent, delta: float, relation: str) -> Fraction:
    """The cost for a budget: an exact sum for pure Laplace noise, else the certified epsilon.

    Among several alternatives the most expensive one counts. Each is priced separately, so that the
    cost of a pure Laplace alternative stays exact.
    """
    pure = pure_epsilon(event)
    if pure is not None:
        return pure
    refuse_large_loss(event)
    return max(_exact_cost(e, delta, relation) for e in _combinations(event))


def _exact_cost(event: DpEvent, delta: float, relation: str) -> Fraction:
    pure = pure_epsilon(event)
    if pure is not None:
        return pure
    return Fraction(_certifying(event, relation).epsilon(event, delta, relation))


def _combinations(event: DpEvent) -> list[DpEvent]:
    return [from_parts(paid) for paid in choices(parts(event))]


def _certifying(event: DpEvent, relation: str) -> Accountant:
    return next(row for row in ACCOUNTANTS.values() if row.supports(event, relation))
