"""Privacy loss distributions, by dp_accounting: the accountant that certifies.

It composes all mechanisms but the best of several runs, under both relations, and always rounds
towards a larger epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
)
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.privacy_accountant import NeighboringRelation

from dpfair.privacy.accountants.accountant import Accountant
from dpfair.privacy.accountants.gaussian_loss import gaussian_loss
from dpfair.privacy.accountants.loss import squared_loss
from dpfair.privacy.alternatives import worst_of
from dpfair.privacy.events import (
    DpEvent,
    OneOfDpEvent,
    ThresholdedDpEvent,
    parts,
    pure_epsilon,
    searches,
)

__all__ = ["PLD", "grid_of"]

Leaves = frozenset[tuple[DpEvent, int]]


def _epsilon(event: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    spent = _epsilon_of_leaves(_leaves(event), delta, relation)
    pure = pure_epsilon(event)
    return spent if pure is None else min(spent, float(pure))


PLD = Accountant("pld", _epsilon, supports=lambda event, relation: not searches(event))


def _leaves(event: DpEvent) -> Leaves:
    return frozenset(parts(event).items())


@lru_cache(maxsize=1024)
def _epsilon_of_leaves(leaves: Leaves, delta: float, relation: NeighboringRelation) -> float:
    interval = grid_of(dict(leaves))
    left = delta - _rounding(leaves)
    if left <= 0:
        return math.inf
    return float(_distribution(leaves, interval, relation).get_epsilon_for_delta(left))


def grid_of(leaves: Mapping[DpEvent, int]) -> float:
    """The distance between the losses that the accountant knows, for these leaves."""
    return min(_discretisation(leaf, count) for leaf, count in leaves.items())


def _discretisation(leaf: DpEvent, count: int) -> float:
    """The grid of the privacy loss: about a hundredth of the loss of one step; pessimistic."""
    scale: float
    if isinstance(leaf, OneOfDpEvent):
        return min(_discretisation(*part) for e in leaf.events for part in parts(e).items())
    if isinstance(leaf, PoissonSampledDpEvent):
        rate, noise = leaf.sampling_probability, leaf.event.noise_multiplier
        # A step with less noise than sensitivity has a far larger loss, and needs no finer grid.
        loss = rate / noise if noise >= 1 else math.sqrt(squared_loss(rate, noise, 1))
        scale = loss / 8
    elif isinstance(leaf, DiscreteLaplaceDpEvent):
        scale = leaf.noise_parameter / 100
    else:
        scale = math.sqrt(count) / (100 * leaf.noise_multiplier)
    # Below 1e-4 the result hardly changes, but the distributions do not fit into memory.
    return min(1e-3, max(scale, 1e-4))


def _rounding(leaves: Leaves) -> float:
    """An allowance, in delta, for the Fourier transforms that compose distributions.

    Against the exact Gaussian answer their error was at most 1e-16 per composition, of either
    sign; without an allowance the result falls below the truth from delta = 1e-12 on.
    """
    counts = [_transforms(leaf, count) for leaf, count in leaves]
    return 0.0 if counts == [1] else sum(counts) * 2.0**-52


def _transforms(leaf: DpEvent, count: int) -> int:
    if isinstance(leaf, OneOfDpEvent):
        return count * max(1 + sum(_transforms(*p) for p in parts(e).items()) for e in leaf.events)
    if isinstance(leaf, ThresholdedDpEvent):
        return 2
    return 1 if isinstance(leaf, GaussianDpEvent) else count


def _distribution(
    leaves: Leaves, interval: float, relation: NeighboringRelation
) -> pld.PrivacyLossDistribution:
    # In a fixed order, so that the last digits are the same in every process.
    one, *others = (
        _leaf_distribution(leaf, n, interval, relation) for leaf, n in sorted(leaves, key=repr)
    )
    for other in others:
        one = one.compose(other)
    return one


@lru_cache(maxsize=256)
def _leaf_distribution(
    leaf: DpEvent, count: int, interval: float, relation: NeighboringRelation
) -> pld.PrivacyLossDistribution:
    if isinstance(leaf, OneOfDpEvent):
        alternatives = [_distribution(_leaves(e), interval, relation) for e in leaf.events]
        return worst_of(alternatives, interval).self_compose(count)
    if isinstance(leaf, DiscreteLaplaceDpEvent):
        # The event already lists every cell that a neighbour changes, under either relation.
        return pld.from_discrete_laplace_mechanism(
            leaf.noise_parameter, sensitivity=1, value_discretization_interval=interval
        ).self_compose(count)
    if isinstance(leaf, PoissonSampledDpEvent):
        step = leaf.event.noise_multiplier, leaf.sampling_probability
        return gaussian_loss(*step, interval, relation).self_compose(count)
    gaussian = gaussian_loss(leaf.noise_multiplier / math.sqrt(count), 1.0, interval, relation)
    if isinstance(leaf, ThresholdedDpEvent):
        # To replace a record is to remove one and to add one: either may move over the threshold.
        moved = 1 if relation is NeighboringRelation.ADD_OR_REMOVE_ONE else 2
        named = common.DifferentialPrivacyParameters(0.0, min(1.0, moved * count * leaf.delta))
        return gaussian.compose(
            pld.from_privacy_parameters(named, value_discretization_interval=interval)
        )
    return gaussian
