"""No randomness is ever used twice, unless a seed is given."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpfair.errors import InputError
from dpfair.privacy.noise import Noise

SOURCE = Path(__file__).parents[3] / "src"


def test_equal_seeds_are_equal_and_others_differ():
    def everything(seed):
        noise = Noise(seed)
        return (
            noise.take(100),
            noise.below(10**40),
            noise.uniforms(3).tolist(),
            noise.normals(3).tolist(),
            noise.poisson_batch(1000, 0.1).tolist(),
            noise.discrete_laplace(Fraction(1, 10), 20),
            noise.exact_batch(1000, 0.1).tolist(),
            noise.discrete_gaussian(10**6, 20).tolist(),
        )

    assert everything(7) == everything(7)
    assert everything(7) != everything(8)


def test_only_the_unseeded_source_is_secure():
    assert Noise().secure
    assert not Noise(0).secure
    assert Noise().take(32) != Noise().take(32)


@pytest.mark.parametrize("seed", [-1, 1.5, float("nan")])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(InputError, match="seed"):
        Noise(seed)


def test_fresh_processes_differ():
    """Issue class jax_privacy / optax key(0): a default source with a fixed start."""
    program = "from dpfair.privacy.noise import Noise; print(Noise().take(32).hex())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONPATH": str(SOURCE)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    }
    assert len(outputs) == 2


def some_bytes(noise):
    return noise.take(64)


def some_normals(noise):
    return noise.normals(8).tobytes()


def some_batch(noise):
    return noise.poisson_batch(512, 0.5).astype("<i2").tobytes()


def some_integers(noise):
    return noise.discrete_gaussian(1 << 60, 8).tobytes()


MADE_AHEAD = pytest.mark.parametrize("draw", [some_bytes, some_normals, some_batch, some_integers])


def drawn_in_children(noise, draw, children=3):
    """What forked children, and then the parent, draw from one source."""
    pipes = []
    for _ in range(children):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, draw(noise))
            os._exit(0)
        os.close(writer)
        pipes.append(reader)
    outputs = [os.read(reader, 4096) for reader in pipes]
    for reader in pipes:
        os.close(reader)
    for _ in range(children):
        os.wait()
    return {*outputs, draw(noise)}


class ForgetsForks(Noise):
    _owner = property(lambda self: os.getpid(), lambda self, value: None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@MADE_AHEAD
def test_forks_share_no_randomness(draw):
    noise, broken = Noise(), ForgetsForks()
    draw(noise)
    draw(broken)
    assert len(drawn_in_children(noise, draw)) == 4
    assert len(drawn_in_children(broken, draw)) == 1


@MADE_AHEAD
def test_copies_share_no_randomness(draw):
    noise = Noise()
    draw(noise)
    copies = [copy.copy(noise), copy.deepcopy(noise), pickle.loads(pickle.dumps(noise))]
    assert all(c.secure for c in copies)
    assert len({draw(n) for n in [noise, *copies]}) == 4
    seeded = Noise(3)
    draw(seeded)
    assert draw(copy.deepcopy(seeded)) == draw(seeded)


@MADE_AHEAD
def test_nothing_is_drawn_twice(draw):
    noise = Noise(12)
    assert len({draw(noise) for _ in range(3000)}) == 3000


class Slow(Noise):
    """Gives other threads a chance between reading and moving a place in a buffer."""

    @property
    def _used(self):
        time.sleep(0)
        return self.place

    @_used.setter
    def _used(self, value):
        self.place = value

    @property
    def _normals_used(self):
        time.sleep(0)
        return self.place_of_normals

    @_normals_used.setter
    def _normals_used(self, value):
        self.place_of_normals = value


def drawn_in_threads(noise, draw, threads=4, each=400):
    pieces = []

    def work():
        pieces.extend([draw(noise) for _ in range(each)])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    return Counter(pieces)


@pytest.mark.parametrize("draw", [some_bytes, some_normals])
def test_threads_share_no_randomness(draw):
    stream = Noise(9)
    expected = Counter(draw(stream) for _ in range(1600))
    assert drawn_in_threads(Slow(9), draw) == expected
    unlocked = Slow(9)
    unlocked._lock = nullcontext()
    assert drawn_in_threads(unlocked, draw) != expected


@MADE_AHEAD
def test_threads_draw_what_one_thread_draws(draw):
    stream = Noise(10)
    expected = Counter(draw(stream) for _ in range(1600))
    assert drawn_in_threads(Noise(10), draw) == expected


def test_large_requests_do_not_repeat_either():
    noise = Noise(1)
    pieces = [noise.take(100_000), noise.take(100), noise.take(100_000), noise.take(65_536)]
    words = np.frombuffer(b"".join(p[: len(p) // 8 * 8] for p in pieces), dtype="<u8")
    assert len(np.unique(words)) == len(words)
