r"""What Gaussian and Laplace noise cost together, by a formula: where to search for noise.

Full-batch Gaussian sums compose to one Gaussian with :math:`\mu^2 = \sum_i \sigma_i^{-2}`, whose
hockey-stick divergence at any epsilon (Balle and Wang 2018, Theorem 8) is

.. math:: \delta_\mu(\varepsilon) = \Phi(\mu/2 - \varepsilon/\mu)
          - e^\varepsilon \Phi(-\mu/2 - \varepsilon/\mu).

The privacy loss of discrete Laplace noise of parameter t is t or -t, with odds :math:`e^t`. Losses
of a composition add up, so the profile of the whole is a mean over the losses l of all Laplace
noise, :math:`\delta(\varepsilon) = E[\delta_\mu(\varepsilon - l)]`. Naming values that only one
person has adds its own delta (:class:`~dpfair.privacy.events.ThresholdedDpEvent`).

All of this is exact. A sampled batch is taken for a Gaussian, as in the limit of many small steps;
with q the sampling rate and n the number of steps, its :math:`\mu^2` is the sum of the squared
losses, :math:`n q^2 (e^{1/\sigma^2} - 1)` (Bu et al. 2020) or, if a record is replaced,
:math:`4 n q^2 \sinh(1/\sigma^2)`.

Nothing is rounded up here, and no cost is granted by it: only an accountant certifies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
)

from dpfair.privacy.events import DpEvent, ThresholdedDpEvent

__all__ = ["formula_epsilon"]

# Larger compositions of Laplace noise, and larger losses, have no quick answer here.
_MOST_LOSSES, _MOST_MU = 200, 20.0


def formula_epsilon(
    leaves: Mapping[DpEvent, int], delta: float, relation: str, *, grid: float = 0.0
) -> float | None:
    """About the epsilon of these leaves at a delta; None if there is no formula for one of them.

    It is exact without sampled batches, and infinite if it is very large. With a ``grid``, Laplace
    losses are rounded up to its points, as the PLD accountant does it.

    >>> from dpfair.privacy.events import gaussian_steps, parts
    >>> round(formula_epsilon(parts(gaussian_steps(10.0, 1.0, 25)), 1e-5, "add_remove"), 4)
    1.9931
    """
    moved = 1 if relation == "add_remove" else 2
    squared, naming, losses = 0.0, 0.0, {0.0: 1.0}
    for leaf, count in leaves.items():
        if isinstance(leaf, DiscreteLaplaceDpEvent):
            losses = _with_laplace(losses, leaf.noise_parameter, count, grid)
        elif isinstance(leaf, (GaussianDpEvent, ThresholdedDpEvent)):
            squared += count * (moved / leaf.noise_multiplier) ** 2
            naming += moved * count * getattr(leaf, "delta", 0.0)
        elif isinstance(leaf, PoissonSampledDpEvent):
            squared += count * _sampled(leaf, moved)
        else:
            return None
        if len(losses) > _MOST_LOSSES:
            return None
    mu, left = math.sqrt(squared), delta - naming
    if mu == 0:
        return None
    if mu > _MOST_MU or left <= 0:
        return math.inf

    def excess(epsilon: float) -> float:
        return sum(p * _gaussian(epsilon - loss, mu) for loss, p in losses.items()) - left

    return _root(excess, max(losses) + mu * (mu / 2 + math.sqrt(2 * math.log(1 / left))))


def _sampled(leaf: PoissonSampledDpEvent, moved: int) -> float:
    precision = min(leaf.event.noise_multiplier**-2, 700.0)  # beyond, its exponential overflows
    loss = math.expm1(precision) if moved == 1 else 4 * math.sinh(precision)
    return float(leaf.sampling_probability**2 * loss)


def _gaussian(epsilon: float, mu: float) -> float:
    """The divergence of order exp(epsilon) between two unit Gaussians at the distance mu."""
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    below = _cdf(lower)
    return _cdf(upper) - (math.exp(epsilon) * below if below else 0.0)


def _cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _with_laplace(
    losses: dict[float, float], t: float, count: int, grid: float
) -> dict[float, float]:
    """The losses of a composition with so many Laplace mechanisms, and their chances."""
    up = 1 / (1 + math.exp(-t))
    one = [(_rounded(t, grid), up), (_rounded(-t, grid), 1 - up)]
    for _ in range(count):
        if len(losses) > _MOST_LOSSES:
            break
        found: dict[float, float] = {}
        for loss, p in losses.items():
            for own, chance in one:
                total = round(loss + own, 12)
                found[total] = found.get(total, 0.0) + p * chance
        losses = found
    return losses


def _rounded(loss: float, grid: float) -> float:
    return math.ceil(loss / grid) * grid if grid else loss


def _root(excess: Callable[[float], float], top: float) -> float:
    """Where a falling function is zero, between 0 and ``top`` or beyond; 0 if it is never above."""
    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, top
    while excess(high) > 0:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high
