"""Events are plain, exact data, and others are refused."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.dp_event import (
    ComposedDpEvent,
    DiscreteLaplaceDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
)
from hypothesis import given
from hypothesis import strategies as st

from dpfair.errors import InputError
from dpfair.privacy.events import (
    GridGaussianDpEvent,
    best_of_runs,
    compose,
    exact_epsilon,
    gaussian_steps,
    has_floating_noise,
    noisy_table,
    parts,
    pure_epsilon,
    step_event,
)


@pytest.mark.parametrize(
    "event",
    [
        LaplaceDpEvent(1.0),
        NonPrivateDpEvent(),
        DiscreteLaplaceDpEvent(1.0, 2),
        GaussianDpEvent(0.0),
        GaussianDpEvent(math.nan),
        PoissonSampledDpEvent(1.0, GaussianDpEvent(1.0)),
        ComposedDpEvent([]),
        SelfComposedDpEvent(GaussianDpEvent(1.0), 0),
        SelfComposedDpEvent(GaussianDpEvent(1.0), -1),
        SelfComposedDpEvent(GaussianDpEvent(1.0), math.nan),
        SelfComposedDpEvent(GaussianDpEvent(1.0), math.inf),
    ],
    ids=str,
)
def test_events_that_we_cannot_price_have_no_parts(event):
    with pytest.raises(InputError):
        parts(event)


def test_parts_multiply_and_add():
    event = ComposedDpEvent(
        [
            SelfComposedDpEvent(SelfComposedDpEvent(GaussianDpEvent(2.0), 3), 5),
            GaussianDpEvent(2.0),
            DiscreteLaplaceDpEvent(0.5, 1),
        ]
    )
    assert parts(event) == Counter({GaussianDpEvent(2.0): 16, DiscreteLaplaceDpEvent(0.5, 1): 1})


def test_step_events():
    assert step_event(2.0, 1.0) == GaussianDpEvent(2.0)
    assert step_event(2.0, 0.1) == PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0))
    assert parts(gaussian_steps(2.0, 0.1, 7)) == Counter({step_event(2.0, 0.1): 7})


def test_exact_steps_are_events_of_their_own():
    assert step_event(2.0, 1.0, exact=True) == GridGaussianDpEvent(2.0)
    sampled = PoissonSampledDpEvent(0.1, GridGaussianDpEvent(2.0))
    assert parts(gaussian_steps(2.0, 0.1, 7, exact=True)) == Counter({sampled: 7})
    assert sampled != step_event(2.0, 0.1)


@pytest.mark.parametrize("q", [0.1, 1.0])
def test_floating_noise_is_seen_wherever_it_is(q):
    exact, plain = (gaussian_steps(2.0, q, 7, exact=flag) for flag in (True, False))
    table = noisy_table(1, "replace_one")
    assert not has_floating_noise(compose([exact, table]))
    assert has_floating_noise(compose([plain, table]))
    assert has_floating_noise(compose([exact, plain]))
    assert not has_floating_noise(best_of_runs([exact, compose([exact, table])], 5, 0.5))
    assert has_floating_noise(best_of_runs([exact, plain], 5, 0.5))


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**6))
def test_tables_never_cost_more_than_stated(eps):
    for relation, cells in (("add_remove", 1), ("replace_one", 2)):
        event = noisy_table(eps, relation)
        assert sum(parts(event).values()) == cells
        cost = pure_epsilon(event)
        assert eps * (1 - Fraction(1, 2**52)) <= cost <= eps


def test_rounding_down_matters():
    """The nearest float to 1/10 is above it: the twin without rounding down would overspend."""
    assert Fraction(0.1) > Fraction(1, 10)
    assert pure_epsilon(noisy_table("0.1", "add_remove")) < Fraction(1, 10)
    assert pure_epsilon(noisy_table("0.5", "add_remove")) == Fraction(1, 2)


def test_pure_epsilon_is_exact():
    event = ComposedDpEvent(
        [SelfComposedDpEvent(DiscreteLaplaceDpEvent(0.1, 1), 10), DiscreteLaplaceDpEvent(0.25, 1)]
    )
    assert pure_epsilon(event) == 10 * Fraction(0.1) + Fraction(1, 4)
    assert pure_epsilon(event) != Fraction(10 * 0.1 + 0.25)
    assert pure_epsilon(compose([event, GaussianDpEvent(1.0)])) is None


@pytest.mark.parametrize(
    "bad",
    [
        math.nan,
        math.inf,
        -math.inf,
        0,
        -1,
        "0",
        "-1",
        "nan",
        "inf",
        "x",
        "",
        "1/0",
        "1e400",
        10**400,
        None,
        [1],
        1j,
        1e-324,
    ],
    ids=lambda value: str(value)[:12],
)
def test_bad_amounts_are_refused(bad):
    """Issue class Safe-Synthesizer#367 and diffprivlib: NaN and zero must not become infinity."""
    with pytest.raises(InputError, match="epsilon"):
        noisy_table(bad, "add_remove")
    with pytest.raises(InputError, match="epsilon"):
        exact_epsilon(bad)


def test_amounts_are_exact():
    assert exact_epsilon("1/3") == Fraction(1, 3)
    assert exact_epsilon(0.1) == Fraction(0.1)
    assert exact_epsilon(np.float32(0.5)) == exact_epsilon(np.int64(1)) / 2


def test_a_table_too_cheap_for_a_float_is_refused():
    with pytest.raises(InputError):
        noisy_table(5e-324, "replace_one")


def test_a_table_needs_a_known_relation():
    with pytest.raises(InputError, match="relation"):
        noisy_table(1, "swap")
