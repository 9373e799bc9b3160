"""The last digits of a release: what they tell, and what they must not."""

from __future__ import annotations

import numpy as np
import pytest
from trust.broken_noise import broken

from dpfair.audit.distinguish import Listening, Mechanism, distinguish
from dpfair.audit.precision import STATED, granularity, last_digits, precision_mechanisms
from dpfair.audit.sums import Column, gradient_sums, one_step, paid

COUNTS, FLOATS, EXACT = precision_mechanisms()
SIZE = 4500


def test_granularity_is_the_largest_power_that_divides():
    values = [1.0, -3.0, 12.0, 0.375, 2.0**-1074, 2.0**1000, 1 / 3, np.pi]
    expected = [0, 0, 2, -3, -1074, 1000, -54, -48]
    assert granularity(values).tolist() == expected
    for value, k in zip(values, expected, strict=True):
        if k > -1000:
            assert (value / 2.0**k) % 2 == 1
    assert granularity([0.0, -0.0]).tolist() == [1100, 1100]


def released(release, first, second):
    """A mechanism with the last digits of a naive release as its statistics."""

    def sample(samples, noise):
        rng = np.random.default_rng(int(noise.below(2**32)))
        return tuple(last_digits(release(x, samples, rng), first, second) for x in (first, second))

    return Mechanism("naive", 1.0, 0.0, {"pair": sample})


def float_laplace(count, samples, rng):
    return count + rng.laplace(0, 1, samples)


def float32_on_a_rate(rate, samples, rng):
    """As the published code of the paper does: float32 noise on a float64 rate."""
    noise = rng.laplace(0, 1 / SIZE, samples).astype(np.float32)
    return rate + noise.astype(np.float64)


# Rates whose own digits do not tell them apart: only the digits of the noise do.
RATES = next(
    (k / SIZE, (k + 1) / SIZE)
    for k in range(1371, SIZE)
    if granularity(k / SIZE) == granularity((k + 1) / SIZE)
)


@pytest.mark.parametrize(
    ("release", "first", "second"), [(float_laplace, 0.0, 1.0), (float32_on_a_rate, *RATES)]
)
def test_naive_noise_is_caught_by_its_last_digits(release, first, second):
    finding = distinguish(released(release, first, second), 8000, Listening(1))
    assert finding.shown.epsilon > 3


def test_counts_are_whole_whatever_the_input():
    for sample in COUNTS.pairs.values():
        for digits in sample(300, Listening(2)):
            assert digits.min() >= 0
    assert not distinguish(COUNTS, 8000, Listening(1)).exceeds


def test_exact_arithmetic_tells_nothing_by_its_digits():
    finding = distinguish(EXACT, 20_000, Listening(1))
    assert not finding.exceeds
    assert finding.shown.epsilon < 0.5


def test_float64_noise_tells_more_than_it_claims_and_says_so():
    """Beside an empty sum; this is why there is exact arithmetic."""
    finding = distinguish(FLOATS, 20_000, Listening(1))
    assert finding.shown.epsilon > 2 * finding.epsilon
    assert finding.verdict == STATED
    assert not finding.failed


def test_digits_worse_than_those_of_float64_are_no_stated_limit():
    """Noise in float32 gives itself away at once, whatever it is added to."""

    def single(self, question, noisy):
        noise = (noisy() - question.value).astype(np.float32)
        self.exact, self.heard = question.value, question.value + noise
        return self.heard

    finding = distinguish(FLOATS, 20_000, broken(answer=single)(1))
    assert finding.failed
    assert finding.verdict == "EXCEEDS ITS CLAIM"


def test_float64_digits_tell_nothing_of_a_sum_that_is_large_beside_its_noise():
    plan = one_step(multiplier=1.0, rate=1.0)

    def sample(samples, noise):
        released, exact = [], []
        for labels in ((1,) * 40, (1,) * 41):
            gradient_sums(plan, Column(labels), paid(plan, noise, "add_remove", 0.1))
            answers = [noise.heard]
            exact.append(noise.exact[0])
            while sum(map(len, answers)) < samples:
                gradient_sums(plan, Column(labels), paid(plan, noise, "add_remove", 0.1))
                answers.append(noise.heard)
            released.append(np.concatenate(answers)[:samples])
        return tuple(last_digits(x, *exact) for x in released)

    large = Mechanism("large sum", FLOATS.epsilon, FLOATS.delta, {"40 / 41": sample})
    assert not distinguish(large, 20_000, Listening(1)).exceeds
