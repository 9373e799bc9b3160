"""The central limit theorem for Gaussian DP (Bu et al. 2020): an approximation, not a bound."""

from __future__ import annotations

import math

from dp_accounting.privacy_accountant import NeighboringRelation

from dpfair.privacy.accountants.accountant import Accountant, gaussians_and_pure, gaussians_only
from dpfair.privacy.accountants.loss import squared_loss
from dpfair.privacy.events import DpEvent

__all__ = ["GDP"]


def _epsilon(event: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    """mu^2 = sum of q^2 T (exp(1/s^2) - 1), and the epsilon of the Gaussian trade-off curve."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    gaussians, pure = gaussians_and_pure(event)
    if not gaussians:
        return pure
    # A full-batch Gaussian is exactly 1/s-GDP; the limit theorem is needed only below rate 1.
    mu = math.sqrt(sum(squared_loss(*gaussian) for gaussian in gaussians))

    def excess(eps: float) -> float:
        tail = norm.cdf(-eps / mu + mu / 2) - math.exp(eps) * norm.cdf(-eps / mu - mu / 2)
        return float(tail) - delta

    top = 1.0
    while excess(top) > 0:
        top *= 2
    return (float(brentq(excess, 0.0, top)) if excess(0.0) > 0 else 0.0) + pure


GDP = Accountant("gdp", _epsilon, gaussians_only, is_bound=False)
