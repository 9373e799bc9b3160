"""Small noisy descents, run as tests like them."""

from __future__ import annotations

import numpy as np

from dpfair.learners.descent import GradientDescent, LogisticLoss, descend
from dpfair.learners.design import Design
from dpfair.privacy.ledger import Receipt
from dpfair.privacy.noise import Noise

__all__ = ["CLIP", "TINY", "Recorder", "run", "sample"]

CLIP = 0.7
TINY = 1e-9  # a noise multiplier that hides nothing


def sample(rows: int = 300, dense: int = 4, cells: int = 6, seed: int = 0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, cells + 1, (rows, 1)) if cells else np.empty((rows, 0))
    design = Design.build(rng.normal(size=(rows, dense)) * 2, codes, cells)
    labels = (rng.random(rows) < 0.4).astype(np.int64)
    groups = rng.integers(0, 2, rows)
    return design, labels, groups


def run(plan, data, *, objective=None, optimizer=None, receipt=None, seed=0, **options):
    receipt = receipt or Receipt(plan.event, Noise(seed))
    return descend(
        plan,
        *data,
        objective=objective or LogisticLoss(),
        optimizer=optimizer or GradientDescent(1.0),
        receipt=receipt,
        **options,
    )


class Recorder:
    """An optimizer that keeps the noisy gradients and does not move."""

    def __init__(self, moves=0.0):
        self.gradients, self.moves = [], moves

    def step(self, parameters, gradient):
        self.gradients.append(gradient)
        return parameters + self.moves
