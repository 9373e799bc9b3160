"""How large the privacy loss of an event is, and events whose loss is too large to account for."""

from __future__ import annotations

import math

from dp_accounting.dp_event import DiscreteLaplaceDpEvent, RepeatAndSelectDpEvent

from dpfair.errors import InputError
from dpfair.privacy.events import DpEvent, OneOfDpEvent, parts

__all__ = ["is_large", "refuse_large_loss", "squared_loss"]

# Above this limit the distributions of the privacy loss do not fit into memory.
MAX_LOSS = 60


def refuse_large_loss(event: DpEvent) -> None:
    """Raise an error for noise that is too small to account for."""
    if is_large(event):
        raise InputError("The noise is too small for so many steps: it protects nothing.")


def is_large(event: DpEvent) -> bool:
    """Whether the distribution of losses of an event would be too large for the memory."""
    return _squared_loss_of(event) > MAX_LOSS**2


def squared_loss(rate: float, multiplier: float, count: int) -> float:
    """About the square of the privacy loss of Gaussian steps; exact at rate 1."""
    return count * (rate**2 * math.expm1(multiplier**-2) if rate < 1 else multiplier**-2)


def _squared_loss_of(event: DpEvent) -> float:
    squared = 0.0
    for leaf, count in parts(event).items():
        if isinstance(leaf, DiscreteLaplaceDpEvent):
            continue
        if isinstance(leaf, RepeatAndSelectDpEvent):
            if any(map(is_large, leaf.event.events)):
                return math.inf
            continue
        if isinstance(leaf, OneOfDpEvent):
            squared += count * max(map(_squared_loss_of, leaf.events))
            continue
        rate = getattr(leaf, "sampling_probability", 1.0)
        multiplier = getattr(leaf, "event", leaf).noise_multiplier
        if multiplier < 0.05 and rate < 1:
            squared = math.inf
        else:
            squared += squared_loss(rate, multiplier, count)
    return squared
