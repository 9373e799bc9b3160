r"""What sampled batches cost, about as the PLD accountant will say: where to search for noise.

The limit of many small steps (:mod:`dpfair.privacy.accountants.formula`) is some per cent off for
sampled batches. Here the same losses on the same grid are composed by one Fourier transform, in one
direction (the more expensive one) and without bounds for what the transform wraps around. The
result agrees with the accountant to five digits at least (two if delta is below 1e-11), in a
fraction of its time.

Nothing is rounded up here, and no cost is granted by it: only an accountant certifies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from dp_accounting.dp_event import DiscreteLaplaceDpEvent, GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from numpy.typing import NDArray
from scipy import fft, signal

from dpfair.privacy.accountants.gaussian_loss import larger_loss
from dpfair.privacy.accountants.pld import grid_of
from dpfair.privacy.events import RELATIONS, DpEvent

__all__ = ["estimated_epsilon"]

# Losses farther from the mean than so many standard deviations wrap around.
_DEVIATIONS = 8


def estimated_epsilon(leaves: Mapping[DpEvent, int], delta: float, relation: str) -> float | None:
    """About the epsilon of these leaves at a delta; None unless a batch is sampled.

    There is no estimate either if a leaf is neither a Gaussian nor Laplace noise.

    >>> from dpfair.privacy.events import gaussian_steps, parts
    >>> round(estimated_epsilon(parts(gaussian_steps(2.0, 0.05, 1000)), 1e-5, "add_remove"), 4)
    3.7002
    """
    if not any(isinstance(leaf, PoissonSampledDpEvent) for leaf in leaves):
        return None
    grid = grid_of(leaves)
    known = [_loss(leaf, count, grid, relation) for leaf, count in leaves.items()]
    steps = [each for each in known if each is not None]
    if len(steps) < len(known):
        return None
    first, chances = _composed([(one.to_dense_pmf(), times) for one, times in steps])
    return _epsilon(first, chances, grid, delta)


def _loss(
    leaf: DpEvent, count: int, grid: float, relation: str
) -> tuple[pld_pmf.PLDPmf, int] | None:
    """A loss, and how often it is composed with itself."""
    if isinstance(leaf, PoissonSampledDpEvent):
        step = leaf.event.noise_multiplier, leaf.sampling_probability
        return larger_loss(*step, grid, RELATIONS[relation]), count
    if isinstance(leaf, GaussianDpEvent):
        noise = leaf.noise_multiplier / math.sqrt(count)
        return larger_loss(noise, 1.0, grid, RELATIONS[relation]), 1
    if isinstance(leaf, DiscreteLaplaceDpEvent):
        one = pld.from_discrete_laplace_mechanism(
            leaf.noise_parameter, sensitivity=1, value_discretization_interval=grid
        )
        return one._pmf_remove, count
    return None


def _composed(steps: list[tuple[pld_pmf.DensePLDPmf, int]]) -> tuple[int, NDArray[np.float64]]:
    """The smallest loss of the window around the mean, in units of the grid, and the chances."""
    start, mean, variance, widest = 0, 0.0, 0.0, 0
    for one, count in steps:
        places = np.arange(one.size)
        own = float(one._probs @ places)
        start += count * one._lower_loss
        mean += count * (own + one._lower_loss)
        variance += count * float(one._probs @ (places - own) ** 2)
        widest = max(widest, one.size)
    half = math.ceil(_DEVIATIONS * math.sqrt(variance)) + widest
    size = fft.next_fast_len(2 * half, real=True)
    spectrum = math.prod(fft.rfft(one._probs, size) ** count for one, count in steps)
    first = math.floor(mean) - half
    return first, np.roll(fft.irfft(spectrum, size), start - first)


def _epsilon(first: int, chances: NDArray[np.float64], grid: float, delta: float) -> float:
    """Where the divergence, the sum of (1 - exp(epsilon - loss)) over larger losses, is delta.

    With t_i the sum of p_j exp(loss_i - loss_j) over j >= i, the divergences at the points of the
    grid fall by (1 - exp(-grid)) t_i from one to the next; nothing overflows.
    """
    first, chances = max(first, 1), chances[max(1 - first, 0) :]  # only losses above zero
    tails = signal.lfilter([1.0], [1.0, -math.exp(-grid)], chances[::-1])[::-1]
    steps = -math.expm1(-grid) * tails
    place = int(np.searchsorted(steps - np.cumsum(steps[::-1])[::-1], -delta))
    if place in (0, len(chances)) or tails[place] <= 0:  # nothing, or less than is rounded
        return 0.0
    left = max(float(np.sum(chances[place:])) - delta, 0.0) / float(tails[place])
    return max(0.0, (first + place) * grid + math.log(left)) if left else 0.0
