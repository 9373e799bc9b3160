r"""The privacy loss of one Gaussian sum on a grid, as dp_accounting makes it, but by arrays.

``from_gaussian_mechanism`` of dp_accounting inverts the loss in a loop over the grid, which takes
most of the time of an answer. Here the loss is inverted for all points at once; the distributions,
the bounds of the grid and the discretisation are those of dp_accounting.

Let the noise have the standard deviation :math:`\sigma`, and let a record be in the batch with
probability q. With :math:`P = (1 - q) N(0, \sigma^2) + q N(-1, \sigma^2)`,
:math:`N = N(0, \sigma^2)` and :math:`Q = (1 - q) N(0, \sigma^2) + q N(1, \sigma^2)`, a neighbour
compares P with N if a record is removed, N with Q if one is added, and P with Q if one is replaced.
Each loss falls with the outcome x, and exceeds :math:`\varepsilon` for outcomes below

.. math:: x &= -1/2 - \sigma^2 \log(1 + (e^\varepsilon - 1) / q) \quad\text{(removed)} \\
          x &= 1/2 + \sigma^2 \log(1 + (e^{-\varepsilon} - 1) / q) \quad\text{(added)} \\
          x &= -\sigma^2 (\varepsilon / 2 + \operatorname{arsinh}(
               \sinh(\varepsilon / 2) e^{1 / 2 \sigma^2} (1 - q) / q)) \quad\text{(replaced)},

so the hockey-stick divergence is the probability of these outcomes under the first distribution,
less :math:`e^\varepsilon` times that under the second.
"""

from __future__ import annotations

import math

import numpy as np
from dp_accounting.pld import pld_pmf
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.typing import NDArray

__all__ = ["gaussian_loss", "larger_loss"]

Floats = NDArray[np.float64]


def gaussian_loss(
    noise: float, rate: float, interval: float, relation: NeighboringRelation
) -> PrivacyLossDistribution:
    """The loss of a Gaussian sum of sensitivity one over a batch of this sampling rate.

    >>> one = gaussian_loss(2.0, 0.1, 1e-3, NeighboringRelation.ADD_OR_REMOVE_ONE)
    >>> round(one.get_epsilon_for_delta(1e-5), 3)
    0.369
    """
    larger = larger_loss(noise, rate, interval, relation)
    if rate == 1 or relation is NeighboringRelation.REPLACE_ONE:  # both directions are the same
        return PrivacyLossDistribution(larger)
    return PrivacyLossDistribution(larger, _losses(noise, rate, interval, AdjacencyType.ADD))


def larger_loss(
    noise: float, rate: float, interval: float, relation: NeighboringRelation
) -> pld_pmf.PLDPmf:
    """The loss if a record is removed, which costs more than to add it; or if it is replaced."""
    replaced = relation is NeighboringRelation.REPLACE_ONE
    change = AdjacencyType.REPLACE if replaced else AdjacencyType.REMOVE
    return _losses(noise, rate, interval, change)


def _losses(noise: float, rate: float, interval: float, change: AdjacencyType) -> pld_pmf.PLDPmf:
    mechanism = GaussianPrivacyLoss(noise, sampling_prob=rate, adjacency_type=change)
    bounds = mechanism.connect_dots_bounds()
    low = math.floor(bounds.epsilon_lower / interval)
    high = math.ceil(bounds.epsilon_upper / interval)
    epsilons = np.arange(low, high + 1) * interval
    below = _outcomes(epsilons, noise, rate, change)
    deltas = mechanism.mu_upper_cdf(below) - np.exp(epsilons + mechanism.mu_lower_log_cdf(below))
    # Where every loss is larger, there is a form without cancellation.
    certain = below == math.inf
    deltas[certain] = -np.expm1(epsilons[certain])
    return pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
        interval, low, high, np.clip(deltas, 0.0, 1.0)
    )


def _outcomes(epsilons: Floats, noise: float, rate: float, change: AdjacencyType) -> Floats:
    """The outcomes below which the loss is larger than each epsilon."""
    variance = noise**2
    if change is AdjacencyType.REMOVE:
        return -0.5 - _full_batch(epsilons, rate) * variance
    if change is AdjacencyType.ADD:
        return 0.5 + _full_batch(-epsilons, rate) * variance
    if rate == 1:
        return -epsilons * variance / 2
    odds = math.exp(0.5 / variance) * (1 - rate) / rate
    return -variance * (np.arcsinh(np.sinh(epsilons / 2) * odds) + epsilons / 2)


def _full_batch(losses: Floats, rate: float) -> Floats:
    """The loss of a batch of all records at the outcome where the sampled batch has this loss."""
    if rate == 1:
        return losses
    with np.errstate(divide="ignore"):  # losses below that of any outcome
        return np.asarray(np.log1p(np.maximum(np.expm1(losses) / rate, -1.0)))
