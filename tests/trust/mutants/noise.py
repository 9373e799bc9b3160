"""Broken noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from trust.mutants.registry import again, mutant, patched

from dpfair.privacy import draw
from dpfair.privacy.noise import Noise

_laplace = Noise.discrete_laplace
_normals = Noise.normals
_uniforms = Noise.uniforms
_grid = Noise.discrete_gaussian


@mutant("no noise on counts", "audit count")
def _no_noise():
    with patched((Noise, "discrete_laplace", lambda self, parameter, size: [0] * size)):
        yield


@mutant("half the noise on counts", "audit count")
def _half_noise():
    def half(self, parameter, size):
        return _laplace(self, parameter * 2, size)

    with patched((Noise, "discrete_laplace", half)):
        yield


@mutant("nine tenths of the noise on counts", "audit count")
def _less_noise():
    def less(self, parameter, size):
        return _laplace(self, parameter / Fraction(9, 10), size)

    with patched((Noise, "discrete_laplace", less)):
        yield


@mutant("four fifths of the noise on gradients", "audit gradient step")
def _less_gradient_noise():
    def less(self, count):
        return 0.8 * _normals(self, count)

    with patched((Noise, "normals", less)):
        yield


@mutant("a fixed seed behind the secure source", "sources")
def _fixed_seed():
    def same(self, count):
        generator = vars(self).setdefault("fixed", np.random.Philox(7))
        return generator.random_raw(-(-count // 8)).astype("<u8").tobytes()[:count]

    with patched((Noise, "take", same)):
        yield


@mutant("the same noise for all cells of a table", "audit table of scores")
def _same_noise():
    def same(self, parameter, size):
        return _laplace(self, parameter, 1) * size

    with patched((Noise, "discrete_laplace", same)):
        yield


@mutant("the same normal number for all coordinates", "audit gradient step")
def _broadcast_noise():
    def same(self, count):
        return np.repeat(_normals(self, 1), count)

    with patched((Noise, "normals", same)):
        yield


@mutant("noise of one sign", "audit count")
def _one_sided():
    def positive(self, parameter, size):
        return [abs(z) for z in _laplace(self, parameter, size)]

    with patched((Noise, "discrete_laplace", positive)):
        yield


_discrete_laplace_draw = draw.Draw.discrete_laplace


@mutant("empty cells get no noise", "audit count")
def _empty_cells_bare():
    def bare(self, counts):
        noisy = _discrete_laplace_draw(self, counts)
        return [z if c else 0 for c, z in zip(counts, noisy, strict=True)]

    with patched((draw.Draw, "discrete_laplace", bare)):
        yield


@mutant("float32 noise on counts", "support")
def _float32_noise():
    def rounded(self, parameter, size):
        uniform = self.uniforms(size) - 0.5
        noise = -np.sign(uniform) * np.log1p(-2 * np.abs(uniform)) / float(parameter)
        return noise.astype(np.float32).astype(np.float64).tolist()

    with patched((Noise, "discrete_laplace", rounded)):
        yield


@mutant("noise repeats after twenty cells", "audit count, cells far apart")
def _repeating_noise():
    def repeated(self, parameter, size):
        noise = _laplace(self, parameter, 20)
        return [noise[i % 20] for i in range(size)]

    with patched((Noise, "discrete_laplace", repeated)):
        yield


@mutant("normal numbers of sixteen bits", "tails")
def _coarse_noise():
    def coarse(self, count):
        return (np.floor(_uniforms(self, count) * 2**16) + 0.5) / 2**16

    with patched((Noise, "uniforms", coarse)):
        yield


@mutant("noise without its tails", "tails")
def _no_tails():
    def cut(self, count):
        return np.clip(_normals(self, count), -3.5, 3.5)

    with patched((Noise, "normals", cut)):
        yield


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


@mutant("noise on a grid without its tails", "tails")
def _no_grid_tails():
    def cut(self, variance, size):
        most = int(3.5 * variance**0.5)
        return np.clip(_grid(self, variance, size), -most, most)

    with patched((Noise, "discrete_gaussian", cut)):
        yield
