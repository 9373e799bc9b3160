"""Broken noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import special
from trust.mutants.registry import again, mutant, patched

from dpfair.privacy import draw
from dpfair.privacy.noise import Noise

_laplace = Noise.discrete_laplace
_normals = Noise.normals
_grid = Noise.discrete_gaussian


@mutant("no noise on counts", "audit count")
def _no_noise():
    with patched((Noise, "discrete_laplace", lambda self, parameter, size: [0] * size)):
        yield


@mutant("half the noise on counts", "audit count", instead_of=(Noise, "discrete_laplace"))
def _half_noise(self, parameter, size):
    return _laplace(self, parameter * 2, size)


@mutant("nine tenths of the noise on counts", "audit count", instead_of=(Noise, "discrete_laplace"))
def _less_noise(self, parameter, size):
    return _laplace(self, parameter / Fraction(9, 10), size)


@mutant(
    "four fifths of the noise on gradients", "audit gradient step", instead_of=(Noise, "normals")
)
def _less_gradient_noise(self, count):
    return 0.8 * _normals(self, count)


@mutant("a fixed seed behind the secure source", "sources", instead_of=(Noise, "take"))
def _fixed_seed(self, count):
    generator = vars(self).setdefault("fixed", np.random.Philox(7))
    return generator.random_raw(-(-count // 8)).astype("<u8").tobytes()[:count]


@mutant(
    "the same noise for all cells of a table",
    "audit table of scores",
    instead_of=(Noise, "discrete_laplace"),
)
def _same_noise(self, parameter, size):
    return _laplace(self, parameter, 1) * size


@mutant(
    "the same normal number for all coordinates",
    "audit gradient step",
    instead_of=(Noise, "normals"),
)
def _broadcast_noise(self, count):
    return np.repeat(_normals(self, 1), count)


@mutant("noise of one sign", "audit count", instead_of=(Noise, "discrete_laplace"))
def _one_sided(self, parameter, size):
    return [abs(z) for z in _laplace(self, parameter, size)]


_discrete_laplace_draw = draw.Draw.discrete_laplace


@mutant("empty cells get no noise", "audit count", instead_of=(draw.Draw, "discrete_laplace"))
def _empty_cells_bare(self, counts):
    noisy = _discrete_laplace_draw(self, counts)
    return [z if c else 0 for c, z in zip(counts, noisy, strict=True)]


@mutant("float32 noise on counts", "support", instead_of=(Noise, "discrete_laplace"))
def _float32_noise(self, parameter, size):
    uniform = self.uniforms(size) - 0.5
    noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform)) / float(parameter)
    return noise.astype(np.float32).astype(np.float64).tolist()


@mutant(
    "noise repeats after twenty cells",
    "audit count, cells far apart",
    instead_of=(Noise, "discrete_laplace"),
)
def _repeating_noise(self, parameter, size):
    noise = _laplace(self, parameter, 20)
    return [noise[i % 20] for i in range(size)]


@mutant("normal numbers of sixteen bits", "tails", instead_of=(Noise, "normals"))
def _coarse_noise(self, count):
    return special.ndtri((np.floor(self.uniforms(count) * 2**16) + 0.5) / 2**16)


@mutant("noise without its tails", "tails", instead_of=(Noise, "normals"))
def _no_tails(self, count):
    return np.clip(_normals(self, count), -3.5, 3.5)


@mutant("a second step gets the noise of the first", "audit two steps on Poisson batches")
def _same_noise_twice():
    with patched((Noise, "normals", again(_normals))):
        yield


# --- exact arithmetic -----------------------------------------------------------------------


@mutant("less noise on a grid", "audit gradient step, exact arithmetic")
def _less_grid_noise():
    real = Noise.discrete_gaussian

    def less(self, variance, size):
        return real(self, max(int(0.6 * variance), 1), size)

    with patched((Noise, "discrete_gaussian", less)):
        yield


@mutant("one unit for all coordinates", "audit gradient step, exact arithmetic, two units")
def _one_unit():
    real = draw.Draw.discrete_gaussian

    def scaled(self, value, units, sensitivity):
        return real(self, value, np.full_like(units, units.max()), sensitivity)

    with patched((draw.Draw, "discrete_gaussian", scaled)):
        yield


@mutant("noise on a grid without its tails", "tails", instead_of=(Noise, "discrete_gaussian"))
def _no_grid_tails(self, variance, size):
    most = int(3.5 * variance**0.5)
    return np.clip(_grid(self, variance, size), -most, most)
