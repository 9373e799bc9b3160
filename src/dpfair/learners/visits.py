r"""A visit of a block: noisy sums of its cells, how far they move the log-odds, and what they show.

Let G and H be the noisy sums of residuals and Hessians of a cell, s the standard deviation of the
noise on G, and v = s^2 + H the variance of G if the cell needs no correction. The correction of a
cell has variance :math:`\tau^2` over the cells of the block, estimated by moments over the cells
with H > s:

.. math:: \tau^2 = \sum (G^2 - v) / \sum H^2, \quad\text{within}\ [10^{-6}, 1].

The posterior mean of the correction, :math:`H G / (H^2 + v / \tau^2)`, is what the log-odds move
by, times a rate. If the cells are noise, tau is small and so is the move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpfair.learners.exact import Grid
from dpfair.learners.leaf_sums import HESSIAN_SCALE, SENSITIVITY
from dpfair.privacy.draw import Draw

__all__ = ["CellSums", "Interaction", "visit"]

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]


def visit(
    draws: Sequence[Draw], multiplier: float, whole: Callable[[], Int64], size: int
) -> CellSums:
    """The sums of a block's cells: the mean of one noisy answer per draw.

    ``whole`` computes the exact ones of ``size`` cells, by
    :func:`~dpfair.learners.leaf_sums.whole_leaf_sums` on the grid of this multiplier.

    Privacy
    -------
    A record lies in one cell of the block. Every draw has paid for a Gaussian of this multiplier
    in exact arithmetic, and adds its own noise to the same integers, whose sensitivity
    :mod:`dpfair.learners.leaf_sums` states.
    """
    unit = Grid.of(SENSITIVITY, multiplier).cell
    units, exact = np.full((2, size), unit), cache(whole)
    answers = [unit * draw.discrete_gaussian(exact, units, SENSITIVITY) for draw in draws]
    gradients, hessians = np.mean(answers, axis=0)
    deviation = SENSITIVITY * multiplier / math.sqrt(len(draws))
    return CellSums(gradients, np.maximum(hessians / HESSIAN_SCALE, 1.0), deviation)


@dataclass(frozen=True)
class Interaction:
    """What a pair of columns shows beyond the sum of its columns.

    Parameters
    ----------
    gain, effect
        The sum of squares of the residual sums that no sum of two columns explains, minus what
        noise and chance add to it; relative to the sum of the Hessians, and to its square.
    score
        The same sum of squares on the scale of a standard normal number, if there is no
        interaction.
    """

    gain: float = 0.0
    effect: float = 0.0
    score: float = 0.0


@dataclass(frozen=True)
class CellSums:
    """Noisy sums of residuals (with their standard deviation) and of Hessians (at least 1)."""

    gradients: Float64
    hessians: Float64
    deviation: float

    @property
    def variances(self) -> Float64:
        """The variance of every residual sum, by noise and by chance."""
        return self.deviation**2 + self.hessians

    def move(self, rate: float) -> Float64:
        """What the log-odds of every cell move by."""
        excess, seen = self._excess(), self.hessians > self.deviation
        square = np.square(self.hessians)
        spread = excess[seen].sum() / square[seen].sum() if seen.any() else 0.0
        spread = min(max(spread, 1e-6), 1.0)
        moved = self.hessians * self.gradients / (square + self.variances / spread)
        return np.asarray(rate * moved, dtype=np.float64)

    def gain(self) -> float:
        """By how much the cells differ from the present log-odds, relative to their Hessians."""
        seen = self.hessians > self.deviation
        return float(self._excess()[seen].sum() / self.hessians[seen].sum()) if seen.any() else 0.0

    def _excess(self) -> Float64:
        return np.asarray(np.square(self.gradients) - self.variances, dtype=np.float64)

    def interaction(self, shape: tuple[int, int]) -> Interaction:
        r"""The evidence that the two columns of a pair act jointly.

        Corrections :math:`a_i + b_j` of the two columns explain residual sums
        :math:`H_{ij} (a_i + b_j)`. With the projection P orthogonal to all of these, the sum of
        squares of P G has the expectation :math:`E = \sum P_{cc} v_c` and about the variance
        :math:`V = 2 \sum P_{cc} v_c^2` if there is nothing else. It is compared with a chi-squared
        variable of :math:`2 E^2 / V` degrees of freedom, through Wilson and Hilferty's (1931)
        cube root.
        """
        rows, columns = (
            np.eye(size)[place] for size, place in zip(shape, np.indices(shape), strict=True)
        )
        additive = self.hessians[:, None] * np.hstack(
            [rows.reshape(-1, shape[0]), columns.reshape(-1, shape[1])]
        )
        basis, lengths, _ = np.linalg.svd(additive, full_matrices=False)
        basis = basis[:, lengths > 1e-9 * lengths[0]]
        rest = np.square(self.gradients - basis @ (basis.T @ self.gradients)).sum()
        free = np.maximum(1 - np.square(basis).sum(axis=1), 0)
        expected = float((free * self.variances).sum())
        if free.sum() < 0.5:  # a column with a single group
            return Interaction()
        spread = float((free * np.square(self.variances)).sum()) / expected**2
        ninth = 2 / 9 * spread
        score = ((rest / expected) ** (1 / 3) - (1 - ninth)) / math.sqrt(ninth)
        excess, total = float(rest) - expected, float(self.hessians.sum())
        return Interaction(excess / total, excess / total**2, float(score))
