"""The laws of the noise, and that no randomness is ever used twice."""

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
from scipy import special, stats

from dpfair.errors import InputError
from dpfair.privacy.noise import Noise

SOURCE = Path(__file__).parents[2] / "src"


def laplace_p_value(draws, parameter):
    """Chi-squared test of P(z) proportional to exp(-parameter |z|), tails pooled."""
    draws = np.asarray(draws)
    ratio = np.exp(-float(parameter))
    centre = (1 - ratio) / (1 + ratio)
    reach = int(np.log(200 / (len(draws) * centre)) / np.log(ratio))
    values = np.arange(-reach, reach + 1)
    law = centre * ratio ** np.abs(values)
    law[[0, -1]] = ratio**reach / (1 + ratio)
    seen = np.array([(np.clip(draws, -reach, reach) == v).sum() for v in values])
    return stats.chisquare(seen, law * len(draws)).pvalue


def geometric_difference(parameter, size, seed):
    """The same law, from an independent generator and another construction."""
    rng = np.random.default_rng(seed)
    p = -np.expm1(-float(parameter))
    return rng.geometric(p, size) - rng.geometric(p, size)


@pytest.mark.parametrize(
    ("parameter", "size"),
    [
        (Fraction(1, 3), 200_000),
        (Fraction(0.1), 20_000),
        (Fraction(5, 2), 20_000),
        (Fraction(1), 20_000),
    ],
    ids=str,
)
def test_discrete_laplace_has_its_exact_law(parameter, size):
    draws = Noise(seed=11).discrete_laplace(parameter, size)
    assert all(type(z) is int for z in draws[:100])
    assert laplace_p_value(draws, parameter) > 1e-6


@pytest.mark.slow
def test_a_million_laplace_draws_have_the_exact_law_and_one_percent_is_seen():
    draws = Noise(seed=13).discrete_laplace(Fraction(1, 3), 10**6)
    assert laplace_p_value(draws, Fraction(1, 3)) > 1e-6
    assert laplace_p_value(draws, 1.01 / 3) < 1e-6
    assert laplace_p_value(draws, 0.99 / 3) < 1e-6


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_a_parameter_three_percent_off_is_rejected(factor):
    size, parameter = 200_000, Fraction(1, 3)
    assert laplace_p_value(geometric_difference(parameter, size, 1), parameter) > 1e-6
    wrong = geometric_difference(float(parameter) * factor, size, 1)
    assert laplace_p_value(wrong, parameter) < 1e-6


class OneSided(Noise):
    def discrete_laplace(self, parameter, size):
        return [abs(z) for z in super().discrete_laplace(parameter, size)]


class Biased(Noise):
    """Reduces by modulus instead of rejecting."""

    def below(self, bound):
        return int.from_bytes(self.take(1), "little") % bound


@pytest.mark.parametrize("broken", [OneSided, Biased])
def test_broken_samplers_are_rejected(broken):
    parameter = Fraction(34, 101)
    assert laplace_p_value(Noise(seed=11).discrete_laplace(parameter, 20_000), parameter) > 1e-6
    assert laplace_p_value(broken(seed=11).discrete_laplace(parameter, 20_000), parameter) < 1e-6


def test_keeping_the_negative_zero_is_rejected():
    rng = np.random.default_rng(1)
    magnitudes = rng.geometric(-np.expm1(-1 / 3), 20_000) - 1
    draws = magnitudes * rng.choice([-1, 1], 20_000)
    assert laplace_p_value(draws, Fraction(1, 3)) < 1e-6


def test_discrete_laplace_of_a_tiny_parameter():
    draws = Noise(seed=2).discrete_laplace(Fraction(1, 10**30), 50)
    assert 10**28 < np.median([abs(z) for z in draws]) < 10**31
    # Integers all the way: a float would end in zeros.
    assert len({z % 1000 for z in draws}) > 30


def uniform_p_value(noise, bound, size=60_000):
    seen = np.bincount([noise.below(bound) for _ in range(size)], minlength=bound)
    assert len(seen) == bound
    return stats.chisquare(seen).pvalue


@pytest.mark.parametrize("bound", [2, 3, 7, 100, 256])
def test_below_is_uniform(bound):
    assert uniform_p_value(Noise(seed=5), bound) > 1e-6


def test_a_biased_below_is_rejected():
    assert uniform_p_value(Biased(seed=5), 100) < 1e-6


def test_below_for_any_size():
    noise = Noise(seed=1)
    assert [noise.below(1) for _ in range(5)] == [0] * 5
    large = 3 * 2**200 + 1
    draws = [noise.below(large) for _ in range(400)]
    assert all(0 <= d < large for d in draws)
    assert 0.4 < np.mean([d / large for d in draws]) < 0.6


def test_uniforms_have_their_law():
    draws = Noise(seed=3).uniforms(200_000)
    assert draws.min() > 0
    assert draws.max() < 1
    assert stats.kstest(draws, "uniform").pvalue > 1e-6
    assert stats.kstest(draws**1.03, "uniform").pvalue < 1e-6


class Constant(Noise):
    """Hands out one byte only, to reach the ends."""

    def __init__(self, byte):
        super().__init__(seed=0)
        self.byte = byte

    def take(self, count):
        return self.byte * count


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_uniforms_never_reach_the_ends(byte):
    draws = Constant(byte).uniforms(3)
    assert ((draws > 0) & (draws < 1)).all()
    assert np.isfinite(Constant(byte).normals(3)).all()


def test_uniforms_are_the_middles_of_equal_intervals():
    words = Noise(seed=3).random_uint64(10_000)
    expected = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    assert Noise(seed=3).uniforms(10_000).tolist() == expected.tolist()


def test_normals_have_their_law():
    draws = Noise(seed=4).normals(200_000)
    assert stats.kstest(draws, "norm").pvalue > 1e-6
    assert stats.kstest(draws * 0.97, "norm").pvalue < 1e-6
    assert stats.kstest(np.abs(draws), "norm").pvalue < 1e-6


def test_normals_are_independent():
    draws = Noise(seed=4).normals(200_000)
    for lag in (1, 2, 8):
        assert abs(np.corrcoef(draws[:-lag], draws[lag:])[0, 1]) < 5 / len(draws) ** 0.5


def whole_numbers(noise, count):
    """Discrete Gaussian numbers at a scale where they are normal up to 2^-30."""
    return noise.discrete_gaussian(1 << 60, count) * 2.0**-30


def tail_p_value(draws):
    """The least of three binomial tests: of how many draws lie beyond 3.5, 4 and 4.5."""
    size = np.abs(draws)
    seen = {far: int((size > far).sum()) for far in (3.5, 4.0, 4.5)}
    return min(
        stats.binomtest(count, len(draws), 2 * stats.norm.sf(far)).pvalue
        for far, count in seen.items()
    )


@pytest.mark.parametrize("draw", [Noise.normals, whole_numbers])
def test_the_tails_of_gaussian_noise_have_their_law(draw):
    """A set that noise never reaches tells neighbours apart, whatever epsilon is."""
    draws = draw(Noise(seed=14), 3 * 10**6)
    assert tail_p_value(draws) > 1e-6
    assert tail_p_value(np.clip(draws, -4.4, 4.4)) < 1e-6


class Coarse(Noise):
    """Makes normal numbers of 16 bits."""

    def normals(self, count):
        return special.ndtri((np.floor(self.uniforms(count) * 2**16) + 0.5) / 2**16)


class Single(Noise):
    """Makes normal numbers in float32."""

    def normals(self, count):
        return super().normals(count).astype(np.float32).astype(np.float64)


def test_normals_are_all_different():
    assert len(np.unique(Noise(seed=4).normals(100_000))) == 100_000
    for broken in (Coarse, Single):
        assert len(np.unique(broken(seed=4).normals(100_000))) < 100_000
    assert tail_p_value(Coarse(seed=4).normals(3 * 10**6)) < 1e-6


def inclusion_z_scores(noise, population, rate, others=(), rounds=4000):
    """How often each position was chosen, alone, beside its neighbour and twice in a row.

    In standard deviations; and the variance of the batch size over that of a binomial.
    """
    chosen = np.zeros((rounds, population), dtype=bool)
    for row in chosen:
        for other in others:
            noise.poisson_batch(*other)
        row[noise.poisson_batch(population, rate)] = True
    z = [(chosen.sum(axis=0) - rounds * rate) / (rounds * rate * (1 - rate)) ** 0.5]
    for together in (chosen[:, :-1] & chosen[:, 1:], chosen[:-1] & chosen[1:]):
        n = len(together)
        z.append((together.sum(axis=0) - n * rate**2) / (n * rate**2 * (1 - rate**2)) ** 0.5)
    spread = chosen.sum(axis=1).var() / (population * rate * (1 - rate))
    return np.abs(np.concatenate(z)).max(), spread


class Shuffled(Noise):
    """Batches of a fixed size: the mistake of opacus#80."""

    def poisson_batch(self, population, rate):
        keys = self.uniforms(population)
        return np.sort(np.argsort(keys)[: round(population * rate)])


class Repeated(Noise):
    """Uses every batch twice."""

    last = None

    def poisson_batch(self, population, rate):
        batch, self.last = self.last, None
        if batch is None:
            batch = self.last = super().poisson_batch(population, rate)
        return batch


@pytest.mark.parametrize("others", [(), [(7, 0.2)], [(50, 0.3)], [(3, 0.01), (1000, 0.2)]], ids=str)
def test_batches_are_independent_coins(others):
    """Whatever other batches, of other sizes and rates, are drawn between them."""
    worst, spread = inclusion_z_scores(Noise(seed=6), 50, 0.2, others)
    assert worst < 5
    assert 0.85 < spread < 1.15


def test_batches_are_cut_from_one_sequence_of_coins():
    """No coin is used twice or left out, wherever one batch ends and the next one starts."""
    for population in (0, 1, 7, 1000, 5000):
        noise, found = Noise(seed=6), []
        for i in range(100):
            found.extend((i * population + noise.poisson_batch(population, 0.03)).tolist())
        assert found == Noise(seed=6).poisson_batch(100 * population, 0.03).tolist()


def test_a_batch_is_not_changed_by_the_next_ones():
    noise = Noise(seed=6)
    batches, copies = [], []
    for _ in range(300):
        batches.append(noise.poisson_batch(1000, 0.1))
        copies.append(batches[-1].tolist())
    assert [batch.tolist() for batch in batches] == copies


def test_dependent_batches_are_rejected():
    assert inclusion_z_scores(Shuffled(seed=6), 50, 0.2)[1] < 0.5
    assert inclusion_z_scores(Repeated(seed=6), 50, 0.2)[0] > 5


@pytest.mark.parametrize(
    ("population", "rate"), [(0, 0.5), (1, 0.5), (5, 0.999), (100, 1e-18), (100, 1e-300)]
)
@pytest.mark.parametrize("method", ["poisson_batch", "exact_batch"])
def test_batches_at_the_edges(population, rate, method):
    sample = getattr(Noise(seed=7), method)
    for _ in range(50):
        batch = sample(population, rate)
        assert ((batch >= 0) & (batch < population)).all()
        assert (np.diff(batch) > 0).all()
        assert rate > 1e-9 or len(batch) == 0


@pytest.mark.parametrize("rate", [0.5, 0.045, 1e-3])
def test_exact_coins_have_their_rate_and_are_independent(rate):
    noise, flips = Noise(seed=8), 400
    batches = [noise.exact_batch(500, rate) for _ in range(flips)]
    coins = np.zeros((flips, 500))
    for row, batch in zip(coins, batches, strict=True):
        row[batch] = 1
    assert stats.binomtest(int(coins.sum()), coins.size, rate).pvalue > 1e-6
    assert stats.binomtest(int(coins.sum()), coins.size, min(1, rate * 1.25)).pvalue < 1e-3
    both = int((coins[:, 1:] * coins[:, :-1]).sum())
    assert stats.binomtest(both, coins[:, 1:].size, rate**2).pvalue > 1e-6


class Coins(Noise):
    """The 64 bits of every coin, given."""

    coins = (0, 2**63 - 1, 2**63, 2**64 - 1)

    def take(self, count):
        assert count == 2 * len(self.coins)
        return np.array([c >> 48 for c in self.coins], dtype="<u2").tobytes()

    def random_uint64(self, count):
        tied = [c for c in self.coins if c >> 48 == self.first]
        assert count == len(tied)
        return np.array([c % 2**48 << 16 for c in tied], dtype=np.uint64)


@pytest.mark.parametrize(
    ("rate", "heads"),
    [
        (0.5, [0, 1]),
        (0.5 + 2.0**-53, [0, 1, 2]),
        (0.5 - 2.0**-54, [0]),
        (2.0**-65, []),
        (2.0**-64, [0]),
        (1 - 2.0**-53, [0, 1, 2]),
    ],
)
def test_exact_coins_are_heads_below_the_rate_rounded_down(rate, heads):
    noise = Coins(0)
    noise.first = int(Fraction(rate) * 2**16)
    assert noise.exact_batch(4, rate).tolist() == heads


def test_integers_made_ahead_keep_their_variance():
    noise = Noise(3)
    variances = [4**k for k in range(12)]
    drawn = {v: [] for v in variances}
    for _ in range(30):
        for v in variances:
            drawn[v].extend(noise.discrete_gaussian(v, 50).tolist())
    for v in variances:
        assert np.var(drawn[v]) == pytest.approx(v, rel=0.2)


def test_integers_are_made_ahead_for_at_most_eight_variances():
    """A seeded source stores all that it made ahead: 4096 integers per variance."""
    noise, most = Noise(3), 0
    for variance in range(1, 21):
        noise.discrete_gaussian(variance, 1)
        most = max(most, len(pickle.dumps(noise)))
    assert 7 * 4096 * 8 < most < 8 * 4096 * 8 + 10_000


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
    """Gives other threads a chance inside ``take``."""

    @property
    def _used(self):
        time.sleep(0)
        return self.place

    @_used.setter
    def _used(self, value):
        self.place = value


def taken_in_threads(noise, threads=4, each=400, size=16):
    pieces = []

    def work():
        pieces.extend([noise.take(size) for _ in range(each)])

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


def test_threads_share_no_randomness():
    stream = Noise(9)
    expected = Counter(stream.take(16) for _ in range(1600))
    assert taken_in_threads(Slow(9)) == expected
    unlocked = Slow(9)
    unlocked._lock = nullcontext()
    assert taken_in_threads(unlocked) != expected


def test_large_requests_do_not_repeat_either():
    noise = Noise(1)
    pieces = [noise.take(100_000), noise.take(100), noise.take(100_000), noise.take(65_536)]
    words = np.frombuffer(b"".join(p[: len(p) // 8 * 8] for p in pieces), dtype="<u8")
    assert len(np.unique(words)) == len(words)
