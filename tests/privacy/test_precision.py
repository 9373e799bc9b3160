"""What a released rate tells to somebody who looks at its last bits.

Noise in floating point can reveal the count it hides. The same test
runs on our counts, on numpy's Laplace noise and on the reference implementation of the paper.
"""

import math

import numpy as np
import pytest
from scipy.stats import beta

from dpfair.privacy.events import noisy_table
from dpfair.privacy.ledger import Ledger
from dpfair.privacy.noise import Noise

EPSILON = 1.0
SIZE = 4500
COUNT = 1371
RELEASES = 6_000


def epsilon_lower_bound(hits, other_hits, trials, delta=0.0, error=0.001):
    """What epsilon must at least be, given how often an event happened on two neighbours.

    Clopper and Pearson (1934) bounds on both probabilities, wrong with probability ``error``.
    """
    low = beta.ppf(error / 2, hits, trials - hits + 1) if hits else 0.0
    missed = trials - other_hits
    high = beta.ppf(1 - error / 2, other_hits + 1, missed) if missed else 1.0
    return math.log((low - delta) / high) if low > delta else -math.inf


def events(size, counts):
    """Sets of outputs that an attacker may look for: low bits, float32 numbers, sides."""
    for power in (20, 30, 40, 44, 48, 52, 53, 54, 56):
        yield lambda x, p=power: (x * 2.0**p) % 1 != 0
    for k in counts:
        yield lambda x, k=k: is_float32(x - k / size)
        yield lambda x, k=k: x == k / size
        yield lambda x, k=k: x > k / size
        yield lambda x, k=k: x < k / size


def is_float32(values):
    return values.astype(np.float32).astype(np.float64) == values


def shown_epsilon(release, size=SIZE, count=COUNT):
    """The epsilon shown by the best event: chosen on one half of the releases, tested on the other.

    The neighbours have ``count`` and ``count + 1`` accepted records.
    """
    rng = np.random.default_rng(0)
    counts = (count, count + 1)
    sample = {k: release(k, RELEASES, rng) for k in counts}
    half = RELEASES // 2
    best = (-math.inf, None)
    for event in events(size, counts):
        for a, b in (counts, counts[::-1]):
            for holds in (True, False):
                hits = [int((event(sample[k][:half]) == holds).sum()) for k in (a, b)]
                bound = epsilon_lower_bound(*hits, half)
                if bound > best[0]:
                    best = (bound, (event, a, b, holds))
    event, a, b, holds = best[1]
    hits = [int((event(sample[k][half:]) == holds).sum()) for k in (a, b)]
    return epsilon_lower_bound(*hits, half)


def our_release(count, size, releases, seed, parameter=EPSILON):
    """Through the ledger, as a fit does: an integer count, then divided by a public size."""
    event = noisy_table(parameter, "add_remove")
    noise = Noise(seed)
    rates = []
    for _ in range(releases):
        ledger = Ledger(parameter, 1e-5, noise=noise)
        receipt = ledger.charge(event, scope="release", purpose="count the accepted")
        [noisy] = receipt.draw(event).discrete_laplace([count])
        rates.append(noisy / size)
    return np.array(rates)


def ours(count, releases, rng):
    return our_release(count, SIZE, releases, int(rng.integers(2**31)))


def float_laplace_on_a_count(count, releases, rng):
    return count + rng.laplace(0, 1 / EPSILON, releases)


def reference_release(count, releases, rng, size=SIZE):
    """Algorithm2.py of the paper's authors: a float32 sample added to a float64 rate."""
    noise = rng.laplace(0, 1 / (EPSILON * size), releases).astype(np.float32)
    return count / size + noise.astype(np.float64)


def half_noise(count, releases, rng):
    return our_release(count, SIZE, releases, int(rng.integers(2**31)), parameter=2 * EPSILON)


def test_clopper_pearson_on_known_counts():
    """Known case: 5381 against 0 of 20,000 shows epsilon 7.26 at 95 %."""
    assert epsilon_lower_bound(5381, 0, 20_000, error=0.05) == pytest.approx(7.26, abs=0.05)
    assert epsilon_lower_bound(0, 100, 1000) == -math.inf
    assert epsilon_lower_bound(500, 500, 1000) < 0
    assert epsilon_lower_bound(1000, 1000, 1000) < 0


@pytest.mark.parametrize("count", [0, COUNT])
def test_our_rates_show_no_more_than_the_claim(count):
    assert 0.75 * EPSILON < shown_epsilon(ours, count=count) <= EPSILON


@pytest.mark.parametrize(
    ("broken", "size", "count"),
    [(float_laplace_on_a_count, 1, 0), (reference_release, SIZE, COUNT), (half_noise, SIZE, COUNT)],
)
def test_the_same_test_catches_broken_releases(broken, size, count):
    assert shown_epsilon(broken, size, count) > 1.5 * EPSILON


def test_numpy_laplace_on_a_small_count_leaks():
    """Finding 2: near zero a float has more bits than near one."""
    rng = np.random.default_rng(1)

    def event(x):
        return (x * 2.0**53) % 1 != 0

    hits = [int(event(float_laplace_on_a_count(k, 20_000, rng)).sum()) for k in (0, 1)]
    assert epsilon_lower_bound(*hits, 20_000) > 5 * EPSILON
    ours_at = [our_release(k, 1, 4000, seed=k) for k in (0, 1)]
    assert [int(event(x).sum()) for x in ours_at] == [0, 0]


def surviving_counts(rate, size):
    """Finding 1: the counts k for which rate - k/n is a float32 number."""
    return np.flatnonzero(is_float32(rate - np.arange(size + 1) / size))


def recovered(rates, size):
    """The share of releases from which exactly the true count is left."""
    return np.mean([surviving_counts(r, size).tolist() == [COUNT] for r in rates])


def test_the_reference_release_reveals_the_exact_count():
    rng = np.random.default_rng(3)
    leaked = recovered(reference_release(COUNT, 100, rng), SIZE)
    assert leaked > 0.9
    # From ours, an attacker finds it no more often than by reading the most likely output.
    honest = recovered(our_release(COUNT, SIZE, 100, seed=3), SIZE)
    most_likely = math.tanh(EPSILON / 2)
    assert honest < most_likely + 0.15


def test_outputs_lie_on_a_grid_that_knows_no_data():
    for count in (0, 1, COUNT):
        scaled = our_release(count, SIZE, 500, seed=8) * SIZE
        assert np.abs(scaled - np.round(scaled)).max() < 1e-9
        assert set(our_release(count, SIZE, 500, seed=8)) <= {k / SIZE for k in range(-9000, 9000)}
