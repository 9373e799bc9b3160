"""The cost of one of several mechanisms, alone and composed with others.

The choice is a coin that does not depend on the data: the coin decides in which of the disjoint
scopes of a fit a record is. All coins can be tossed first. Given the coins, a record pays for an
ordinary composition, which is the same for both neighbours. Hockey-stick divergences are jointly
convex, so the worst combination of alternatives bounds the whole, exactly (:func:`choices`).

A long list of fits has too many combinations. The remaining choices are bounded one by one, by a
distribution of losses that dominates all alternatives (:func:`worst_of`). Let
``delta_i(epsilon)`` be the privacy profile of the i-th alternative: the largest hockey-stick
divergence of order ``exp(epsilon)`` between its outputs on two neighbours, the record removed (or
added; the two directions are kept apart). By joint convexity the mixture's profile is at most

    delta(epsilon) = max_i delta_i(epsilon).

As a function of ``a = exp(epsilon)`` every ``delta_i`` is convex, decreasing, one at ``a = 0`` and
at least ``max(0, 1 - a)``; hence so is their maximum, and every such function is the profile of
*some* pair of distributions (Zhu, Dong and Wang 2022, Proposition 9). That pair dominates the
mixture for any bias of the coin, and dominating pairs may be composed, also adaptively (their
Theorem 10). Connecting the values of ``delta`` on a grid by lines (in ``a``) stays above it, by
convexity, and is the profile of a loss that lives on the grid (Doroshenko et al. 2022).

The bound is not tight: at each epsilon a record pays for the alternative that is the worst there,
although only one alternative applies to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from numpy.typing import NDArray
from scipy import signal

from dpfair.privacy.events import DpEvent, OneOfDpEvent, parts

__all__ = ["MAX_COMBINATIONS", "choices", "worst_of"]

# Each combination takes a few hundredths of a second; the bound for the rest increases epsilon by
# one or two per cent.
MAX_COMBINATIONS = 16


def choices(leaves: Counter[DpEvent]) -> list[Counter[DpEvent]]:
    """What a record may have paid: every combination of alternatives, with all the rest.

    Choices that would exceed ``MAX_COMBINATIONS`` stay in the lists unchanged.

    >>> from dpfair.privacy.events import noisy_table, step_event
    >>> fit = OneOfDpEvent((step_event(2.0, 1.0), noisy_table(1, "add_remove")))
    >>> len(choices(Counter({fit: 1}))), len(choices(Counter({fit: 3})))
    (2, 4)
    """
    paid = [Counter({e: n for e, n in leaves.items() if not isinstance(e, OneOfDpEvent)})]
    for leaf, count in leaves.items():
        if isinstance(leaf, OneOfDpEvent):
            tossed = _most_tossed(len(leaf.events), count, MAX_COMBINATIONS // len(paid))
            left = Counter({leaf: count - tossed}) if tossed < count else Counter()
            picks = combinations_with_replacement(map(parts, leaf.events), tossed)
            picked = [sum(pick, left) for pick in picks]
            paid = [one + other for one in paid for other in picked]
    return paid


def _most_tossed(alternatives: int, count: int, combinations: int) -> int:
    """How many equal coins can be tossed without exceeding the number of outcomes."""
    tossed = 0
    while tossed < count and math.comb(tossed + alternatives, tossed + 1) <= combinations:
        tossed += 1
    return tossed


def worst_of(
    alternatives: Sequence[PrivacyLossDistribution], interval: float
) -> PrivacyLossDistribution:
    """A distribution of losses, on the same grid, that dominates each of the alternatives."""
    if len(alternatives) == 1:
        return alternatives[0]
    removed = [a._pmf_remove.to_dense_pmf() for a in alternatives]
    if all(a._symmetric for a in alternatives):
        return PrivacyLossDistribution(_worst(removed, interval))
    added = [a._pmf_add.to_dense_pmf() for a in alternatives]
    return PrivacyLossDistribution(_worst(removed, interval), _worst(added, interval))


def _worst(losses: Sequence[pld_pmf.DensePLDPmf], interval: float) -> pld_pmf.PLDPmf:
    low = min(loss._lower_loss for loss in losses)
    high = max(loss._lower_loss + loss.size - 1 for loss in losses)
    worst = np.max([_profile(loss, low, high, interval) for loss in losses], axis=0)
    return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
        interval, low, high, np.minimum(worst, 1.0)
    )


def _profile(
    loss: pld_pmf.DensePLDPmf, low: int, high: int, interval: float
) -> NDArray[np.float64]:
    """delta at every grid point from low to high, without a subtraction that would cancel.

    With p_j the chance of loss j h and t_i = sum over j >= i of p_j exp((i - j) h), the steps of
    delta are delta_(i-1) - delta_i = (1 - exp(-h)) t_i, and t_i = p_i + exp(-h) t_(i+1).
    """
    chances = np.zeros(high - low + 1)
    start = loss._lower_loss - low
    # The transforms that composed the loss leave tiny negative chances; without them the delta
    # only grows.
    chances[start : start + loss.size] = np.maximum(loss._probs, 0.0)
    tails = signal.lfilter([1.0], [1.0, -math.exp(-interval)], chances[::-1])
    steps = -math.expm1(-interval) * tails
    above = np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    return np.asarray(loss._infinity_mass + above[::-1])
