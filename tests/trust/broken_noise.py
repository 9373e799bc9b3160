"""Sources of noise that are broken on purpose; a mechanism that draws from one must be caught."""

from __future__ import annotations

from fractions import Fraction

from dpfair.audit.distinguish import Listening
from dpfair.privacy.noise import Noise

__all__ = ["BATCH", "EXACT_BATCH", "GRID", "LAPLACE", "NORMALS", "again", "broken", "weak"]

LAPLACE, NORMALS, GRID = Noise.discrete_laplace, Noise.normals, Noise.discrete_gaussian
BATCH, EXACT_BATCH = Noise.poisson_batch, Noise.exact_batch


def broken(**methods):
    """A class of sources like the audit's own, with other methods in some places."""
    return type("Broken", (Listening,), methods)


def weak(factor):
    """Noise on counts and on float64 sums, smaller by a factor."""

    def laplace(self, parameter, size):
        return LAPLACE(self, parameter / Fraction(factor), size) if factor else [0] * size

    return broken(
        discrete_laplace=laplace,
        normals=lambda self, count: factor * NORMALS(self, count),
    )


def again(sampler):
    """Every second call gives what the one before it gave."""
    made = []

    def same(self, *asked):
        if made:
            return made.pop()
        made.append(sampler(self, *asked))
        return made[0]

    return same
