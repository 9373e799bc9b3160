"""What a run of the learner of blocks draws, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dpfair import validate
from dpfair.learners.descent import Descent
from dpfair.learners.exact import MULTIPLIERS
from dpfair.learners.logistic import LogisticTraining
from dpfair.privacy.events import DpEvent, compose, gaussian_steps, step_event

__all__ = ["BlockTraining"]

# Parts of the budget (of mu^2 in Gaussian privacy): linear steps before the screen, masses of the
# bins, and the screen. The draws after the screen get the rest.
_LINEAR_SHARE, _MASS_SHARE, _SCREEN_SHARE = 0.2, 0.02, 0.15


@dataclass(frozen=True)
class BlockTraining:
    """The draws of a run, in their order; without pairs there is no screen and no histogram.

    Parameters
    ----------
    first
        The linear steps before the screen.
    pairs, mass_multiplier, screen_multiplier
        The number of screened pairs, and the noise on the histograms and on a screened pair.
    draws, multiplier
        The draws after the screen, which go on with the descent or visit blocks.
    """

    first: LogisticTraining
    pairs: int
    mass_multiplier: float
    screen_multiplier: float
    draws: int
    multiplier: float

    def __post_init__(self) -> None:
        validate.within(*MULTIPLIERS, multiplier=self.multiplier)
        validate.within(*MULTIPLIERS, mass_multiplier=self.mass_multiplier)
        validate.within(*MULTIPLIERS, screen_multiplier=self.screen_multiplier)

    @classmethod
    def of(
        cls, sigma: float, linear: Callable[[float], LogisticTraining], pairs: int, draws: int
    ) -> BlockTraining:
        """All draws together as informative as one Gaussian with the multiplier sigma.

        ``linear`` makes the first steps, given the noise multiplier of one of them.
        """
        steps = linear(1.0).descent.steps
        rest = 1 - _LINEAR_SHARE - (_MASS_SHARE + _SCREEN_SHARE if pairs else 0.0)
        return cls(
            linear(sigma * math.sqrt(steps / _LINEAR_SHARE)),
            pairs,
            sigma * math.sqrt(1 / _MASS_SHARE),
            sigma * math.sqrt(max(pairs, 1) / _SCREEN_SHARE),
            draws,
            sigma * math.sqrt(draws / rest),
        )

    @property
    def event(self) -> DpEvent:
        """The cost of all draws."""
        events = [self.first.event]
        if self.pairs:
            events.append(step_event(self.mass_multiplier, 1.0, exact=True))
            events.append(gaussian_steps(self.screen_multiplier, 1.0, self.pairs, exact=True))
        return compose([*events, gaussian_steps(self.multiplier, 1.0, self.draws, exact=True)])

    def further(self, draws: int) -> Descent:
        """So many of the last draws as steps that go on with the descent.

        Gradients are divided by the same number as before, so that the optimizer, which remembers
        their size, makes steps of the same length from less noise.
        """
        return replace(self.first.descent, steps=draws, noise_multiplier=self.multiplier)
