"""Renyi DP, the moments accountant, by dp_accounting.

It is the only accountant for the best of several runs, whose distribution of losses is not known.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    RepeatAndSelectDpEvent,
)
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant, compute_epsilon
from numpy.typing import NDArray

from dpfair.errors import InputError
from dpfair.privacy.accountants.accountant import Accountant, gaussians_and_pure
from dpfair.privacy.events import (
    RELATIONS,
    DpEvent,
    OneOfDpEvent,
    ThresholdedDpEvent,
    chooses,
    gaussian_steps,
    names_values,
    parts,
    searches,
)
from dpfair.privacy.repetition import best_of_runs_curve

__all__ = ["ORDERS", "RDP", "renyi_curve"]

# The orders of Renyi DP, as dp_accounting chooses them. They must not change: ledgers use them.
ORDERS = np.concatenate([np.arange(11, 110) / 10, np.arange(11, 64), [128.0, 256.0, 512.0, 1024.0]])


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
        # |z| and |z - 1| differ by exactly 1, so the loss is either t or -t. This is randomised
        # response, the worst of all t-DP mechanisms. (The continuous Laplace mechanism of the
        # same parameter costs less, so its cost is not a bound.)
        t = leaf.noise_parameter
        log_sum = np.logaddexp(ORDERS * t, (1 - ORDERS) * t) - np.logaddexp(0.0, t)
        return np.asarray(log_sum / (ORDERS - 1))
    if isinstance(leaf, ThresholdedDpEvent):
        raise InputError(
            "A search has no account for naming values that are not declared: declare the bounds "
            "and categories of all columns, or find them first with 'dpfair schema discover'."
        )
    if isinstance(leaf, GaussianDpEvent):
        # Replacing a record changes the sum by the contributions of two records.
        moved = 1 if relation is NeighboringRelation.ADD_OR_REMOVE_ONE else 2
        return np.asarray(ORDERS * (moved / leaf.noise_multiplier) ** 2 / 2)
    accountant = RdpAccountant(ORDERS, relation)
    if not accountant.supports(leaf):
        raise InputError(
            "DP-SGD in a search, or beside other jobs that are not planned, is accounted for under "
            "add_remove only."
        )
    return np.asarray(accountant.compose(leaf).rdp)


def _epsilon(event: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    if searches(event) or chooses(event):
        return float(compute_epsilon(ORDERS, _curve(event, relation), delta)[0])
    gaussians, pure = gaussians_and_pure(event)
    if not gaussians:
        return pure
    accountant = RdpAccountant(neighboring_relation=relation)
    for rate, multiplier, count in gaussians:
        accountant.compose(gaussian_steps(multiplier, rate, count))
    return float(accountant.get_epsilon(delta)) + pure


RDP = Accountant(
    "rdp",
    _epsilon,
    supports=lambda event, relation: (
        searches(event) or (relation == "add_remove" and not names_values(event))
    ),
)
