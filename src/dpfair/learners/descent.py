"""Noisy gradient descent on clipped per-example gradients: the core of every private learner.

For a loss that depends on a record through its score s = x . theta, the gradient of one record is
c x with c = d loss / d s, so its norm is |c| ||x|| in closed form, and clipping plus summing is one
weighted sum of rows. What methods add to this is given by four hooks:

* a **clip policy** turns gradient norms into scales and states the resulting sensitivity;
* **queries** ask for further statistics of the same batch; they share the paid noise of the step
  (one Gaussian, see :class:`dpfair.privacy.draw.Draw`), and only their noisy answers are seen;
* the **objective** gives the coefficient c per record, from released answers and its own state,
  and gradients of **extra parameters**, clipped jointly with the rest;
* after each step the objective may take a **dual step** from the noisy answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpfair import validate
from dpfair.errors import InputError
from dpfair.jit import can_compile
from dpfair.learners.compiled import ClippedSums
from dpfair.learners.design import Design
from dpfair.learners.exact import MULTIPLIERS, NORMS, Grid
from dpfair.learners.exact import logistic_sum as exact_logistic_sum
from dpfair.privacy.events import DpEvent, gaussian_steps, step_event
from dpfair.privacy.ledger import Receipt

__all__ = [
    "ARITHMETICS",
    "SAFETY",
    "Adam",
    "Batch",
    "ClipPolicy",
    "Descent",
    "FlatClip",
    "GradientDescent",
    "LogisticLoss",
    "Objective",
    "Optimizer",
    "Query",
    "clipped_sum",
    "descend",
]

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
Answers = Sequence[Float64]

ARITHMETICS = ("float64", "exact")

# Clip this much below the stated norm, so that rounding in float32 cannot exceed it.
SAFETY = 1 - 2.0**-18

# The largest gradient that float32 can scale down to the smallest norm: scales below about 1e-38
# lose their digits.
_LARGEST = 1e25


@dataclass(frozen=True)
class Batch:
    """The records of one step, as hooks see them."""

    scores: Float32
    labels: Float32
    groups: NDArray[np.integer[Any]]


class ClipPolicy(Protocol):
    """How gradients are scaled down, and what one record can then contribute at most."""

    def __call__(self, norms: Float32, batch: Batch, answers: Answers) -> tuple[Float32, float]:
        """Scales per record, and the largest possible norm after scaling."""


class Query(Protocol):
    """A sum over the records of the batch, released with noise before the gradient."""

    @property
    def sensitivity(self) -> float:
        """The largest norm of one record's part of the answer."""

    @property
    def noise_multiplier(self) -> float:
        """The noise on the answer, in units of the sensitivity."""

    def __call__(self, batch: Batch) -> Float64:
        """The exact answer; the norm of one record's part must not exceed ``sensitivity``."""


class Objective(Protocol):
    """What is minimised, through its derivative by the score."""

    @property
    def extra_parameters(self) -> int:
        """How many parameters are trained besides the weights of the features."""

    def gradients(
        self, batch: Batch, extra: Float64, answers: Answers
    ) -> tuple[Float32, Float32 | None]:
        """The coefficient c per record, and the gradients by the extra parameters, if any."""

    def dual_step(self, answers: Answers) -> None:
        """Update multipliers from released answers only."""


class Optimizer(Protocol):
    """Turns a noisy gradient into new parameters."""

    def step(self, parameters: Float64, gradient: Float64) -> Float64:
        """The parameters after one step."""


@dataclass(frozen=True)
class FlatClip:
    """Every gradient is scaled down to the same norm."""

    norm: float

    def __post_init__(self) -> None:
        validate.within(*NORMS, norm=self.norm)

    @property
    def limit(self) -> float:
        """What gradients are scaled down to: a hair below the norm that is stated."""
        return self.norm * SAFETY

    def __call__(self, norms: Float32, batch: Batch, answers: Answers) -> tuple[Float32, float]:
        limit = np.float32(self.limit)
        scales: Float32 = np.divide(limit, np.maximum(norms, limit))
        return scales, self.norm


class LogisticLoss:
    """Cross entropy: d loss / d score = sigmoid(score) - label."""

    extra_parameters = 0

    def gradients(
        self, batch: Batch, extra: Float64, answers: Answers
    ) -> tuple[Float32, Float32 | None]:
        # sigmoid(s) = (1 + tanh(s / 2)) / 2: three times faster than expit, and cannot overflow.
        coefficients = np.tanh(batch.scores * np.float32(0.5))
        coefficients += 1
        coefficients *= np.float32(0.5)
        coefficients -= batch.labels
        return coefficients, None

    def dual_step(self, answers: Answers) -> None:
        """Cross entropy has no multipliers."""


@dataclass(frozen=True)
class Descent:
    """The plan of one run: sampling, noise and claim come from this one object.

    Parameters
    ----------
    steps, sampling_rate
        Every record enters each of the steps with this probability, independently.
    noise_multiplier
        Noise on the gradient sum, in units of the clip policy's sensitivity.
    clip
        The clip policy.
    divisor
        A public number that the noisy sum is divided by; never the true batch size.
    queries
        Further statistics of each batch.
    average_last
        The share of the last iterates whose mean is returned (post-processing).
    arithmetic
        ``"float64"``, or ``"exact"``: gradients are summed and released in integers, see
        :mod:`dpfair.learners.exact`. That knows the logistic loss, flat clipping and no queries.
    """

    steps: int
    sampling_rate: float
    noise_multiplier: float
    clip: ClipPolicy
    divisor: float
    queries: tuple[Query, ...] = ()
    average_last: float = 0.0
    arithmetic: str = "float64"

    def __post_init__(self) -> None:
        validate.at_least(1, steps=self.steps)
        validate.positive(divisor=self.divisor)
        validate.within(*MULTIPLIERS, noise_multiplier=self.noise_multiplier)
        validate.one_of(ARITHMETICS, arithmetic=self.arithmetic)

    @property
    def exact(self) -> bool:
        """Whether all of the noise is drawn in integers."""
        return self.arithmetic == "exact"

    @property
    def step_event(self) -> DpEvent:
        """The cost of one step: all queries and the gradient as one Gaussian on one batch."""
        multipliers = [self.noise_multiplier, *(q.noise_multiplier for q in self.queries)]
        joint = math.fsum(m**-2 for m in multipliers) ** -0.5
        multiplier = joint if self.queries else self.noise_multiplier
        return step_event(multiplier, self.sampling_rate, exact=self.exact)

    @property
    def event(self) -> DpEvent:
        """The cost of the run."""
        step = self.step_event
        multiplier = getattr(step, "event", step).noise_multiplier
        return gaussian_steps(multiplier, self.sampling_rate, self.steps, exact=self.exact)


class GradientDescent:
    """Plain steps of a fixed length."""

    def __init__(self, learning_rate: float) -> None:
        validate.positive(learning_rate=learning_rate)
        self.learning_rate = learning_rate
        self._rate = np.asarray(float(learning_rate))  # NumPy must convert a number at every step

    def step(self, parameters: Float64, gradient: Float64) -> Float64:
        """theta - rate * gradient."""
        return parameters - self._rate * gradient


class Adam:
    """Kingma and Ba (2015), on the noisy gradient: pure post-processing.

    Steps do not depend on the gradient's scale, hence not on the number of records. ``decay``
    shrinks the parameters by a fixed part at every step, apart from the gradient.
    """

    def __init__(
        self,
        learning_rate: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        decay: Float64 | float = 0.0,
    ) -> None:
        validate.positive(learning_rate=learning_rate)
        self.learning_rate, self.beta1, self.beta2 = learning_rate, beta1, beta2
        self.decay = decay
        self._mean: Float64 | float = 0.0
        self._square: Float64 | float = 0.0
        self._steps = 0

    def step(self, parameters: Float64, gradient: Float64) -> Float64:
        """One step by the bias-corrected moments."""
        self._steps += 1
        self._mean = self.beta1 * self._mean + (1 - self.beta1) * gradient
        self._square = self.beta2 * self._square + (1 - self.beta2) * gradient**2
        mean = self._mean / (1 - self.beta1**self._steps)
        root = np.sqrt(self._square / (1 - self.beta2**self._steps))
        shrunk = parameters * (1 - self.decay)
        return shrunk - self.learning_rate * mean / (root + 1e-8)


def descend(
    plan: Descent,
    design: Design,
    labels: NDArray[np.integer[Any]],
    groups: NDArray[np.integer[Any]],
    *,
    objective: Objective,
    optimizer: Optimizer,
    receipt: Receipt,
    start: Float64 | None = None,
    progress: Callable[[int], None] | None = None,
    compiled: bool = True,
    total: Callable[[Float64], Int64] | None = None,
) -> Float64:
    """Run the plan and return the parameters, the extra ones last.

    ``start`` are the first parameters, zeros by default; they must not depend on records.
    ``compiled`` allows the compiled loop where it applies and numba is installed; it changes the
    result by rounding only, and not at all in exact arithmetic. ``total`` gives the exact sum of a
    step over all records, if the rows are held elsewhere and ``design`` only has their form.

    Privacy
    -------
    Under add/remove, one record changes the clipped sum of a step by at most the clip policy's
    sensitivity in L2 norm, and each query by at most its own; the receipt must have paid
    ``plan.event``. Batches are Poisson samples, an empty batch still gets its noise, and the sum
    is divided by a public number, so the true sizes are never used. Everything after the noisy
    sums is post-processing.
    """
    targets, width = labels.astype(np.int8), design.width
    size = width + objective.extra_parameters
    parameters = np.zeros(size) if start is None else start
    summed, averaged = np.zeros_like(parameters), 0
    first_averaged = plan.steps - int(plan.steps * plan.average_last)
    step, answers, rows_held = plan.step_event, list[Float64](), len(design)
    divisor = np.asarray(float(plan.divisor))  # NumPy must convert a number at every step
    flat = _flat_clip(plan, objective)
    if plan.exact and flat is None:
        raise InputError("Exact arithmetic needs the logistic loss and one clipping norm.")
    compiled = compiled and can_compile()
    if flat is not None and plan.exact:
        grid = Grid.of(flat.norm, plan.noise_multiplier)
        units = grid.units(design)
    elif flat is not None and compiled:
        clipped_sums = ClippedSums(design, targets, flat.limit)
    for t in range(plan.steps):
        draw = receipt.draw(step)
        chosen = draw.batch(rows_held)
        if flat is not None and plan.exact:
            whole = (
                exact_logistic_sum(
                    design, chosen, targets, parameters, flat.limit, grid, compiled=compiled
                )
                if total is None
                else partial(total, parameters)
            )
            noisy = units * draw.discrete_gaussian(whole, units, flat.norm)
        elif flat is not None and compiled:
            exact = clipped_sums(chosen, parameters)
            noisy = draw.gaussian(exact, flat.norm, plan.noise_multiplier)
        else:
            rows = design.take(chosen)
            theta, extra = parameters[:width], parameters[width:]
            batch = Batch(
                rows.scores(theta.astype(np.float32)),
                targets[chosen].astype(np.float32),
                groups[chosen],
            )
            answers = [
                draw.gaussian(query(batch), query.sensitivity, query.noise_multiplier)
                for query in plan.queries
            ]
            gradients = objective.gradients(batch, extra, answers)
            exact, sensitivity = clipped_sum(plan.clip, rows, batch, answers, *gradients)
            noisy = draw.gaussian(exact, sensitivity, plan.noise_multiplier)
        parameters = optimizer.step(parameters, noisy / divisor)
        objective.dual_step(answers)
        if t >= first_averaged:
            summed += parameters
            averaged += 1
        if progress is not None:
            progress(t + 1)
    return summed / averaged if averaged else parameters


def _flat_clip(plan: Descent, objective: Objective) -> FlatClip | None:
    """The clipping of the usual step, which has a compiled loop and an exact sum."""
    usual = type(objective) is LogisticLoss and type(plan.clip) is FlatClip and not plan.queries
    return plan.clip if usual and isinstance(plan.clip, FlatClip) else None


def clipped_sum(
    clip: ClipPolicy,
    rows: Design,
    batch: Batch,
    answers: Answers,
    coefficients: Float32,
    extra: Float32 | None,
) -> tuple[Float64, float]:
    """The sum of all clipped gradients, and the largest norm that one of them can have."""
    norms = np.abs(coefficients)
    with np.errstate(over="ignore", invalid="ignore"):  # a warning would tell on a record
        norms *= rows.norms
        if extra is not None:
            norms = np.hypot(norms, np.linalg.norm(extra, axis=1))
        usual = math.isfinite(norms.dot(norms))
    if not usual:
        # Rare. A gradient that is not finite or too large to be scaled down is left out.
        kept = norms <= _LARGEST
        norms, coefficients = np.where(kept, norms, 0), np.where(kept, coefficients, 0)
        extra = None if extra is None else np.where(kept[:, None], extra, 0)
    scales, sensitivity = clip(norms, batch, answers)
    total = rows.weighted_sum(coefficients * scales)
    if extra is not None:
        total = np.concatenate([total, scales.astype(np.float64) @ extra])
    return total, sensitivity
