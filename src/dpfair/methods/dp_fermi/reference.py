"""DP-FERMI as its public code computes it, so that the paper's tables can be regenerated.

**Not private as coded**, and nothing here claims it. Three things differ from the stated algorithm:
the gradient is divided by the batch size before it is clipped, so that clipping never acts and the
noise rests on a Lipschitz constant nobody enforces; batches are shuffled, while the noise formula
assumes samples with replacement; and only one group is penalised. The incomplete last batch of an
epoch takes no step, although the noise formula counts it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpfair.learners.descent import Batch
from dpfair.learners.design import Design
from dpfair.methods.dp_fermi.penalty import FermiPenalty, project
from dpfair.privacy.noise import Noise

__all__ = ["StatedNoise", "train_reference"]

Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class StatedNoise:
    """The standard deviations that the sources state for all features, on mean gradients.

    With T steps, n records, rho the share of the smallest group, L the clipping norm of theta and
    D the radius of W:

        std_W^2 = 32 T ln(1/delta) (D^2 + 1/rho) / (epsilon n)^2
        std_theta^2 = 64 L^2 D^2 T ln(1/delta) / (rho (epsilon n)^2)
                      + 128 L^2 D^4 T ln(1/delta) / (epsilon n)^2
    """

    theta: float
    dual: float

    @classmethod
    def for_budget(
        cls,
        epsilon: float,
        delta: float,
        *,
        steps: int,
        rows: int,
        smallest_share: float,
        clip: float,
        radius: float,
    ) -> StatedNoise:
        """The noise for a budget."""
        unit = steps * math.log(1 / delta) / (epsilon * rows) ** 2
        dual = 32 * unit * (radius**2 + 1 / smallest_share)
        theta = 64 * clip**2 * radius**2 * unit / smallest_share
        theta += 128 * clip**2 * radius**4 * unit
        return cls(math.sqrt(theta), math.sqrt(dual))


def train_reference(
    design: Design,
    labels: NDArray[np.integer[Any]],
    groups: NDArray[np.integer[Any]],
    penalty: FermiPenalty,
    *,
    weight: float,
    stated: StatedNoise,
    epochs: int,
    batch_size: int,
    theta_rate: float,
    dual_rate: float,
    clip: float,
    radius: float,
    noise: Noise,
) -> Float64:
    """The published loop: shuffled batches, noisy batch-mean gradients."""
    n, width, targets = len(design), design.width, labels.astype(np.float32)
    theta = (2 * noise.uniforms(width) - 1) / math.sqrt(width - 1)
    dual = noise.normals(penalty.size)
    for _ in range(epochs):
        order = np.argsort(noise.uniforms(n))
        for step in range(max(1, n // batch_size)):
            chosen = order[step * batch_size : (step + 1) * batch_size]
            rows = design.take(chosen)
            scores = rows.scores(theta.astype(np.float32))
            batch = Batch(scores, targets[chosen], groups[chosen])
            by_score, by_dual = penalty.gradients(batch, dual)
            coefficients = special.expit(scores) - batch.labels + np.float32(weight) * by_score
            gradient = rows.weighted_sum(coefficients / np.float32(len(chosen)))
            gradient /= max(1.0, float(np.linalg.norm(gradient)) / clip)
            theta = theta - theta_rate * (gradient + stated.theta * noise.normals(width))
            ascent = by_dual.mean(axis=0) + stated.dual * noise.normals(penalty.size)
            dual = project(dual + dual_rate * weight * ascent, radius)
    return theta
