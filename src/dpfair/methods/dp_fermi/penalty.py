"""The penalty of DP-FERMI and its gradients (Lowy, Gupta, Razaviyayn 2023).

For a scorer p = sigmoid(x . theta), a record of group s, group shares P_s and a matrix W with one
row per group and one column per decision j, with F_1 = p and F_0 = 1 - p,

    psi(theta, W) = - sum_j ||W_j||^2 F_j + 2 / sqrt(P_s) sum_j W_sj F_j - 1.

The mean of psi, maximised over W, is the exponential Renyi mutual information (chi-square) between
decision and group, which bounds the demographic-parity gap. For equalized odds there is one W per
label; shares are within the label, and a record of label y weighs 1 / P(y).

The published code has one column (j = 1) and, by a slip, one row: the trace of a 1 x K matrix is
its first entry, so only the first group of the training file is penalised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpfair.learners.descent import SAFETY, Answers, Batch

__all__ = ["DualQuery", "FermiObjective", "FermiPenalty", "FermiSteps"]

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class FermiPenalty:
    """psi for given group shares.

    Parameters
    ----------
    shares
        P(s | y) as an array [label, group]; one row for demographic parity.
    label_shares
        P(y); a single 1 for demographic parity.
    only_group
        None for all groups and both decisions; a group's code for the published form.
    """

    shares: Float64
    label_shares: Float64
    only_group: int | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Labels, rows and columns of W."""
        labels, groups = self.shares.shape
        return (labels, groups, 2) if self.only_group is None else (labels, 1, 1)

    @property
    def size(self) -> int:
        """The number of entries of W."""
        return int(np.prod(self.shape))

    def gradients(self, batch: Batch, dual: Float64) -> tuple[Float32, Float32]:
        """d psi / d score per record, and d psi / d W per record, flattened."""
        p = special.expit(batch.scores)
        w = dual.reshape(self.shape).astype(np.float32)
        labels = batch.labels.astype(np.int64) if self.shape[0] > 1 else np.zeros(len(p), np.int64)
        weight = (1 / self.label_shares)[labels].astype(np.float32)
        indicator = self._indicator(batch.groups, labels)
        own = w[labels]
        columns = p[:, None] if self.shape[2] == 1 else np.stack([1 - p, p], axis=1)
        slope = -np.square(own).sum(axis=1) + 2 * np.einsum("bk,bkj->bj", indicator, own)
        by_score = slope[:, -1] if self.shape[2] == 1 else slope[:, 1] - slope[:, 0]
        by_own = 2 * (indicator[:, :, None] - own) * columns[:, None, :]
        by_dual = np.zeros((len(p), *self.shape), dtype=np.float32)
        by_dual[np.arange(len(p)), labels] = by_own * weight[:, None, None]
        return weight * by_score * p * (1 - p), by_dual.reshape(len(p), self.size)

    def _indicator(self, groups: NDArray[np.integer[Any]], labels: NDArray[np.int64]) -> Float32:
        """1{s = k} / sqrt(P(s | y)), one column per row of W."""
        scale = 1 / np.sqrt(self.shares[labels, groups])
        if self.only_group is not None:
            chosen: Float32 = ((groups == self.only_group) * scale).astype(np.float32)
            return chosen[:, None]
        rows = np.zeros((len(groups), self.shares.shape[1]), dtype=np.float32)
        rows[np.arange(len(groups)), groups] = scale
        return rows


@dataclass
class FermiObjective:
    """Cross entropy + lambda psi, with W among the extra parameters: clipped jointly with theta.

    W ascends, so its gradient enters with the opposite sign.
    """

    penalty: FermiPenalty
    weight: float

    @property
    def extra_parameters(self) -> int:
        """The entries of W."""
        return self.penalty.size

    def gradients(
        self, batch: Batch, extra: Float64, answers: Answers
    ) -> tuple[Float32, Float32 | None]:
        """d / d score of loss + lambda psi, and - lambda d psi / d W."""
        by_score, by_dual = self.penalty.gradients(batch, extra)
        weight = np.float32(self.weight)
        return special.expit(batch.scores) - batch.labels + weight * by_score, -weight * by_dual

    def dual_step(self, answers: Answers) -> None:
        """W moves with the optimizer."""


@dataclass
class FermiSteps:
    """Plain steps with two rates; W is kept in a ball."""

    width: int
    theta_rate: float
    dual_rate: float
    radius: float

    def step(self, parameters: Float64, gradient: Float64) -> Float64:
        """Descend in theta and (by the sign of its gradient) ascend in W."""
        theta = parameters[: self.width] - self.theta_rate * gradient[: self.width]
        dual = parameters[self.width :] - self.dual_rate * gradient[self.width :]
        return np.concatenate([theta, project(dual, self.radius)])


@dataclass
class DualQuery:
    """The stated algorithm: W ascends by its own noisy gradient, a query of the same batch.

    With ||W|| <= D, one record's d psi / d W has norm at most 2 (D + 1 / sqrt(rho)) / P(y). What is
    stated is a hair more, because the gradient is computed in float32.
    """

    penalty: FermiPenalty
    weight: float
    rate: float
    radius: float
    batch_size: int
    stated: float
    dual: Float64
    extra_parameters: int = 0

    @property
    def sensitivity(self) -> float:
        """The bound on one record's gradient by W."""
        bound = self.radius + 1 / math.sqrt(float(self.penalty.shares.min()))
        return 2 * bound / float(self.penalty.label_shares.min()) / SAFETY

    @property
    def noise_multiplier(self) -> float:
        """The stated noise in units of the sensitivity."""
        return self.stated * self.batch_size / self.sensitivity

    def __call__(self, batch: Batch) -> Float64:
        """The sum of the gradients by W."""
        _, by_dual = self.penalty.gradients(batch, self.dual)
        total: Float64 = by_dual.sum(axis=0, dtype=np.float64)
        return total

    def gradients(
        self, batch: Batch, extra: Float64, answers: Answers
    ) -> tuple[Float32, Float32 | None]:
        """d / d score of loss + lambda psi at the present W."""
        by_score, _ = self.penalty.gradients(batch, self.dual)
        return special.expit(batch.scores) - batch.labels + np.float32(self.weight) * by_score, None

    def dual_step(self, answers: Answers) -> None:
        """W ascends by the released answer."""
        ascent = self.weight * answers[0] / self.batch_size
        self.dual = project(self.dual + self.rate * ascent, self.radius)


def project(dual: Float64, radius: float) -> Float64:
    """The nearest point of the ball."""
    norm = float(np.linalg.norm(dual))
    return dual if norm <= radius else dual * (radius / norm)
