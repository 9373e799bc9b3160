"""The floating-point attack: what the last digits of a release reveal.

Floating-point numbers are denser near zero: noise alone has finer digits than noise added to a
large number, and rounding differs from value to value. *A number is a multiple of 2^k* is an
event like any other. :func:`granularity` turns the digits into a statistic, which is tested like
other statistics (Mironov 2012; Haney et al. 2022).

Counts and sums in exact arithmetic are integers for any input, and their last digits reveal no
more than was paid for. Float64 noise reveals more if the exact sum is small compared with the
noise and the contribution of one record is not. The certificates of models that use it say
"float64 Gaussian noise"; exact arithmetic avoids the problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfair.audit.counts import EPSILON, table_release
from dpfair.audit.distinguish import Listening, Mechanism, Sampler
from dpfair.audit.sums import ADDED, Column, gradient_sums, one_step, paid
from dpfair.audit.trials import ADDED as ADDED_COUNTS
from dpfair.audit.trials import noisy_counts
from dpfair.learners.descent import Descent
from dpfair.privacy.accountants import epsilon_of

__all__ = ["granularity", "last_digits", "precision_mechanisms"]

Floats = NDArray[np.float64]

STATED = "float64, as stated"
# Noise below an eighth has finer digits than noise plus a record's 0.4, so 15 % of the draws of 0.4
# times a normal number prove that the record is absent. At this delta the claim holds for all sets
# of digits, with an epsilon of 0.9. It does not hold for noise that reveals this more often, as in
# float32.
STATED_DELTA = 0.2
_BITS = 53
# Zero is a multiple of everything.
_ZERO = 1100.0


def granularity(values: ArrayLike) -> Floats:
    """The largest k such that a number is a multiple of 2^k.

    >>> granularity([3.0, 0.75, 2.0**-60, 0.1]).tolist()
    [0.0, -2.0, -60.0, -55.0]
    """
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    whole = np.abs(mantissa * 2.0**_BITS).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1))
    return np.where(whole == 0, _ZERO, exponent - _BITS + lowest)


def last_digits(released: ArrayLike, first: float, second: float) -> Floats:
    """The digits of the released value, and of its differences from either exact value."""
    x = np.asarray(released, dtype=np.float64)
    return np.stack([granularity(x), granularity(x - first), granularity(x - second)], axis=1)


def precision_mechanisms() -> list[Mechanism]:
    """Counts, a step in floating point and a step in exact arithmetic."""
    step = one_step(multiplier=1.0, rate=1.0)
    return [
        _count_digits("count, last digits"),
        _step_digits("gradient step, last digits", step, limit=STATED, limit_delta=STATED_DELTA),
        _step_digits("exact gradient step, last digits", replace(step, arithmetic="exact")),
    ]


def _count_digits(name: str) -> Mechanism:
    release = table_release("add_remove")

    def sampler(first: tuple[int, ...], second: tuple[int, ...]) -> Sampler:
        cell = int(np.flatnonzero(np.not_equal(first, second))[0])

        def sample(samples: int, noise: Listening) -> tuple[Floats, Floats]:
            one, two = (
                last_digits(
                    noisy_counts(release, trial, samples, noise)[:, cell],
                    first[cell],
                    second[cell],
                )
                for trial in (first, second)
            )
            return one, two

        return sample

    return Mechanism(name, EPSILON, 0.0, {n: sampler(*p) for n, p in ADDED_COUNTS.items()}, 0.25)


def _step_digits(
    name: str, plan: Descent, *, limit: str = "", limit_delta: float = 0.0
) -> Mechanism:
    delta = 0.1

    def run(column: Column, noise: Listening) -> tuple[Floats, float]:
        gradient_sums(plan, column, paid(plan, noise, "add_remove", delta))
        return noise.heard, float(noise.exact[0])

    def sampler(first: Column, second: Column) -> Sampler:
        def sample(samples: int, noise: Listening) -> tuple[Floats, Floats]:
            released, exact = zip(
                *(_repeat(run, column, samples, noise) for column in (first, second)), strict=True
            )
            return last_digits(released[0], *exact), last_digits(released[1], *exact)

        return sample

    claim = epsilon_of(plan.event, delta, "add_remove")
    samplers = {name: sampler(*pair) for name, pair in ADDED.items()}
    return Mechanism(name, claim, delta, samplers, limit=limit, limit_delta=limit_delta)


def _repeat(
    run: Callable[[Column, Listening], tuple[Floats, float]],
    column: Column,
    samples: int,
    noise: Listening,
) -> tuple[Floats, float]:
    """Enough runs for so many samples, and their common exact value."""
    released, exact, count = list[Floats](), 0.0, 0
    while count < samples:
        answer, exact = run(column, noise)
        released.append(answer)
        count += len(answer)
    return np.concatenate(released)[:samples], exact
