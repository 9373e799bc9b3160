"""Privacy random variables, by the optional package prv_accountant: a cross-check."""

from __future__ import annotations

from dp_accounting.privacy_accountant import NeighboringRelation

from dpfair.privacy.accountants.accountant import Accountant, gaussians_and_pure, gaussians_only
from dpfair.privacy.events import DpEvent

__all__ = ["PRV"]


def _epsilon(event: DpEvent, delta: float, relation: NeighboringRelation) -> float:
    """The upper estimate of prv_accountant, whose stated error is 0.01."""
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    gaussians, pure = gaussians_and_pure(event)
    if not gaussians:
        return pure
    counts = [count for _, _, count in gaussians]
    accountant = PRVAccountant(
        prvs=[
            PoissonSubsampledGaussianMechanism(noise_multiplier=s, sampling_probability=q)
            for q, s, _ in gaussians
        ],
        max_self_compositions=counts,
        eps_error=0.01,
        delta_error=delta * 1e-5,
    )
    return float(accountant.compute_epsilon(delta, counts)[2]) + pure


PRV = Accountant("prv", _epsilon, gaussians_only, package="prv_accountant", extra="prv")
