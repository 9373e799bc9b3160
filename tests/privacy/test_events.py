"""Events are plain, exact data, and hostile data is refused."""

import json
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
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfair.errors import InputError
from dpfair.privacy.events import (
    GridGaussianDpEvent,
    best_of_runs,
    compose,
    event_from_json,
    event_to_json,
    exact_epsilon,
    gaussian_steps,
    has_floating_noise,
    noisy_table,
    parts,
    pure_epsilon,
    step_event,
)

positive = st.floats(min_value=1e-6, max_value=1e6)
rates = st.floats(min_value=1e-9, max_value=1.0, exclude_max=True)
leaves = st.one_of(
    positive.map(GaussianDpEvent),
    positive.map(GridGaussianDpEvent),
    st.builds(PoissonSampledDpEvent, rates, positive.map(GaussianDpEvent)),
    st.builds(PoissonSampledDpEvent, rates, positive.map(GridGaussianDpEvent)),
    positive.map(lambda t: DiscreteLaplaceDpEvent(t, 1)),
)
events = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(ComposedDpEvent),
        st.builds(SelfComposedDpEvent, inner, st.integers(1, 100)),
    ),
    max_leaves=6,
)
GAUSSIAN = {"kind": "Gaussian", "noise_multiplier": 2.0}


@settings(max_examples=50, deadline=None)
@given(events)
def test_json_round_trip(event):
    text = json.dumps(event_to_json(event), allow_nan=False)
    assert event_from_json(json.loads(text)) == event


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_json_round_trip_of_what_we_charge(relation):
    event = compose([gaussian_steps(2.0, 0.01, 10), noisy_table("0.1", relation)])
    assert event_from_json(json.loads(json.dumps(event_to_json(event)))) == event


def nested(depth):
    data = GAUSSIAN
    for _ in range(depth):
        data = {"kind": "Repeated", "count": 1, "event": data}
    return data


HOSTILE = {
    "unknown kind": {"kind": "Nothing"},
    "kind of another library": {"kind": "NonPrivateDpEvent"},
    "kind is a list": {"kind": ["Gaussian"], "noise_multiplier": 2.0},
    "no kind": {"noise_multiplier": 2.0},
    "no parameter": {"kind": "Gaussian"},
    "deep nesting": nested(100_000),
    "NaN": {"kind": "Gaussian", "noise_multiplier": math.nan},
    "infinite": {"kind": "Gaussian", "noise_multiplier": math.inf},
    "negative": {"kind": "Gaussian", "noise_multiplier": -1},
    "zero": {"kind": "DiscreteLaplace", "noise_parameter": 0},
    "too large for a float": {"kind": "DiscreteLaplace", "noise_parameter": 10**400},
    "text for a number": {"kind": "Gaussian", "noise_multiplier": "2"},
    "bool for a number": {"kind": "Gaussian", "noise_multiplier": True},
    "grid without noise": {"kind": "GridGaussian", "noise_multiplier": 0},
    "infinite grid": {"kind": "GridGaussian", "noise_multiplier": math.inf},
    "null": {"kind": "Gaussian", "noise_multiplier": None},
    "huge count": {"kind": "Repeated", "count": 10**30, "event": GAUSSIAN},
    "huge float count": {"kind": "Repeated", "count": 1e30, "event": GAUSSIAN},
    "huge product of counts": {
        "kind": "Repeated",
        "count": 10**8,
        "event": {"kind": "Repeated", "count": 10**8, "event": GAUSSIAN},
    },
    "infinite count": {"kind": "Repeated", "count": math.inf, "event": GAUSSIAN},
    "NaN count": {"kind": "Repeated", "count": math.nan, "event": GAUSSIAN},
    "negative count": {"kind": "Repeated", "count": -3, "event": GAUSSIAN},
    "zero count": {"kind": "Repeated", "count": 0, "event": GAUSSIAN},
    "fraction of a count": {"kind": "Repeated", "count": 1.5, "event": GAUSSIAN},
    "text count": {"kind": "Repeated", "count": "3", "event": GAUSSIAN},
    "bool count": {"kind": "Repeated", "count": True, "event": GAUSSIAN},
    "rate above one": {"kind": "PoissonSampled", "sampling_rate": 1.5, "event": GAUSSIAN},
    "rate of zero": {"kind": "PoissonSampled", "sampling_rate": 0, "event": GAUSSIAN},
    "negative rate": {"kind": "PoissonSampled", "sampling_rate": -0.1, "event": GAUSSIAN},
    "sampled Laplace": {
        "kind": "PoissonSampled",
        "sampling_rate": 0.1,
        "event": {"kind": "DiscreteLaplace", "noise_parameter": 1.0},
    },
    "sampled twice": {
        "kind": "PoissonSampled",
        "sampling_rate": 0.1,
        "event": {"kind": "PoissonSampled", "sampling_rate": 0.1, "event": GAUSSIAN},
    },
    "nothing composed": {"kind": "Composed", "events": []},
    "composed text": {"kind": "Composed", "events": "ab"},
    "composed number": {"kind": "Composed", "events": 3},
    "a list": [GAUSSIAN],
    "text": "Gaussian",
    "nothing": None,
    "number": 3,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_json_is_refused(data):
    with pytest.raises(InputError) as caught:
        event_from_json(data)
    assert len(str(caught.value)) < 300


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["kind", "count", "event", "events", "noise_multiplier"]),
                st.one_of(inner, st.sampled_from(["Repeated", "Composed", "Gaussian"])),
                max_size=4,
            ),
        ),
        max_leaves=12,
    )
)
def test_any_json_is_an_event_or_an_input_error(data):
    try:
        event = event_from_json(data)
    except InputError:
        return
    assert min(parts(event).values()) >= 1


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
