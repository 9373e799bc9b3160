"""How long it takes to find the noise of a DP-SGD run, for four budgets."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from benchmarks.bench.inputs import DELTA, Inputs
from benchmarks.bench.task import Call

BUDGETS = (0.3, 1.0, 3.0, 9.0)
RATE, STEPS = 1024 / 22_611, 1150


def dpfair(inputs: Inputs) -> Call:
    """Our search, which the PLD accountant of dp-accounting certifies; nothing is kept."""
    from dpfair import calibrate

    os.environ["DPFAIR_CACHE"] = "off"
    return for_budgets(lambda epsilon: calibrate(epsilon, DELTA, RATE, STEPS))


def dp_accounting(inputs: Inputs) -> Call:
    """The search of dp-accounting with its PLD accountant."""
    from dp_accounting import (
        GaussianDpEvent,
        PoissonSampledDpEvent,
        SelfComposedDpEvent,
        calibrate_dp_mechanism,
    )
    from dp_accounting.pld import PLDAccountant

    def event(multiplier: float) -> Any:
        step = PoissonSampledDpEvent(RATE, GaussianDpEvent(multiplier))
        return SelfComposedDpEvent(step, STEPS)

    return for_budgets(lambda epsilon: calibrate_dp_mechanism(PLDAccountant, event, epsilon, DELTA))


def opacus_prv(inputs: Inputs) -> Call:
    """The search of Opacus with its PRV accountant."""
    return opacus("prv")


def opacus_rdp(inputs: Inputs) -> Call:
    """The same with Renyi divergences, which need more noise."""
    return opacus("rdp")


def opacus(accountant: str) -> Call:
    """The search of Opacus."""
    from opacus.accountants.utils import get_noise_multiplier

    return for_budgets(
        lambda epsilon: get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=DELTA,
            sample_rate=RATE,
            steps=STEPS,
            accountant=accountant,
        )
    )


def default_plan(inputs: Inputs) -> Call:
    """All that a default fair fit plans: full batches, screening, tables."""
    from dpfair import PrivateFairClassifier

    schema = inputs.schema
    return for_budgets(lambda epsilon: PrivateFairClassifier(epsilon, DELTA, schema=schema).plan())


def for_budgets(search: Callable[[float], Any]) -> Call:
    """All budgets, after another one has imported what the search needs."""
    search(2.0)
    return Call(lambda: [search(epsilon) for epsilon in BUDGETS], len(BUDGETS))
