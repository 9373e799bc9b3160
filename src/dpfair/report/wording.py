"""Numbers and privacy events in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dp_accounting.dp_event import (
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RepeatAndSelectDpEvent,
)

from dpfair.data.facts import listing
from dpfair.privacy.events import DpEvent, GridGaussianDpEvent, ThresholdedDpEvent, parts

__all__ = ["cost", "count", "listing", "mechanism", "percent", "percent_range", "relation"]

RELATIONS = {
    "add_remove": "add or remove one record",
    "replace_one": "replace one record by another",
}


def percent(rate: float, digits: int = 1) -> str:
    """A share as a percentage.

    >>> percent(0.67), percent(0.0339, 2), percent(float("nan"))
    ('67.0%', '3.39%', 'not defined')
    """
    return f"{rate:.{digits}%}" if math.isfinite(rate) else "not defined"


def percent_range(interval: Sequence[float]) -> str:
    """An interval of shares, widened to the digits shown.

    >>> percent_range((0.0812, 0.0944))
    '8.1% to 9.5%'
    """
    low, high = interval
    return f"{math.floor(low * 1000) / 1000:.1%} to {math.ceil(high * 1000) / 1000:.1%}"


def cost(epsilon: float) -> str:
    """An epsilon, for people.

    >>> cost(3.0), cost(0.05), cost(float("inf"))
    ('3', '0.05', '∞')
    """
    return "∞" if math.isinf(epsilon) else f"{epsilon:.4g}"


def count(number: int, one: str, many: str) -> str:
    """A number with its noun.

    >>> count(1, "column", "columns"), count(1200, "column", "columns")
    ('1 column', '1,200 columns')
    """
    return f"{number:,} {one if number == 1 else many}"


def relation(name: str) -> str:
    """What a neighbouring data set is.

    >>> relation("add_remove")
    'add or remove one record'
    """
    return RELATIONS.get(name, name.replace("_", " "))


def mechanism(event: DpEvent) -> str:
    """What a privacy event does to the records.

    >>> from dpfair.privacy.events import gaussian_steps, noisy_table
    >>> mechanism(gaussian_steps(19.666, 1.0, 200))
    '200 x Gaussian, noise multiplier 19.67, all records of the scope'
    >>> mechanism(gaussian_steps(1.5, 0.0339, 10))
    '10 x Gaussian, noise multiplier 1.5, on random batches of 3.39% of the scope'
    >>> mechanism(gaussian_steps(19.666, 1.0, 200, exact=True))
    '200 x discrete Gaussian, noise multiplier 19.67, all records of the scope'
    >>> mechanism(noisy_table(3, "add_remove"))
    'discrete Laplace, ε = 3 per table'
    >>> mechanism(noisy_table(3, "replace_one"))
    'discrete Laplace, ε = 1.5 in each of the 2 cells that a neighbour moves'
    """
    return "; ".join(_leaf(leaf, n) for leaf, n in parts(event).items())


def _leaf(leaf: DpEvent, repeats: int) -> str:
    times = f"{repeats:,} x " if repeats > 1 else ""
    if isinstance(leaf, GaussianDpEvent):
        return f"{times}{_gaussian(leaf)}, all records of the scope"
    if isinstance(leaf, PoissonSampledDpEvent):
        share = percent(leaf.sampling_probability, 2)
        return f"{times}{_gaussian(leaf.event)}, on random batches of {share} of the scope"
    if isinstance(leaf, ThresholdedDpEvent):
        return (
            f"{times}counts of values that are named above a threshold: discrete Gaussian, noise "
            f"multiplier {leaf.noise_multiplier:.4g}, and δ = {leaf.delta:.2g}"
        )
    if isinstance(leaf, DiscreteLaplaceDpEvent):
        each = cost(leaf.noise_parameter)
        if repeats == 1:
            return f"discrete Laplace, ε = {each} per table"
        return f"discrete Laplace, ε = {each} in each of the {repeats} cells that a neighbour moves"
    if isinstance(leaf, RepeatAndSelectDpEvent):
        each = "; or ".join(map(mechanism, leaf.event.events[:5]))
        return f"{times}best of a random number of runs (mean {leaf.mean:g}), each: {each}"
    return f"{times}{type(leaf).__name__.removesuffix('DpEvent')}"


def _gaussian(event: GaussianDpEvent) -> str:
    kind = "discrete Gaussian" if isinstance(event, GridGaussianDpEvent) else "Gaussian"
    return f"{kind}, noise multiplier {event.noise_multiplier:.4g}"
