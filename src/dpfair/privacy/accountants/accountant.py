"""The interface of an accountant, and how simple accountants read an event."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from dp_accounting.dp_event import DiscreteLaplaceDpEvent, PoissonSampledDpEvent
from dp_accounting.privacy_accountant import NeighboringRelation

from dpfair.errors import InputError, NoAnswerError
from dpfair.privacy.events import (
    RELATIONS,
    DpEvent,
    chooses,
    names_values,
    parts,
    searches,
)

__all__ = ["Accountant", "gaussians_and_pure", "gaussians_only"]

Compute = Callable[[DpEvent, float, NeighboringRelation], float]


@dataclass(frozen=True)
class Accountant:
    """A way to turn an event and a delta into an epsilon.

    Parameters
    ----------
    name
        The name that users give.
    compute
        The epsilon of (event, delta, relation).
    supports
        Whether there is an answer for (event, name of the relation).
    is_bound
        Whether the answer is an upper bound. An approximation is not a guarantee.
    package, extra
        The package that ``compute`` imports and the extra that installs it, if it is optional.

    Examples
    --------
    >>> from dpfair.privacy.events import step_event
    >>> one = Accountant("one", lambda event, delta, relation: 1.0, lambda event, relation: True)
    >>> one.epsilon(step_event(2.0, 1.0), 1e-5, "add_remove")
    1.0000000000000002
    """

    name: str
    compute: Compute
    supports: Callable[[DpEvent, str], bool]
    is_bound: bool = True
    package: str | None = None
    extra: str | None = None

    @property
    def installed(self) -> bool:
        """Whether the package that it needs can be imported."""
        return self.package is None or find_spec(self.package) is not None

    @property
    def how_to_install(self) -> str:
        """The command that installs what it needs."""
        return f"pip install 'dpfair[{self.extra}]'"

    def epsilon(self, event: DpEvent, delta: float, relation: str) -> float:
        """The epsilon of a supported event, rounded up; an answer that is not finite is refused."""
        if not self.installed:
            raise InputError(
                f"The {self.name} accountant is not installed; run {self.how_to_install}."
            )
        value = self.compute(event, delta, RELATIONS[relation])
        if not (math.isfinite(value) and value >= 0):
            raise NoAnswerError(f"The {self.name} accountant has no finite answer for this event.")
        return math.nextafter(value, math.inf)


def gaussians_only(event: DpEvent, relation: str) -> bool:
    """``supports`` for accountants of Gaussian and Laplace noise under add/remove.

    Other libraries measure the contribution of one record, not the exchange of two.
    """
    if relation != "add_remove":
        return False
    return not (searches(event) or chooses(event) or names_values(event))


def gaussians_and_pure(event: DpEvent) -> tuple[list[tuple[float, float, int]], float]:
    """(sampling rate, multiplier, count) of the Gaussian leaves; summed epsilon of the rest.

    Adding the epsilon of a pure mechanism is always valid.
    """
    gaussians, pure = [], 0.0
    for leaf, count in parts(event).items():
        if isinstance(leaf, DiscreteLaplaceDpEvent):
            pure += leaf.noise_parameter * count
        elif isinstance(leaf, PoissonSampledDpEvent):
            rate, multiplier = leaf.sampling_probability, leaf.event.noise_multiplier
            gaussians.append((rate, multiplier, count))
        else:
            gaussians.append((1.0, leaf.noise_multiplier, count))
    return gaussians, pure
