r"""The cost of noise on a grid of integers: that of a Gaussian of the same multiplier.

**The mechanism.** A sum of integer vectors is released, whose coordinate j counts in steps of a
public unit u_j. One record contributes an integer vector v with :math:`\sum_j (u_j v_j)^2 \le C^2`.
Coordinate j gets independent discrete Gaussian noise, P(x) proportional to
:math:`\exp(-x^2 / 2 s_j^2)` on the integers, with

.. math:: s_j^2 \ge \sigma_j^2 + \tau^2, \qquad \sigma_j = m C / u_j, \qquad \tau^2 = 16

for the noise multiplier m. Sum, noise and batch are computed in integers, so nothing is rounded and
the last digits of a release do not distinguish neighbours.

**The claim.** Up to a factor 1 + 1e-130 in every probability, the release is a post-processing of
the same sum with *continuous* Gaussian noise of standard deviation :math:`\sigma_j`. Divided by
:math:`\sigma_j`, one record moves that sum by at most 1/m in L2 norm: it is the Gaussian mechanism
of multiplier m. So everything that holds for Gaussian steps (privacy loss distributions, Renyi
divergences, Poisson batches, both relations, any composition) holds for these; a run of T steps on
d coordinates pays T d 1e-136 in epsilon and as much of delta, less than any accountant's rounding.

**Proof.** Let :math:`z = v + N(0, \sigma^2)` be one coordinate of the noisy sum, and round it at
random to an integer x with probability :math:`\rho_\tau(x - z) / \rho_\tau(\mathbb{Z} - z)`, where
:math:`\rho_\tau(t) = \exp(-t^2 / 2\tau^2)`. By Poisson's summation formula the denominator

.. math:: \rho_\tau(\mathbb{Z} - z)
    = \tau \sqrt{2\pi} \,\bigl(1 + 2 \sum_{k \ge 1} e^{-2 \pi^2 k^2 \tau^2} \cos 2 \pi k z\bigr)

is constant up to :math:`1 \pm \eta` with :math:`\eta = 2.1\, e^{-2 \pi^2 \tau^2} < 10^{-136}`. With
a constant denominator, x has the convolution's weight
:math:`\exp(-(x - v)^2 / 2(\sigma^2 + \tau^2))`, that of the discrete Gaussian around the integer v,
whose own normaliser does not depend on v. Hence the two laws agree up to
:math:`(1 + \eta) / (1 - \eta)` at every x, for every v; so do mixtures over batches, products over
coordinates and adaptive sequences of steps, with the factors multiplied. More noise than that is
more rounding of the same kind: s may be rounded up.

The smoothing of lattice sums is Micciancio and Regev's (2007); the discrete Gaussian mechanism,
with another argument for its Renyi divergences, is Canonne, Kamath and Steinke's (2020).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dpfair.errors import InputError

__all__ = ["grid_variance", "naming_threshold"]

# The square of tau above: the variance in addition to the paid Gaussian, in grid steps squared.
_EXTRA_VARIANCE = 16

# Noise of this variance is below 2^63 but for a probability of exp(-2^13).
_LARGEST_VARIANCE = 1 << 112


@lru_cache(maxsize=1024)
def grid_variance(noise_multiplier: float, sensitivity: float, unit: float) -> int:
    """The variance s^2 of the noise in steps of the unit: a whole number, rounded up.

    >>> grid_variance(2.0, 1.5, 0.001)
    9000016
    """
    paid = (Fraction(noise_multiplier) * Fraction(sensitivity) / Fraction(unit)) ** 2
    variance = math.ceil(paid) + _EXTRA_VARIANCE
    if variance > _LARGEST_VARIANCE:
        raise InputError("Expected a coarser grid: 64-bit integers cannot hold so much noise.")
    return variance


def naming_threshold(variance: int, delta: float) -> int:
    r"""The smallest noisy count at which a name may be shown.

    A count of one reaches it with probability ``delta`` at most: for an integer t >= 1 and noise Z
    with P(Z = z) proportional to :math:`\rho(z) = \exp(-z^2 / 2 s^2)`,

    .. math:: P(Z \ge t) = \frac{\sum_{z \ge t} \rho(z)}{\rho(\mathbb{Z})}
        \le \frac{\int_{t - 1}^\infty \rho}{s \sqrt{2 \pi}} = 1 - \Phi((t - 1) / s),

    because :math:`\rho` falls beyond zero, and :math:`\rho(\mathbb{Z}) \ge s \sqrt{2 \pi}` by
    Poisson's summation formula.

    >>> naming_threshold(10_000, 1e-6)
    478
    """
    from scipy.special import ndtri

    # Upwards, so that the rounding of the quantile does not matter.
    quantile = -float(ndtri(delta)) * (1 + 1e-9)
    return 2 + max(1, math.ceil(math.sqrt(variance) * quantile))
