"""Every mechanism of the library stays within its claim, and broken variants do not."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from trust.broken_noise import (
    BATCH,
    EXACT_BATCH,
    GRID,
    LAPLACE,
    NORMALS,
    again,
    broken,
    weak,
)

from dpfair.audit.counts import EPSILON, table_release
from dpfair.audit.distinguish import Listening, Mechanism, distinguish, distinguish_all
from dpfair.audit.mechanisms import library_mechanisms
from dpfair.audit.sums import CLIP, gradient_sums, one_step, paid, summed
from dpfair.audit.trials import count_statistics, counted, noisy_counts
from dpfair.errors import InputError, ReceiptError
from dpfair.learners.descent import FlatClip
from dpfair.privacy.accountants import epsilon_of
from dpfair.privacy.draw import Draw
from dpfair.privacy.events import noisy_table
from dpfair.privacy.grid import grid_variance
from dpfair.privacy.ledger import Ledger, Receipt
from dpfair.privacy.noise import Noise

NAMES = [mechanism.name for mechanism in library_mechanisms()]


@cache
def mechanism(name) -> Mechanism:
    return next(m for m in library_mechanisms() if m.name == name)


def audited(name, samples, source=Listening):
    return distinguish(mechanism(name), samples, source(1), confidence=0.999)


@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_stays_within_its_claim(name):
    finding = audited(name, 1000)
    assert not finding.failed
    assert len(mechanism(name).pairs) >= 6
    assert 0 < finding.epsilon < math.inf


def test_there_are_mechanisms_enough_and_each_has_a_name_of_its_own():
    assert len(set(NAMES)) == len(NAMES) >= 30
    assert sum(mechanism(name).delta == 0 for name in NAMES) >= 13


@pytest.mark.slow
def test_with_many_samples_all_stay_within_and_pure_ones_show_nine_tenths():
    findings = distinguish_all(library_mechanisms(), 100_000, Listening(7), 0.999)
    assert [finding.name for finding in findings if finding.failed] == []
    for finding in findings:
        if finding.delta == 0:
            assert finding.shown.epsilon > 0.9 * finding.epsilon, finding.name
        elif "gradient step" in finding.name and "Poisson" not in finding.name:
            assert finding.exceeds == bool(finding.limit), finding.name
    whole = [f for f in findings if f.delta == 0.1 and "digits" not in f.name]
    assert min(f.shown.epsilon / f.epsilon for f in whole) > 0.8


def test_one_confidence_holds_for_all_of_many_tests():
    chosen = [mechanism("count"), mechanism("gradient step")]
    findings = distinguish_all(chosen, 800, Listening(1), 0.99)
    assert [f.confidence for f in findings] == [pytest.approx(0.995)] * 2


def test_too_few_samples_are_refused():
    with pytest.raises(InputError, match="samples"):
        audited("count", 100)


def test_the_most_telling_pair_is_found_and_tested_with_fresh_samples():
    def same(samples, noise):
        return (np.zeros((samples, 1)), np.zeros((samples, 1)))

    drawn = []

    def apart(samples, noise):
        drawn.append(samples)
        return (np.zeros((samples, 1)), np.ones((samples, 1)))

    finding = distinguish(Mechanism("x", 1, 0, {"a": same, "b": apart}), 4000, Listening(1))
    assert finding.pair == "b"
    assert drawn == [1000, 2000]
    assert finding.shown.trials == (2000, 2000)
    assert finding.failed
    assert finding.verdict == "EXCEEDS ITS CLAIM"


def test_a_stated_limit_is_no_failure_unless_it_shows_more_often_than_stated():
    def apart(samples, noise):
        return (np.zeros((samples, 1)), np.ones((samples, 1)))

    def seldom(samples, noise):
        return (noise.uniforms(samples)[:, None] < 0.2, np.zeros((samples, 1)))

    stated = Mechanism("x", 1, 0, {"a": seldom}, limit="as stated", limit_delta=0.25)
    finding = distinguish(stated, 4000, Listening(1))
    assert finding.exceeds
    assert not finding.failed
    assert finding.verdict == "as stated"
    for worse in (
        replace(stated, limit_delta=0.0),
        replace(stated, limit_delta=0.1),
        replace(stated, pairs={"a": apart}),
    ):
        finding = distinguish(worse, 4000, Listening(1))
        assert finding.failed
        assert finding.verdict == "EXCEEDS ITS CLAIM"


def test_the_statistics_of_counts():
    noisy = np.array([[5, 0], [2, 9]])
    ratio, moved, against = count_statistics(noisy, (3, 1), (4, 1)).T
    assert ratio.tolist() == [4, 3]  # 4 or more speaks for the second, 3 or less for the first
    assert moved.tolist() == [5, 2]
    assert against.tolist() == [5, -7]


def test_trials_and_tables_are_sorted_into_rows():
    def release(cells, noise):
        return [*cells, *(10 * c for c in cells)]  # two tables of all trials

    rows = noisy_counts(release, (1, 2), 5, Listening(1), trials=3, tables=2)
    assert rows.tolist() == [[1, 2, 10, 20]] * 5


# Broken noise on counts.

BROKEN_COUNTS = {
    "no noise": lambda self, parameter, size: [0] * size,
    "half the noise": weak(0.5).discrete_laplace,
    "one-sided noise": lambda self, parameter, size: [
        abs(z) for z in LAPLACE(self, parameter, size)
    ],
    "a fixed seed": lambda self, parameter, size: LAPLACE(Noise(5), parameter, size),
    "one noise for all cells": lambda self, parameter, size: LAPLACE(self, parameter, 1) * size,
}


@pytest.mark.parametrize("laplace", BROKEN_COUNTS.values(), ids=list(BROKEN_COUNTS))
@pytest.mark.parametrize("name", ["count", "table of scores, replace-one"])
def test_broken_noise_on_counts_is_caught(name, laplace):
    assert audited(name, 5000, broken(discrete_laplace=laplace)).failed


def test_noise_that_repeats_after_twenty_cells_is_caught():
    def repeated(self, parameter, size):
        noise = LAPLACE(self, parameter, 20)
        return [noise[i % 20] for i in range(size)]

    assert audited("count, cells far apart", 5000, broken(discrete_laplace=repeated)).failed


@pytest.mark.slow
def test_a_tenth_too_little_noise_on_counts_is_caught():
    assert audited("count", 16_000, weak("0.9")).failed


class Endless(Receipt):
    """A receipt that never runs out."""

    def draw(self, event):
        return Draw(event, self.noise, self.scope)


def charged_once_drawn_twice(kind):
    def release(cells, noise):
        event, noisy = noisy_table(EPSILON, "add_remove"), []
        paid = Ledger(EPSILON, 1e-12, noise=noise).charge(event, scope="", purpose="count")
        receipt = kind(paid.event, paid.noise)
        for _ in range(2):
            noisy += receipt.draw(event).discrete_laplace(cells)
        return noisy

    return counted("twice", release, epsilon=EPSILON, tables=2)


def test_a_double_release_is_caught():
    with pytest.raises(ReceiptError):
        distinguish(charged_once_drawn_twice(Receipt), 3000, Listening(1))
    finding = distinguish(charged_once_drawn_twice(Endless), 3000, Listening(1))
    assert finding.shown.epsilon > 1.4 * EPSILON


def test_replace_one_priced_as_add_remove_is_caught():
    cheap = table_release("replace_one", noisy_table(EPSILON, "add_remove"))
    pairs = {"one changes its cell": ((1, 0), (0, 1))}
    priced = counted("priced", cheap, epsilon=EPSILON, pairs=pairs)
    assert distinguish(priced, 3000, Listening(1)).shown.epsilon > 1.4 * EPSILON


# Broken steps.

BROKEN_SUMS = {
    "no noise": lambda self, count: np.zeros(count),
    "one-sided noise": lambda self, count: np.abs(NORMALS(self, count)),
    "a fixed seed": lambda self, count: NORMALS(Noise(5), count),
    "half the noise": weak(0.5).normals,
}
STEPS = [
    "gradient step",
    "gradient step, compiled",
    "gradient step on a Poisson batch",
    "query and gradient of one batch",
    "gradient step on a Poisson batch, replace-one",
    "two steps on Poisson batches",
    "leaf sums of a tree",
]
EXACT_STEPS = [
    "gradient step, exact arithmetic",
    "gradient step, exact arithmetic, compiled",
    "gradient step, exact arithmetic, two units",
    "gradient step on a Poisson batch, exact arithmetic",
    "two steps on Poisson batches, exact arithmetic",
    "leaf sums of a tree, exact arithmetic",
    "two draws of the cell sums of a block",
]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "half the noise") for name in STEPS),
        *((STEPS[0], kind) for kind in list(BROKEN_SUMS)[:-1]),
    ],
)
def test_broken_noise_on_sums_is_caught(name, kind):
    assert audited(name, 20_000, broken(normals=BROKEN_SUMS[kind])).failed


@pytest.mark.parametrize("name", ["gradient step", "gradient step, compiled", STEPS[-1]])
def test_a_tenth_too_little_noise_on_sums_is_caught(name):
    assert audited(name, 100_000, weak(0.9)).failed


@pytest.mark.parametrize("name", STEPS[2:5])
def test_five_times_the_sampling_rate_is_caught(name):
    larger = broken(poisson_batch=lambda self, population, rate: BATCH(self, population, 5 * rate))
    assert audited(name, 40_000, larger).failed


@pytest.mark.parametrize(
    "batch",
    [
        lambda self, population, rate: EXACT_BATCH(self, population, 5 * rate),
        lambda self, population, rate: np.arange(population),
    ],
    ids=["five times the rate", "everybody"],
)
def test_too_large_batches_in_exact_arithmetic_are_caught(batch):
    assert audited(EXACT_STEPS[3], 40_000, broken(exact_batch=batch)).failed


@pytest.mark.parametrize("name", EXACT_STEPS)
def test_half_the_noise_in_exact_arithmetic_is_caught(name):
    half = broken(discrete_gaussian=lambda self, variance, size: GRID(self, variance // 4, size))
    assert audited(name, 20_000, half).failed


def test_noise_of_the_largest_unit_for_all_units_is_caught():
    """The cells of the smaller unit then have an eighth of their noise."""

    def coarse(self, question, noisy):
        unit = float(question.units.max())
        variance = grid_variance(question.noise_multiplier, question.sensitivity, unit)
        return question.value + self.discrete_gaussian(variance, question.value.size)

    name = "gradient step, exact arithmetic, two units"
    assert audited(name, 4000, broken(answer=coarse)).failed


@pytest.mark.parametrize(
    ("name", "sampler", "samples"),
    [
        ("two steps on Poisson batches", "normals", 5000),
        ("two steps on Poisson batches", "poisson_batch", 100_000),
        ("two steps on Poisson batches, exact arithmetic", "discrete_gaussian", 5000),
        ("two steps on Poisson batches, exact arithmetic", "exact_batch", 100_000),
    ],
)
def test_two_steps_that_share_noise_or_a_batch_are_caught(name, sampler, samples):
    same = broken(**{sampler: again(getattr(Noise, sampler))})
    assert audited(name, samples, same).failed


class Unclipped(FlatClip):
    """States the norm, and scales nothing down."""

    def __call__(self, norms, batch, answers):
        return np.ones_like(norms), self.norm


@pytest.mark.parametrize("clip", [FlatClip, Unclipped])
def test_a_gradient_that_is_not_clipped_is_caught(clip):
    plan = replace(one_step(multiplier=1.0, rate=1.0), clip=clip(CLIP))
    claim = epsilon_of(plan.event, 0.1, "add_remove")

    def run(column, noise):
        return gradient_sums(plan, column, paid(plan, noise, "add_remove", 0.1))

    finding = distinguish(summed("a step", run, claim, 0.1), 4000, Listening(1))
    assert finding.failed == (clip is Unclipped)
